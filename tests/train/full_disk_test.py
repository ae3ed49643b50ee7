#!/usr/bin/env python3
"""A disk that is full when a snapshot is due: the last good one is intact, the run says so and goes
on, and ends with an error if the last one could not be written.

full_disk_test.py ZOO PROGRAM
"""
import os
import resource
import signal
import subprocess
import sys

from cluster_run import Folder, read_until

STEPS = 60
IMAGES = 320
BATCH = 32
LIMIT = 1 << 20  # Less than LeNet's weights, more than anything else.


def no_large_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


def check_no_leftovers(folder):
    leftovers = [path.name for path in folder.rglob("*.tmp*")]
    if leftovers:
        sys.exit(f"these were left: {leftovers}")


def train(folder, prefix, *more, steps=STEPS, snapshot=20):
    return ("train", "--solver", folder.solver(prefix, steps, snapshot), "--batch", str(BATCH),
            "--workers", "2", "--dir", "cluster", *more)


def files_that_do_not_grow(folder):
    """Every snapshot fails: what was there before is as it was, and the run goes on to its end."""
    folder.run(*train(folder, "limit", "--iterations", "20"))
    kept = {path.name: path.read_bytes() for path in folder.path.glob("limit_iter_20.*")}
    # SIGXFSZ is ignored by Python, and so by what it starts: a write fails as on a full disk.
    done = subprocess.run(
        [folder.program, *train(folder, "limit", "--resume", "limit_iter_20.solverstate")],
        cwd=folder.path, text=True, capture_output=True, env=folder.environment(), timeout=60,
        restore_signals=False, preexec_fn=no_large_files)
    output = done.stdout + done.stderr
    if done.returncode == 0 or "the last snapshot could not be written: file too large" not in output:
        sys.exit(f"exit code {done.returncode}\n{output}")
    if "no snapshot of iteration 40: file too large" not in output:
        sys.exit(f"it did not say that there is no snapshot\n{output}")
    if f"iteration {STEPS} of {STEPS}" not in output:
        sys.exit(f"it did not go on\n{output}")
    for name, content in kept.items():
        if (folder.path / name).read_bytes() != content:
            sys.exit(f"{name} was changed")
    if (folder.path / f"limit_iter_{STEPS}.solverstate").exists():
        sys.exit("half a snapshot is there")
    check_no_leftovers(folder.path)
    # And on from it, when there is room.
    folder.run(*train(folder, "limit", "--resume", "limit_iter_20.solverstate"))
    folder.check_commits("limit", STEPS, IMAGES)


def a_disk_that_is_full_for_a_while(folder):
    """The log, too, cannot be written for some steps, and lacks nothing afterwards."""
    disk = folder.path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", disk],
                             capture_output=True)
    if mounted.returncode != 0:
        return print("no disk to fill: may not mount")
    steps = 2 * STEPS  # The page that is begun still takes some lines.
    process = folder.start(*train(folder, "disk/run", steps=steps, snapshot=10))
    try:
        lines = read_until(process, "iteration 12 of")
        process.send_signal(signal.SIGSTOP)  # So that the disk is full before it is done.
        room = os.statvfs(disk)
        try:
            with open(disk / "filler", "wb", buffering=0) as filler:
                while filler.write(bytes(1 << 16)):
                    pass
        except OSError:
            pass  # It is full.
        process.send_signal(signal.SIGCONT)
        lines += read_until(process, "no snapshot of iteration 20: no space left on device")
        lines += read_until(process, "the training goes on")
        (disk / "filler").unlink(missing_ok=True)
        output, _ = process.communicate(timeout=60)
        output = "".join(lines) + output
        if process.returncode != 0:
            sys.exit(f"it did not go on\n{output}")
        if "can be written again; nothing of it is lost" not in output:
            sys.exit(f"nothing was said of the log\n{output}")
        folder.check_commits("disk/run", steps, IMAGES)
        if sorted(folder.losses("disk/run")) != list(range(1, steps + 1)):
            sys.exit("the log lacks lines")
        check_no_leftovers(disk)
        print(f"{room.f_bavail * room.f_frsize} bytes were filled up for a while: "
              + next(line for line in output.splitlines() if "no snapshot of" in line))
    finally:
        process.kill()
        process.wait()
        subprocess.run(["umount", disk], check=True)


def main():
    folder = Folder(sys.argv[2], sys.argv[1], IMAGES)
    files_that_do_not_grow(folder)
    a_disk_that_is_full_for_a_while(folder)


if __name__ == "__main__":
    main()
