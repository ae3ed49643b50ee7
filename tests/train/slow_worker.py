#!/usr/bin/env python3
"""What a slow worker costs: two workers of one thread each, then the second of them held to a share
of the time. Not a test: its numbers are only as good as the machine is quiet.

slow_worker.py ZOO PROGRAM [DUTY [STEPS]]

The ideal is the sum of the workers' own speeds, as they were in the same run: images by the seconds
in which a worker was busy. What is achieved is all images by all seconds. Steps in which shares
still change (the first third) do not count.
"""
import json
import os
import sys

from cluster_run import Folder

BATCH = 1024  # So much that adding up hardly counts: LeNet computes little for its weights.
IMAGES = 4096


def of_the_ideal(folder, prefix, steps, *more):
    folder.run("train", "--solver", folder.solver(prefix, steps), "--batch", str(BATCH),
               "--workers", "2", "--threads", "1", "--dir", "cluster", *more, timeout=600)
    events = json.loads((folder.path / f"{prefix}.trace.json").read_text())["traceEvents"]
    rounds = sorted((event for event in events if event["name"].startswith("step ")),
                    key=lambda event: event["ts"])[steps // 3:]
    begin = rounds[0]["ts"]
    seconds = (rounds[-1]["ts"] + rounds[-1]["dur"] - begin) / 1e6
    samples, busy = {}, {}
    for event in events:
        if event["name"] not in ("load", "compute") or event["ts"] < begin:
            continue
        worker = event["pid"]
        samples[worker] = samples.get(worker, 0) + event["args"].get("samples", 0)
        busy[worker] = busy.get(worker, 0) + event["dur"] / 1e6
    speeds = [samples[worker] / busy[worker] for worker in sorted(samples)]
    achieved, ideal = sum(samples.values()) / seconds, sum(speeds)
    shares = [samples[worker] / len(rounds) for worker in sorted(samples)]
    print(f"{prefix}: {' and '.join(f'{speed:.0f}' for speed in speeds)} images/s, shares "
          f"{' and '.join(f'{share:.0f}' for share in shares)}: together {achieved:.0f} of "
          f"{ideal:.0f} images/s, {100 * achieved / ideal:.1f} % of the ideal", flush=True)
    return achieved / ideal


def main():
    duty = float(sys.argv[3]) if len(sys.argv) > 3 else 0.33
    steps = int(sys.argv[4]) if len(sys.argv) > 4 else 45
    folder = Folder(sys.argv[2], sys.argv[1], IMAGES)
    print(f"load of this machine: {os.getloadavg()[0]:.1f}")
    even = of_the_ideal(folder, "even", steps)
    slow = of_the_ideal(folder, "slow", steps, "--worker-options", f"2=--duty {duty}")
    print(f"a slow worker costs {100 * (1 - slow / even):.1f} % of what two equal ones achieve")


if __name__ == "__main__":
    main()
