#!/usr/bin/env python3
"""Fails on calls that would tie the code to one world or one CPU. Each ban names its replacement."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# (what, pattern, the directories that may, what to do instead)
BANS = [
    ("clock", r"_clock::now|\bgettimeofday\s*\(|\bclock_gettime\s*\(|\btime\s*\(\s*(NULL|nullptr|0)\s*\)",
     ("src/os/", "bench/"), "take a Clock (base/clock.h)"),
    ("sleep", r"\bsleep_for\b|\bsleep_until\b|\b[un]?sleep\s*\(|\bnanosleep\s*\(",
     ("src/os/", "bench/"), "use Clock::CallAfter"),
    ("random", r"\bs?rand\s*\(|std::random_device|std::mt19937|_distribution\s*<",
     ("src/os/",), "take a Random (base/random.h)"),
    ("environment", r"\b(secure_)?getenv\s*\(", ("src/os/", "apps/", "bench/"), "take an option"),
    ("instruction set", r"__(AVX|SSE|FMA__|F16C)\w*|__ARM_\w+|__x86_64__|__aarch64__|<(immintrin|arm_neon)\.h>",
     ("src/kernels/", "src/os/android_entry.cc", "apps/shoal/android_entry.cc"), "put it into kernels/"),
    ("child process", r"\b(fork|vfork|popen|system|posix_spawnp?|execv[pe]*|execl[pe]*)\s*\(",
     ("tests/", "apps/shoal/child_process.cc"), "Android kills children: use a thread"),
    ("leftover", r"\b(TODO|FIXME|XXX)\b", (), "finish it or remove it"),
]
TREES = ("src", "apps", "bench", "tests")


def strip_comments(line):
    return re.sub(r"//.*", "", line)


def violations(path):
    name = str(path.relative_to(ROOT))
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        for what, pattern, allowed, instead in BANS:
            code = line if what == "leftover" else strip_comments(line)
            # Tests drive real processes and real time; the product must not.
            exempt = name.startswith(allowed) or (
                what != "leftover" and (name.startswith("tests/") or name.endswith("_test.cc")))
            if not exempt and re.search(pattern, code):
                yield f"{name}:{number}: {what} outside {' '.join(allowed) or 'nothing'}: {instead}"


def main():
    files = [path for tree in TREES for path in sorted((ROOT / tree).rglob("*"))
             if path.suffix in (".h", ".cc")]
    found = [line for path in files for line in violations(path)]
    print("\n".join(found) or f"bans: ok, {len(files)} files")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
