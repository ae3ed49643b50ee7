#!/usr/bin/env python3
"""Trains the zoo's LeNet on MNIST for 20 iterations, as a user does: imports the files, trains.

mnist_test.py SOLVER EXPECTED_LOSS PROGRAM...

The loss is the same on every machine, up to rounding: the phone's binary under qemu is held to the
number that x86 gave. Exits with 77 (skipped) where MNIST is not in $SHOAL_DATA or
~/.cache/shoal-data.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
TOLERANCE = 1e-4
ITERATIONS = 20


def main():
    solver, expected, program = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
    data = pathlib.Path(os.environ.get("SHOAL_DATA", pathlib.Path.home() / ".cache/shoal-data"))
    mnist = data / "mnist"
    for needed in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"):
        if not (mnist / needed).exists():
            print(f"skipped: there is no {mnist / needed}")
            sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        def shoal(*arguments):
            done = subprocess.run([*program, *arguments], cwd=folder, capture_output=True, text=True,
                                  env={"XDG_CACHE_HOME": folder, "PATH": "/usr/bin:/bin"})
            if done.returncode != 0:
                sys.exit(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
            print(done.stdout, end="")

        shoal("data", "import", str(mnist), "--out", "mnist_train_lmdb")
        shoal("train", "--solver", solver, "--backend", "portable", "--threads", "2")
        log = [json.loads(line) for line in (pathlib.Path(folder) / "lenet.log.jsonl").open()]
        last, loss = log[-1]["iteration"], log[-1]["loss"]
        if last != ITERATIONS or abs(loss - expected) > TOLERANCE:
            sys.exit(f"the loss after {last} iterations is {loss}, not {expected}")
        print(f"loss {loss}, expected {expected}, apart {abs(loss - expected):.2g}")


if __name__ == "__main__":
    main()
