#!/usr/bin/env python3
"""Fails if a program makes a system call that Android does not allow to apps.

Runs an arm64 program under qemu's -strace and compares the calls it makes with
app_syscalls.txt. The program itself must succeed.

syscalls_under_qemu.py QEMU PROGRAM [ARGUMENTS...]
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import app_syscalls


def calls_made(command):
    """(exit status, names of calls); a call that qemu does not know is named by its number."""
    with tempfile.NamedTemporaryFile() as log:
        run = subprocess.run([command[0], "-strace", "-D", log.name, *command[1:]],
                             capture_output=True, text=True, check=False)
        trace = pathlib.Path(log.name).read_text(errors="replace")
    if run.returncode != 0:
        print(run.stdout + run.stderr)
    # "1234 openat(AT_FDCWD,…) = 3"; lines of threads may run into each other.
    return run.returncode, set(re.findall(r"\b\d+ ([a-z][a-z0-9_]*)\(", trace)) | set(
        re.findall(r"Unknown syscall (\d+)", trace))


def main():
    status, made = calls_made(sys.argv[1:])
    fine = app_syscalls.allowed() | app_syscalls.ANSWERED
    refused = sorted(made - set(fine.values()) - {str(number) for number in fine})
    for name in refused:
        print(f"{name}: not allowed to apps on Android 8")
    print(f"exit {status}, {len(made)} different calls, {len(refused)} refused")
    # Every program exits; if that was not seen, the trace was not understood.
    sys.exit(bool(refused) or status != 0 or "exit_group" not in made)


if __name__ == "__main__":
    main()
