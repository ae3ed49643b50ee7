# Four verbs make every target: shoal_library(), shoal_test(), shoal_program() and
# shoal_fuzzer(); shoal_objects() follows them.
# A module's CMakeLists.txt then says only what it contains and what it may
# depend on; scripts/check_layers.py holds the sources to it.

find_program(CCACHE ccache)
if(CCACHE)
  # Where the tree lies does not matter: another clone, or a preset with the same flags, finds
  # what this one compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
endif()

add_library(shoal_options INTERFACE)
target_compile_features(shoal_options INTERFACE cxx_std_20)
target_compile_options(shoal_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  # One arithmetic: a multiply and an add are fused only where the source says so.
  -ffp-contract=off
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  # GCC 12 sees overlaps and overruns in std::string's own concatenation (its bugs 105329, 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>)
if(SHOAL_SANITIZE)
  target_compile_options(shoal_options INTERFACE
    -fsanitize=${SHOAL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # With their checks GCC 12 sees uninitialised parts of variants and optionals everywhere.
  target_compile_options(shoal_options INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(shoal_options INTERFACE -fsanitize=${SHOAL_SANITIZE})
endif()
if(SHOAL_SANITIZE MATCHES thread)
  # Asio's fences, which GCC's thread sanitizer cannot follow, only double its mutexes.
  target_compile_options(shoal_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
endif()
if(SHOAL_FUZZ)
  # Coverage of our own code guides the fuzzers; only they link libFuzzer's main().
  target_compile_options(shoal_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(SHOAL_STATIC)
  # Not position-independent (that would be -static-pie): a plain static program is started
  # in the same way by every kernel, and is what people run on phones today (Go's programs
  # are such); where a position-independent one without an interpreter is put has changed
  # several times since Linux 4.13. The price: code is at a fixed address; stack, heap and
  # mappings are randomised as ever.
  target_link_options(shoal_options INTERFACE -static)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(OPENSSL_USE_STATIC_LIBS TRUE)
endif()

# Reading the same headers again for each of 700 sources was half of a build: a second for those of
# the standard library, two with GoogleTest's. (With JSON and CLI11, too, it is slower than without
# any: GCC needs two seconds to open it.) What a source uses it includes all the same: ./dev lint
# compiles without this.
option(SHOAL_PRECOMPILE "Precompile the headers most sources need" ON)
if(SHOAL_PRECOMPILE)  # What ccache asks for to know a precompiled header again.
  target_compile_options(shoal_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
    "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
# What takes time in a test or a command is in the libraries; optimising their own code takes the
# compiler longer than it gains.
set(SHOAL_LIGHT_OPTIONS -O1)
function(shoal_precompiled target)  # shoal_precompiled(<name> [OPTIONS ...] [LINK ...] HEADERS ...)
  cmake_parse_arguments(ARG "" "" "OPTIONS;LINK;HEADERS" ${ARGN})
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/precompiled.cc)
  target_link_libraries(${target} PRIVATE shoal_options ${ARG_LINK})
  target_compile_options(${target} PRIVATE ${ARG_OPTIONS})
  target_precompile_headers(${target} PRIVATE <algorithm> <array> <charconv> <chrono> <cmath>
    <cstdint> <functional> <limits> <map> <memory> <optional> <set> <span> <string> <string_view>
    <utility> <variant> <vector> ${ARG_HEADERS})
endfunction()
if(SHOAL_PRECOMPILE)
  shoal_precompiled(shoal_precompiled)
  shoal_precompiled(shoal_precompiled_light OPTIONS ${SHOAL_LIGHT_OPTIONS})
  if(SHOAL_TESTS)
    shoal_precompiled(shoal_precompiled_test OPTIONS ${SHOAL_LIGHT_OPTIONS} LINK GTest::gtest
      HEADERS <gtest/gtest.h>)
  endif()
endif()
# Chooses among them by what `target` links: a command line, tests, or neither.
function(shoal_use_precompiled target)
  set(from shoal_precompiled)
  if("GTest::gtest_main" IN_LIST ARGN)
    set(from shoal_precompiled_test)
  elseif("CLI11::CLI11" IN_LIST ARGN)
    set(from shoal_precompiled_light)
  endif()
  if(NOT from STREQUAL shoal_precompiled)
    target_compile_options(${target} PRIVATE ${SHOAL_LIGHT_OPTIONS})
  endif()
  if(SHOAL_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${from})
  endif()
endfunction()

# shoal_library(<name> [SOURCES ...] [HEADERS ...] [DEPS ...] [LINK ...]) defines shoal::<name>.
# DEPS are modules of ours and define the layer; LINK are third-party targets.
function(shoal_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;DEPS;LINK" ${ARGN})
  add_library(shoal_${name} STATIC ${ARG_SOURCES})
  add_library(shoal::${name} ALIAS shoal_${name})
  set_target_properties(shoal_${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_sources(shoal_${name} PUBLIC
    FILE_SET HEADERS BASE_DIRS ${CMAKE_CURRENT_SOURCE_DIR}/.. FILES ${ARG_HEADERS})
  target_link_libraries(shoal_${name} PUBLIC shoal_options ${ARG_LINK})
  foreach(dep IN LISTS ARG_DEPS)
    target_link_libraries(shoal_${name} PUBLIC shoal::${dep})
  endforeach()
  if(ARG_SOURCES)
    shoal_use_precompiled(shoal_${name} ${ARG_LINK})
  endif()
  set_property(GLOBAL APPEND PROPERTY SHOAL_LIBRARIES shoal_${name})
endfunction()

# shoal_test(<name> LABEL <unit|numeric|sim|contract|integration> [EMULATED <filter>] SOURCES ...
# DEPS ... [LINK ...]) makes one program and one ctest per gtest case, named <name>.<Suite>.<Case>.
# An emulator runs those that match EMULATED.
function(shoal_test name)
  if(NOT SHOAL_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT;EMULATED" "SOURCES;DEPS;LINK" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(CMAKE_CROSSCOMPILING)  # An emulator is ten times slower, and shares its cores.
    math(EXPR ARG_TIMEOUT "5 * ${ARG_TIMEOUT}")
  else()
    set(ARG_EMULATED)
  endif()
  shoal_program(${name} SOURCES ${ARG_SOURCES} DEPS ${ARG_DEPS} LINK GTest::gtest_main ${ARG_LINK})
  include(GoogleTest)
  gtest_discover_tests(${name} TEST_PREFIX ${name}. NO_PRETTY_VALUES DISCOVERY_TIMEOUT 120
    TEST_FILTER "${ARG_EMULATED}"
    PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT})
endfunction()

# shoal_program(<name> SOURCES ... DEPS ... [LINK ...]) makes an executable. A static one, a
# test too, starts as on a phone: with the entry point of apps/shoal/android_entry.cc.
function(shoal_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE shoal_options ${ARG_LINK})
  foreach(dep IN LISTS ARG_DEPS)
    target_link_libraries(${name} PRIVATE shoal::${dep})
  endforeach()
  shoal_use_precompiled(${name} ${ARG_LINK})
  if(SHOAL_STATIC)
    target_link_libraries(${name} PRIVATE shoal_android_entry)
  endif()
  set_property(GLOBAL APPEND PROPERTY SHOAL_PROGRAMS ${name})
endfunction()

# shoal_objects() makes a target `objects` that compiles every source of the targets above
# and links nothing: what a compiler without matching libraries can check.
function(shoal_objects)
  get_property(libraries GLOBAL PROPERTY SHOAL_LIBRARIES)
  get_property(programs GLOBAL PROPERTY SHOAL_PROGRAMS)
  set(objects)
  foreach(target IN LISTS libraries programs)
    list(APPEND objects $<TARGET_OBJECTS:${target}>)
  endforeach()
  add_custom_target(objects DEPENDS ${objects})
endfunction()

# shoal_fuzzer(<name> SOURCES ... DEPS ...) makes a libFuzzer program in the target `fuzzers`
# and a ctest that starts from corpus/<name>/ and runs for a second, so that it cannot rot.
# What it finds goes into the build directory.
function(shoal_fuzzer name)
  if(NOT SHOAL_FUZZ)
    return()
  endif()
  shoal_program(${name} ${ARGN})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  if(NOT TARGET fuzzers)
    add_custom_target(fuzzers)
  endif()
  add_dependencies(fuzzers ${name})
  set(found ${CMAKE_CURRENT_BINARY_DIR}/${name}_found)
  file(MAKE_DIRECTORY ${found})
  add_test(NAME ${name} COMMAND ${name} -max_total_time=1 -rss_limit_mb=512
    -artifact_prefix=${found}/ ${found} ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name})
  set_tests_properties(${name} PROPERTIES LABELS fuzz TIMEOUT 60)
endfunction()
