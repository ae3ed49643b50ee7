#!/usr/bin/env python3
"""One process, four workers, four ranks of mpirun: the same curve; and going on with any number.

cluster_test.py ZOO PROGRAM
"""
import shutil
import sys

from cluster_run import Folder

STEPS = 20
BATCH = 32
IMAGES = 640


def check_same(name, losses, right):
    worst = max(abs(losses[i] - right[i]) for i in range(1, STEPS + 1))
    print(f"{name}: losses differ by {worst:.2g} at most")
    if worst > 1e-3:
        sys.exit(f"{name} learns something else: {losses} instead of {right}")


def check_equal(name, losses, right):
    worst = max(abs(losses[i] - right[i]) for i in range(1, STEPS + 1))
    print(f"{name}: losses differ by {worst:.2g} at most")
    if worst > 1e-12:  # Means of the same numbers, added up in another order.
        sys.exit(f"{name} computes something else: {losses} instead of {right}")


def main():
    folder = Folder(sys.argv[2], sys.argv[1], IMAGES)

    def train(prefix, *arguments, before=(), iterations=STEPS):
        return folder.run("train", "--solver", folder.solver(prefix, STEPS), "--batch", str(BATCH),
                          "--iterations", str(iterations), *arguments, before=before)

    train("one", "--threads", "1")
    right = folder.losses("one")
    print(train("four", "--workers", "4", "--dir", "cluster"))
    check_same("four workers", folder.losses("four"), right)
    folder.check_commits("four", STEPS, IMAGES)
    for page in ("four.html", "four.timeline.html", "four.trace.json"):
        if (folder.path / page).stat().st_size < 1000:
            sys.exit(f"{page} is empty")

    # Records stay on flash, and 16-bit gradients are nearly as good.
    train("half", "--workers", "2", "--dir", "cluster", "--f16")
    check_same("16 bits on the wire", folder.losses("half"), right)

    # Ten steps of three, ten of two.
    train("both", "--workers", "3", "--dir", "cluster", iterations=10)
    train("both", "--workers", "2", "--dir", "cluster", "--resume", "both_iter_10.solverstate")
    check_same("three workers, then two", folder.losses("both"), right)
    folder.check_commits("both", STEPS, IMAGES)

    # With exact sums the digits are the same, whoever computes what.
    train("exact", "--exact", "--threads", "1")
    exact = folder.losses("exact")
    check_same("exact sums", exact, right)
    train("exact3", "--exact", "--workers", "3", "--dir", "cluster", "--worker-options",
          "2=--duty 0.4", iterations=12)
    train("exact3", "--workers", "2", "--dir", "cluster", "--resume", "exact3_iter_12.solverstate")
    check_equal("three workers, then two, exactly", folder.losses("exact3"), exact)

    if shutil.which("mpirun") is None:
        return print("no mpirun here")
    mpirun = ("mpirun", "--oversubscribe", "-np")
    print(train("ranks", before=(*mpirun, "4")))
    check_same("four ranks", folder.losses("ranks"), right)
    train("ranks", "--resume", "ranks_iter_20.solverstate", before=(*mpirun, "2"), iterations=22)
    folder.check_commits("ranks", 22, IMAGES)
    train("exact_ranks", "--exact", before=(*mpirun, "4"))
    check_equal("four ranks, exactly", folder.losses("exact_ranks"), exact)


if __name__ == "__main__":
    main()
