#!/usr/bin/env python3
"""Kills workers of a training (-9) at random moments and looks at what comes out.

kill_workers.py ZOO PROGRAM [RUNS]
"""
import random
import subprocess
import sys
import time

from cluster_run import Folder, kill, read_until, worker_pids

STEPS = 120
BATCH = 40
IMAGES = 640


def one_run(folder, number, right):
    prefix = f"killed{number}"
    process = folder.start("train", "--solver", folder.solver(prefix, STEPS), "--batch", str(BATCH),
                           "--workers", "5", "--dir", "cluster")
    lines = read_until(process, "iteration 2 of")
    victim = random.choice(worker_pids(lines))
    time.sleep(random.uniform(0, 1.5))
    kill(victim)
    output, _ = process.communicate(timeout=120)
    if process.returncode != 0:
        sys.exit(f"it did not survive:\n{''.join(lines)}{output}")
    if "from iteration" in output:
        sys.exit(f"it went back:\n{output}")
    samples = folder.check_commits(prefix, STEPS, IMAGES)
    lost = STEPS * BATCH - samples
    losses = folder.losses(prefix)
    last, undisturbed = (sum(l[i] for i in range(STEPS - 9, STEPS + 1)) / 10
                         for l in (losses, right))
    print(f"run {number}: {lost} samples came back, last ten losses {last:.4f} "
          f"(undisturbed {undisturbed:.4f})")
    if abs(last - undisturbed) > 0.15 * undisturbed + 0.05:
        sys.exit("that is not what an undisturbed run learns")
    return "is gone" in output or any("is gone" in line for line in lines)


def main():
    folder = Folder(sys.argv[2], sys.argv[1], IMAGES)
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    seed = random.randrange(1 << 30)
    random.seed(seed)
    print(f"seed {seed}")
    folder.run("train", "--solver", folder.solver("right", STEPS), "--batch", str(BATCH))
    right = folder.losses("right")
    noticed = sum(one_run(folder, number, right) for number in range(runs))
    if noticed == 0:
        sys.exit("nobody was killed in time")
    print(f"{runs} runs, {noticed} of them lost a worker before they ended")


if __name__ == "__main__":
    main()
