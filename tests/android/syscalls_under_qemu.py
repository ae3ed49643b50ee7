#!/usr/bin/env python3
"""Fails if a program makes a system call that Android does not allow to apps.

Runs an arm64 program under qemu's -strace, collects the names of the calls it makes and
compares them with app_syscalls.txt (release 8, the first with a filter). The program itself
must succeed.

syscalls_under_qemu.py --qemu QEMU --list app_syscalls.txt PROGRAM [ARGUMENTS...]
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

# Refused calls that are harmless: our entry point (apps/shoal/android_entry.cc) answers them
# with ENOSYS and the caller goes on without. A call may be added here only if it is never
# made while signals are blocked (as clone3 is): there a refusal kills.
ANSWERED = {
    "rseq": "glibc registers restartable sequences at start; without, sched_getcpu is a call",
    "set_robust_list": "glibc at start; only mutexes shared between processes need the list",
}

# Calls that qemu 7.2 does not know: it prints their numbers and answers ENOSYS.
UNKNOWN_TO_QEMU = {"293": "rseq"}


def allowed_calls(path):
    """Names without a release behind them: allowed since release 8."""
    lines = (line.split() for line in path.read_text().splitlines() if not line.startswith("#"))
    return {words[0] for words in lines if len(words) == 1}


def calls_made(qemu, program):
    with tempfile.NamedTemporaryFile() as log:
        command = [qemu, "-strace", "-D", log.name, *program]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        trace = pathlib.Path(log.name).read_text(errors="replace")
    if run.returncode != 0:
        print(run.stdout + run.stderr)
    # "1234 openat(AT_FDCWD,…) = 3"; lines of threads may run into each other.
    names = set(re.findall(r"\b\d+ ([a-z][a-z0-9_]*)\(", trace))
    unknown = re.findall(r"Unknown syscall (\d+)", trace)
    return run.returncode, names | {UNKNOWN_TO_QEMU.get(number, number) for number in unknown}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--qemu", required=True)
    parser.add_argument("--list", required=True, type=pathlib.Path)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    status, made = calls_made(options.qemu, options.program)
    refused = sorted(made - allowed_calls(options.list) - ANSWERED.keys())
    for name in refused:
        print(f"{name}: not allowed to apps on Android 8")
    print(f"exit {status}, {len(made)} different calls, {len(refused)} refused")
    # Every program writes or exits; nothing seen means that the trace was not understood.
    sys.exit(bool(refused) or status != 0 or "exit_group" not in made)


if __name__ == "__main__":
    main()
