#!/usr/bin/env python3
"""Fails if an arm64 program contains a system call that Android does not allow to apps.

Finds every supervisor call in the code and the number that was put into x8 before it: also
on paths that no test takes. Only syscall(2), which takes the number from its caller, escapes;
syscalls_under_qemu.py sees that one.

syscalls_in_binary.py OBJDUMP UNSTRIPPED_PROGRAM
"""
import re
import subprocess
import sys

import app_syscalls

# Functions whose call number is an argument.
GENERIC = {"syscall", "__nptl_setxid_sighandler"}


def calls(disassembly):
    """Yields (function, number, or None if it is not a constant)."""
    function, number = "", None
    for line in disassembly:
        if match := re.match(r"[0-9a-f]+ <(.+)>:", line):
            function, number = match.group(1), None
        elif match := re.search(r"\tmov\t[xw]8, #0x([0-9a-f]+)", line):
            number = int(match.group(1), 16)
        elif re.search(r"\t(mov|ldr|add|sub|csel|sxtw)\t[xw]8,", line):
            number = None
        elif "\tsvc\t" in line:
            yield function, number


def main():
    objdump, program = sys.argv[1:]
    disassembly = subprocess.run([objdump, "-d", "--no-show-raw-insn", program], check=True,
                                 capture_output=True, text=True).stdout.splitlines()
    found = set(calls(disassembly))
    fine = app_syscalls.allowed() | app_syscalls.ANSWERED | app_syscalls.NOT_TAKEN
    bad = sorted(f"{function}: makes call {number}, not allowed to apps on Android 8"
                 for function, number in found if number is not None and number not in fine)
    bad += sorted(f"{function}: makes a call that is not a constant"
                  for function, number in found if number is None and function not in GENERIC)
    print("\n".join(bad) or f"{len(found)} places make system calls, all of them allowed")
    # Every static program exits (94: exit_group); if not, the code was not understood.
    sys.exit(bool(bad) or 94 not in {number for _, number in found})


if __name__ == "__main__":
    main()
