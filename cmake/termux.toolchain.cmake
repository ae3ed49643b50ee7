# Clang and libc++ for arm64, which is what Termux has. Compiles only: Debian's C++
# libraries are built for libstdc++, so nothing could be linked.
include(${CMAKE_CURRENT_LIST_DIR}/phone.toolchain.cmake)
set(CMAKE_CXX_COMPILER clang++)
set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

set(libcxx ${CMAKE_CURRENT_LIST_DIR}/../build/libcxx)
execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../scripts/libcxx_headers.sh ${libcxx}
  COMMAND_ERROR_IS_FATAL ANY)
string(APPEND CMAKE_CXX_FLAGS_INIT " -nostdinc++ -isystem ${libcxx}/usr/lib/llvm-14/include/c++/v1"
  " -isystem ${libcxx}/usr/lib/llvm-14/include"
  # libc++ has dropped std::result_of in C++20; Termux's Boost knows, Debian's must be told.
  " -DBOOST_ASIO_HAS_STD_INVOKE_RESULT")
