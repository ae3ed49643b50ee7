#!/usr/bin/env python3
"""Files of a snapshot that were changed, or are of another run: an error that says so, or what is
wrong is left out.

resume_test.py ZOO PROGRAM
"""
import json
import sys

from cluster_run import Folder

STEPS = 4
BATCH = 16
IMAGES = 160


def main():
    folder = Folder(sys.argv[2], sys.argv[1], IMAGES)
    solver = folder.solver("run", STEPS)
    with open(folder.path / solver, "a") as text:
        text.write("test_iter: 1\ntest_interval: 1000\n")
    sidecar = folder.path / "run_iter_2.shoal.json"
    commits = folder.path / "run.commits.jsonl"

    def train(*more, fails=False):
        return folder.run("train", "--solver", solver, "--batch", str(BATCH), "--workers", "1",
                          "--dir", "cluster", *more, fails=fails)

    def resume(change, text):
        said = json.loads(right)
        change(said)
        sidecar.write_text(json.dumps(said))
        output = train("--resume", "run_iter_2.solverstate", fails=True)
        if text not in output or "run_iter_2.solverstate" not in output:
            sys.exit(f"no '{text}' in\n{output}")
        print(output.strip())

    train("--iterations", "2")
    right = sidecar.read_text()
    resume(lambda s: s["tests"][0].append(s["tests"][0][0]), "other data layers")
    resume(lambda s: s["tests"][0].clear(), "other data layers")
    resume(lambda s: s["train"].clear(), "other data layers")
    resume(lambda s: s.update(iteration=3), "another iteration")

    # A line that is none of ours ends the list of what was committed.
    sidecar.write_text(right)
    lines = commits.read_text()
    for wrong in ('{"iteration":"2"}', '{"iteration":null}', "{}", "[]"):
        commits.write_text(f"{lines}{wrong}\n")
        train("--resume", "run_iter_2.solverstate")
        folder.check_commits("run", STEPS, IMAGES)


if __name__ == "__main__":
    main()
