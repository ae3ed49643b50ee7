"""What the tests of trainings over many processes share: data, runs, and what their logs prove."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

SOLVER = """net: "net.prototxt"
base_lr: 0.01
lr_policy: "fixed"
momentum: 0.9
weight_decay: 0.0005
max_iter: {iterations}
display: 1
random_seed: 42
snapshot: {snapshot}
snapshot_prefix: "{prefix}"
"""


class Folder:
    """A folder with LeNet, stand-ins for digits, and the program."""

    def __init__(self, program, zoo, images=640):
        self.program = program
        self.temporary = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.temporary.name)
        net = (pathlib.Path(zoo) / "lenet/train_val.prototxt").read_text()
        (self.path / "net.prototxt").write_text(net)
        for name in ("mnist_train_lmdb", "mnist_test_lmdb"):
            self.run("data", "synth", "--out", name, "--count", str(images), "--size", "28",
                     "--channels", "1")

    def environment(self):
        return {**os.environ, "XDG_CACHE_HOME": str(self.path), "HOME": str(self.path),
                "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def solver(self, prefix, iterations, snapshot=0):
        path = self.path / f"{prefix}.prototxt"
        path.write_text(SOLVER.format(prefix=prefix, iterations=iterations, snapshot=snapshot))
        return str(path.relative_to(self.path))

    def run(self, *arguments, before=(), fails=False, timeout=120):
        done = subprocess.run([*before, self.program, *arguments], cwd=self.path, text=True,
                              capture_output=True, env=self.environment(), timeout=timeout)
        if (done.returncode != 0) != fails:
            sys.exit(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def start(self, *arguments, before=()):
        return subprocess.Popen([*before, self.program, *arguments], cwd=self.path, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                env=self.environment())

    def losses(self, prefix):
        lines = (self.path / f"{prefix}.log.jsonl").read_text().splitlines()
        return {entry["iteration"]: entry["loss"] for entry in map(json.loads, lines)
                if "loss" in entry}

    def check_commits(self, prefix, iterations, records):
        """Every iteration once, every place of every epoch once, nothing left out but what the last
        snapshot says is owed. Returns how many samples the steps had."""
        seen, steps = set(), []
        for line in (self.path / f"{prefix}.commits.jsonl").read_text().splitlines():
            entry = json.loads(line)
            steps.append(entry["iteration"])
            for runs in entry["samples"].values():
                for epoch, position, count in runs:
                    for place in range(position, position + count):
                        if (epoch, place) in seen:
                            sys.exit(f"epoch {epoch}, place {place} was committed twice")
                        seen.add((epoch, place))
        if steps != list(range(1, iterations + 1)):
            sys.exit(f"iterations were committed out of order: {steps}")
        sidecar = json.loads((self.path / f"{prefix}_iter_{iterations}.shoal.json").read_text())
        owed = sum(run["count"] for run in sidecar["owed"])
        taken = sidecar["train"][0]["epoch"] * records + sidecar["train"][0]["position"]
        if len(seen) + owed != taken:
            sys.exit(f"{taken} samples were taken, {len(seen)} committed, {owed} are owed")
        return len(seen)


def read_until(process, text, seconds=60):
    """Lines of its output up to the one with `text`."""
    lines, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        line = process.stdout.readline()
        if not line:
            break
        lines.append(line)
        if text in line:
            return lines
    sys.exit(f"'{text}' did not come:\n{''.join(lines)}")


def worker_pids(lines):
    return [int(line.split()[-1]) for line in lines if " is process " in line]


def kill(pid):
    os.kill(pid, signal.SIGKILL)
