# Debian's cross compiler and arm64 -dev packages; qemu-user runs what comes out.
# armv8-a without extensions is the baseline, so that a 2015 phone starts it;
# dot-product kernels are chosen at run time.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CXX_FLAGS_INIT "-march=armv8-a")
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
