#!/usr/bin/env python3
"""Fails unless the phone binary is what a phone can run, and our code asks for nothing that
a phone has not: static, stripped, small, loadable with 16 KiB pages, nothing both writable
and executable; no names to resolve, no libraries to load, no child processes, no System V
shared memory.

check_binary.py --nm NM BINARY [ARCHIVES AND OBJECTS OF OURS...]
"""
import argparse
import pathlib
import re
import struct
import subprocess
import sys

SIZE_MAX = 20 << 20  # So that a phone with a full flash can still take it.
PAGE = 16 << 10  # The largest page of a phone's kernel: Android 15 and later allow it.
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_GNU_STACK = 1, 2, 3, 0x6474E551
SHT_SYMTAB = 2
EXECUTABLE, WRITABLE = 1, 2

# Only what our own objects call counts (Asio's headers are in them). OpenSSL's libcrypto and
# glibc's NSS drag some of these into the binary on paths that we do not take.
FORBIDDEN = {
    "getaddrinfo": "no resolver: static glibc finds no /etc/resolv.conf on Android; IP literals",
    "gethostbyname": "no resolver, as above",
    "getpwnam": "static glibc would load NSS libraries, which no phone has",
    "getpwuid": "static glibc would load NSS libraries, which no phone has",
    "dlopen": "a static program cannot load a phone's libraries",
    "fork": "Android kills child processes of apps; threads only",
    "vfork": "Android kills child processes of apps; threads only",
    "posix_spawn": "Android kills child processes of apps; threads only",
    "system": "Android kills child processes of apps; threads only",
    "popen": "Android kills child processes of apps; threads only",
    "shmget": "refused by Android's filter; mmap instead",
    "semget": "refused by Android's filter; futexes instead",
    "msgget": "refused by Android's filter; sockets instead",
    "mq_open": "refused by Android's filter; sockets instead",
}


def program_headers(image):
    """Yields (type, flags, offset, address, memory size, alignment) of a 64-bit ELF file."""
    (table,) = struct.unpack_from("<Q", image, 32)
    size, count = struct.unpack_from("<HH", image, 54)
    for i in range(count):
        kind, flags, offset, address, _, _, in_memory, align = struct.unpack_from(
            "<IIQQQQQQ", image, table + i * size)
        yield kind, flags, offset, address, in_memory, align


def section_types(image):
    (table,) = struct.unpack_from("<Q", image, 40)
    size, count = struct.unpack_from("<HH", image, 58)
    return [struct.unpack_from("<I", image, table + i * size + 4)[0] for i in range(count)]


def binary_faults(path, is_arm64):
    image = path.read_bytes()
    if image[:5] != b"\x7fELF\x02":
        yield "not a 64-bit ELF file"
        return
    headers = list(program_headers(image))
    kinds = {header[0] for header in headers}
    if kinds & {PT_INTERP, PT_DYNAMIC}:
        yield "not static: it has a dynamic section or an interpreter"
    if SHT_SYMTAB in section_types(image):
        yield "not stripped"
    if len(image) >= SIZE_MAX:
        yield f"{len(image)} bytes, at most {SIZE_MAX}"
    for kind, flags, offset, address, _, align in headers:
        if kind in (PT_LOAD, PT_GNU_STACK) and flags & EXECUTABLE and flags & WRITABLE:
            yield f"segment at {address:#x} is writable and executable"
        if kind == PT_LOAD and is_arm64 and (align < PAGE or (address - offset) % PAGE != 0):
            yield f"segment at {address:#x} cannot be mapped with 16 KiB pages"


def forbidden_calls(nm, files):
    names = subprocess.run([nm, "-A", "--undefined-only", *files], check=True,
                           capture_output=True, text=True).stdout
    for line in names.splitlines():
        match = re.match(r"(.+?):\s+U (\w+)", line)
        if match and match.group(2) in FORBIDDEN:
            yield f"{match.group(1)} calls {match.group(2)}: {FORBIDDEN[match.group(2)]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nm", required=True)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("ours", nargs="*")
    options = parser.parse_args()
    machine = struct.unpack_from("<H", options.binary.read_bytes(), 18)[0]
    faults = list(binary_faults(options.binary, is_arm64=machine == 183))
    if options.ours:
        faults += forbidden_calls(options.nm, options.ours)
    for fault in faults:
        print(f"{options.binary.name}: {fault}")
    if not faults:
        print(f"{options.binary.name}: ok, {options.binary.stat().st_size} bytes")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
