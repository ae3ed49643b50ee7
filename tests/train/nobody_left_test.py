#!/usr/bin/env python3
"""A head that has nobody to work with: it ends when it is told to, and when there is nothing left to
do but to test.

nobody_left_test.py ZOO PROGRAM
"""
import signal
import sys
import time

from cluster_run import Folder, kill, read_until, worker_pids

STEPS = 6
IMAGES = 160
HERE = ("--listen", "127.0.0.1:0", "--enrol", "127.0.0.1:0")


def end(process, lines):
    try:
        output, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    if process.returncode != 0:
        sys.exit(f"exit code {process.returncode}\n{''.join(lines)}{output}")


def before_anybody_came(folder):
    folder.run("init", "--dir", "home")
    head = folder.start("train", "--solver", folder.solver("waits", STEPS), "--cluster", "--dir",
                        "home", "--first", "2", *HERE)
    lines = read_until(head, "members at")
    time.sleep(0.5)
    head.send_signal(signal.SIGINT)
    end(head, lines)


def while_the_last_state_is_tested(folder):
    solver = folder.solver("tests", STEPS)
    with open(folder.path / solver, "a") as text:
        text.write(f"test_iter: 60\ntest_interval: {STEPS}\ntest_initialization: false\n")
    head = folder.start("train", "--solver", solver, "--batch", "32", "--workers", "2", "--dir",
                        "cluster", "--threads", "1")
    lines = read_until(head, f"iteration {STEPS} of {STEPS}")
    last = folder.path / f"tests_iter_{STEPS}.solverstate"
    deadline = time.monotonic() + 20
    while not last.exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    for pid in worker_pids(lines):
        kill(pid)
    end(head, lines)
    if "accuracy" not in (folder.path / "tests.log.jsonl").read_text():
        sys.exit("it was not tested")
    folder.check_commits("tests", STEPS, IMAGES)


def main():
    folder = Folder(sys.argv[2], sys.argv[1], IMAGES)
    before_anybody_came(folder)
    while_the_last_state_is_tested(folder)


if __name__ == "__main__":
    main()
