#!/usr/bin/env python3
"""Weights that Caffe's authors and users published score here what they score there.

published_test.py SHARED_DATA ZOO PROGRAM...

Exits with 77 (skipped) where the weights or the data sets are not at hand.
"""
import json
import pathlib
import subprocess
import sys

SKIPPED = 77
# The zoo's network, the weights, and the test accuracy they have at least.
SCORES = (("lenet", "lenet_iter_10000.everpeace.caffemodel", "mnist_test_lmdb", 0.985),
          ("cifar10_quick", "cifar10_quick_iter_5000.caffemodel", "cifar10_test_lmdb", 0.72))


def main():
    shared, zoo, program = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
    data = pathlib.Path.home() / ".cache/shoal-data"
    for net, weights, database, accuracy in SCORES:
        for needed in (shared / "caffe" / weights, data / database):
            if not needed.exists():
                print(f"skipped: there is no {needed}")
                sys.exit(SKIPPED)
        done = subprocess.run(
            [*program, "test", "--net", zoo / net / "train_val.prototxt", "--weights",
             shared / "caffe" / weights, "--iterations", "20", "--json"],
            cwd=data, stdout=subprocess.PIPE, text=True, check=True)
        scores = json.loads(done.stdout)["outputs"]
        print(net, scores)
        if scores["accuracy"] < accuracy:
            sys.exit(f"{net}: accuracy {scores['accuracy']} is below {accuracy}")


if __name__ == "__main__":
    main()
