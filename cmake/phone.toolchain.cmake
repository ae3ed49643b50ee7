# Debian's cross compiler and arm64 -dev packages; qemu-user runs what comes out.
# armv8-a without extensions is the baseline, so that a 2015 phone starts it;
# dot-product kernels are chosen at run time.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
# The baseline has no atomic instructions: with -moutline-atomics (GCC's default) libgcc
# asks the CPU once and uses those of ARMv8.1 where there are any.
set(CMAKE_CXX_FLAGS_INIT "-march=armv8-a")
# Segments aligned to 64 KiB load with any page size an arm64 kernel can have; phones of
# Android 15 and later may have 16 KiB.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-z,max-page-size=65536")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
# Find modules ask pkg-config for hints, and the host's .pc files name the host's libraries.
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
