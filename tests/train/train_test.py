#!/usr/bin/env python3
"""Trains LeNet through the program, stops it, resumes it, tests it.

train_test.py SOLVER EXPECTED_LOSS PROGRAM...

The loss after 20 iterations is the same on every machine, up to rounding: the phone's binary
under qemu is held to the number that x86 gave.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

TOLERANCE = 1e-4


def main():
    solver, expected, program = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
    with tempfile.TemporaryDirectory() as folder:
        def shoal(*arguments):
            done = subprocess.run([*program, *arguments], cwd=folder, capture_output=True, text=True,
                                  env={"XDG_CACHE_HOME": folder, "PATH": "/usr/bin:/bin"})
            if done.returncode != 0:
                sys.exit(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
            return done.stdout

        def weights():
            return (pathlib.Path(folder) / "lenet_iter_20.caffemodel").read_bytes()

        for name in ("mnist_train_lmdb", "mnist_test_lmdb"):
            shoal("data", "synth", "--out", name, "--count", "200", "--size", "28", "--channels", "1")
        train = ("train", "--solver", solver, "--backend", "implicit-gemm", "--threads", "2",
                 "--batch", "16")
        print(shoal(*train))
        whole = weights()
        log = [json.loads(line) for line in (pathlib.Path(folder) / "lenet.log.jsonl").open()]
        loss = log[-1]["loss"]
        if abs(loss - expected) > TOLERANCE:
            sys.exit(f"the loss after 20 iterations is {loss}, not {expected}")

        shoal(*train, "--iterations", "10")
        resumed = shoal(*train, "--resume", "lenet_iter_10.solverstate")
        if "resumed at iteration 10" not in resumed or weights() != whole:
            sys.exit("a resumed run did not give the same bits:\n" + resumed)
        if "<svg" not in (pathlib.Path(folder) / "lenet.html").read_text():
            sys.exit("no curves were drawn")

        net = str(pathlib.Path(solver).parents[2] / "zoo/lenet/train_val.prototxt")
        scores = json.loads(shoal("test", "--net", net, "--weights", "lenet_iter_20.caffemodel",
                                  "--iterations", "1", "--json", "--backend", "implicit-gemm"))
        print(scores["outputs"])
        if not scores["outputs"]["accuracy"] > 0.2:
            sys.exit("it has learned nothing")
        shoal("plot", "lenet.log.jsonl", "again.html")


if __name__ == "__main__":
    main()
