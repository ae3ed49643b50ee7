#!/usr/bin/env python3
"""Local updates with averages, and elastic averaging: they learn, and go on from a snapshot.

modes_test.py ZOO PROGRAM
"""
import json
import sys

from cluster_run import Folder

STEPS = 100
IMAGES = 640
TESTS = 6


def mean(losses, first, last):
    chosen = [loss for iteration, loss in losses.items() if first <= iteration <= last]
    return sum(chosen) / len(chosen)


def check_tested(folder, prefix):
    """What the run says of its last weights is what the file that it has written gives."""
    said = next(entry["outputs"] for entry in map(json.loads, (folder.path / f"{prefix}.log.jsonl").open())
                if "outputs" in entry)
    saved = json.loads(folder.run("test", "--net", "net.prototxt", "--json", "--weights",
                                  f"{prefix}_iter_{STEPS}.caffemodel", "--iterations", str(TESTS)))
    if any(abs(saved["outputs"][name] - value) > 1e-4 for name, value in said.items()):
        sys.exit(f"{prefix}: was tested with {said}, saved is what gives {saved['outputs']}")


def main():
    folder = Folder(sys.argv[2], sys.argv[1], IMAGES)
    # Far too slow for its part: it has something to do in each of its updates all the same.
    folder.run("train", "--solver", folder.solver("slow", 20), "--batch", "24", "--workers", "2",
               "--dir", "cluster", "--mode", "local", "--period", "5", "--threads", "1",
               "--worker-options", "2=--duty 0.02")
    shares = [sorted(sum(count for _, _, count in runs) for runs in json.loads(line)["samples"].values())
              for line in (folder.path / "slow.commits.jsonl").open()]
    print(f"of two, one of which is slow: {shares}")
    if any(len(share) != 2 or share[0] < 5 for share in shares):
        sys.exit("the slow one was left out")
    folder.run("init", "--dir", "home")
    for what in (("--batch-per-device", "4"), ("--mode", "easgd", "--period", "2")):
        said = folder.run("train", "--solver", "slow.prototxt", "--cluster", "--dir", "home",
                          "--listen", "127.0.0.1:0", "--enrol", "127.0.0.1:0", *what, fails=True)
        if "needs --first" not in said:
            sys.exit(f"{what[0]} without a number of devices: {said}")
    for mode, workers in (("local", 3), ("easgd", 2)):
        def train(prefix, *more):
            solver = folder.solver(prefix, STEPS)
            with (folder.path / solver).open("a") as file:
                file.write(f"test_iter: {TESTS}\ntest_interval: {STEPS}\n"
                           "test_initialization: false\n")
            return folder.run("train", "--solver", solver, "--batch", "24",
                              "--workers", str(workers), "--dir", "cluster", "--mode", mode,
                              "--period", "5", "--threads", "1", *more)

        train(mode)
        losses = folder.losses(mode)
        first, last = mean(losses, 1, 10), mean(losses, STEPS - 19, STEPS)
        print(f"{mode}: loss {first:.3f} in the first ten iterations, {last:.3f} in the last twenty")
        if sorted(losses) != list(range(5, STEPS + 1, 5)):
            sys.exit(f"not every fifth iteration is in the log: {sorted(losses)}")
        check_tested(folder, mode)
        if not last < 0.8 * first:
            sys.exit("it learns nothing")
        half = mode + "_half"
        train(half, "--iterations", str(STEPS // 2))
        resumed = train(half, "--resume", f"{half}_iter_{STEPS // 2}.solverstate")
        if f"resumed at iteration {STEPS // 2}" not in resumed:
            sys.exit(f"it did not go on:\n{resumed}")
        again = mean(folder.losses(half), STEPS - 19, STEPS)
        print(f"{mode}: stopped and resumed, {again:.3f}")
        if not again < 0.8 * first:
            sys.exit("what was resumed learns nothing")
        samples = sum(count for line in (folder.path / f"{half}.commits.jsonl").open()
                      for runs in json.loads(line)["samples"].values() for _, _, count in runs)
        if samples != STEPS * 24:
            sys.exit(f"{samples} samples were committed, not {STEPS * 24}")
        # A snapshot without what Shoal adds says how many images it has seen, whatever the period.
        (folder.path / f"{half}_iter_{STEPS // 2}.shoal.json").unlink()
        train(half, "--resume", f"{half}_iter_{STEPS // 2}.solverstate", "--iterations",
              str(STEPS // 2 + 5))
        last = json.loads((folder.path / f"{half}.commits.jsonl").read_text().splitlines()[-1])
        first = min(epoch * IMAGES + position
                    for runs in last["samples"].values() for epoch, position, _ in runs)
        if first != STEPS // 2 * 24:
            sys.exit(f"it went on at sample {first}, not {STEPS // 2 * 24}")


if __name__ == "__main__":
    main()
