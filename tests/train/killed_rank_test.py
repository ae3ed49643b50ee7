#!/usr/bin/env python3
"""A rank of mpirun that is killed (-9): a snapshot, a message, an exit code; then on with another
number of ranks.

killed_rank_test.py ZOO PROGRAM
"""
import pathlib
import re
import shutil
import subprocess
import sys

from cluster_run import Folder, kill, read_until

STEPS = 3000
IMAGES = 640
SKIPPED = 77


def pid_of_rank(mpirun, rank):
    """The process of a rank, among what mpirun has started."""
    for pid in subprocess.run(["pgrep", "-P", str(mpirun)], capture_output=True,
                              text=True).stdout.split():
        environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        if f"OMPI_COMM_WORLD_RANK={rank}".encode() in environment:
            return int(pid)
    sys.exit(f"mpirun has no rank {rank}")


def main():
    if shutil.which("mpirun") is None:
        sys.exit(SKIPPED)
    folder = Folder(sys.argv[2], sys.argv[1], IMAGES)
    process = folder.start("train", "--solver", folder.solver("ranks", STEPS), "--batch", "30",
                           "--threads", "1", before=("mpirun", "--oversubscribe", "-np", "3"))
    lines = read_until(process, "iteration 5 of")
    kill(pid_of_rank(process.pid, 2))
    output, _ = process.communicate(timeout=60)
    output = "".join(lines) + output
    if process.returncode == 0:
        sys.exit(f"exit code 0\n{output}")
    found = re.search(r"to go on, with any number of workers: --resume (ranks_iter_(\d+)\.solverstate)",
                      output)
    if not found:
        sys.exit(f"it does not say how to go on\n{output}")
    last = int(found.group(2))
    shown = max(int(n) for n in re.findall(r"iteration (\d+) of", output))
    print(f"killed after iteration {shown}, snapshot of iteration {last}")
    if last < 5:
        sys.exit("steps were lost")
    folder.check_commits("ranks", last, IMAGES)
    folder.run("train", "--solver", "ranks.prototxt", "--batch", "30", "--resume", found.group(1),
               "--iterations", str(last + 5), "--threads", "1",
               before=("mpirun", "--oversubscribe", "-np", "2"))
    folder.check_commits("ranks", last + 5, IMAGES)


if __name__ == "__main__":
    main()
