#!/usr/bin/env python3
"""`shoal cache` on a directory with layers, as users run it. Usage: cache_test.py [EMULATOR] SHOAL"""
import fcntl
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SHOAL = sys.argv[1:]
FIRST, SECOND, PART = "ab" * 32, "ac" * 32, "cd" * 32


def run(home, *arguments, fails=False):
    """What the command says, on both streams."""
    done = subprocess.run([*SHOAL, "cache", *arguments], env={**os.environ, "SHOAL_HOME": str(home)},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    assert (done.returncode != 0) == fails, (arguments, done.returncode, done.stdout)
    return done.stdout


def expect(part, text):
    assert part in text, f"no {part!r} in {text!r}"


def fill(home):
    layers = home / "cache" / "layers"
    layers.mkdir(parents=True, exist_ok=True)
    for age, (name, size) in enumerate([(f"{FIRST}.layer", 3_000_000), (f"{SECOND}.layer", 2_000_000),
                                        (f"{PART}.part", 500_000), ("notes.txt", 10)]):
        (layers / name).write_bytes(bytes(size))
        os.utime(layers / name, (1_700_000_000 + age, 1_700_000_000 + age))
    return layers


def check_list(home):
    fill(home)
    text = run(home, "ls")
    expect(f"{PART}    0.5 MB  not whole yet", text)
    expect("3 layers, 5.5 MB; quota: none", text)
    run(home, "quota", "8GB")
    listed = json.loads(run(home, "ls", "--json"))
    assert listed["directory"] == str(home / "cache"), listed
    assert [layer["sha256"] for layer in listed["layers"]] == [FIRST, SECOND, PART], listed
    assert [layer["whole"] for layer in listed["layers"]] == [True, True, False], listed
    assert listed["bytes"] == 5_500_000 and listed["quota"] == 8_000_000_000, listed
    run(home, "quota", "--none")
    assert json.loads(run(home, "ls", "--json"))["quota"] is None
    expect("say a size", run(home, "quota", fails=True))


def check_remove(home):
    layers = fill(home)
    expect("the names of 2 layers begin with 'a'", run(home, "rm", "a", fails=True))
    expect("no layer in", run(home, "rm", "ab", "ee", fails=True))
    expect("say which layers", run(home, "rm", "--all", "ab", fails=True))
    assert len(list(layers.iterdir())) == 4
    expect("removed 1 layers, 3.0 MB", run(home, "rm", "ab"))
    assert not (layers / f"{FIRST}.layer").exists()
    expect("removed 2 layers, 2.5 MB", run(home, "rm", "--all"))
    assert [path.name for path in layers.iterdir()] == ["notes.txt"]


def check_in_use(home):
    layers = fill(home)
    with open(home / "cache" / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        expect("3 layers", run(home, "ls"))  # Looking is always allowed.
        expect("another shoal is using the layers in", run(home, "rm", "--all", fails=True))
        assert (layers / f"{FIRST}.layer").exists()
    run(home, "rm", "--all")


def main():
    for check in (check_list, check_remove, check_in_use):
        with tempfile.TemporaryDirectory() as folder:
            check(pathlib.Path(folder))
    print("ok")


if __name__ == "__main__":
    main()
