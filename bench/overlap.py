#!/usr/bin/python3
"""How much of the communication hides behind computing: `./dev bench overlap`.

  overlap.py SHOAL [--cases 4:1000:4,4:250:4] [--steps 12] [--quick] [--json] [--keep FOLDER]

A case is N hosts, Mb/s of their links, images per host. A head and N members (`shoal train --cluster`
and `shoal join`, one thread each, over TLS) are processes in network namespaces with links that are
token buckets (hosts.py), and train ResNet-50 on made-up images: once as it is meant, with buckets
that leave during backward, and once with all gradients in one ring after it ("one bucket").

"hidden" is the timeline's figure (src/train/cluster/timeline.h): of the time in which buckets other
than the last are under way, the share in which the slowest host computes. The limit of images/s is
what computing takes. All hosts share the cores of this machine, and whatever else it does slows
them down: choose images per host such that a sum takes about as long as backward. --json has the
seconds of computing, of the communication that was not hidden, and the least that a sum can take.

Needs root. Everything is inside namespaces of its own, which are gone at the end, also on Ctrl-C.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile

from hosts import Failed, Hosts, goodput, run, wait_until_idle
from report import row, show

ZOO = pathlib.Path(__file__).resolve().parents[1] / "zoo"
SOLVER = """net: "net.prototxt"
base_lr: 0.01
lr_policy: "fixed"
momentum: 0.9
max_iter: {steps}
display: 1
random_seed: 42
snapshot_prefix: "run"
"""
ONE_BUCKET = ("--algorithm", "packed", "--bucket-mb", "1024")
PARAMETERS = 25_610_269


class Training:
    """A folder with the network, images and a cluster; runs with it."""

    def __init__(self, options, hosts, folder):
        self.options, self.hosts, self.folder = options, hosts, pathlib.Path(folder)
        net = (ZOO / "resnet50/train_val.prototxt").read_text()
        (self.folder / "net.prototxt").write_text(
            net.replace("data/ilsvrc12_train_lmdb", "images_lmdb"))
        (self.folder / "solver.prototxt").write_text(SOLVER.format(steps=options.steps))
        self.shoal("data", "synth", "--out", "images_lmdb", "--count", "256", "--size", "224",
                   "--channels", "3")
        self.shoal("init", "--dir", "head")
        self.enrol = f"{hosts.address(hosts.count)}:7401"
        token = self.shoal("token", "--dir", "head", "--uses", str(hosts.count), "--address",
                           self.enrol, "--json")
        self.token = json.loads(token)["token"]

    def environment(self):
        return {**os.environ, "XDG_CACHE_HOME": str(self.folder), "HOME": str(self.folder)}

    def shoal(self, *arguments):
        return run(str(self.options.shoal), *arguments, cwd=self.folder, env=self.environment())

    def start(self, host, *arguments):
        return self.hosts.start(host, str(self.options.shoal), *arguments, cwd=self.folder,
                                env=self.environment())

    def measure(self, batch, *arguments):
        """The figures of the timeline."""
        hosts = self.hosts
        head = self.start(hosts.count, "train", "--solver", "solver.prototxt", "--cluster",
                          "--first", str(hosts.count), "--dir", "head", "--batch",
                          str(batch * hosts.count), "--threads", "1", *arguments)
        if not any(line.startswith("members at") for line in head.stdout):
            raise Failed(f"the head did not start: {head.communicate()[1][-400:]}")
        for host in range(hosts.count):
            self.start(host, "join", self.enrol, self.token, "--dir", f"member{host}", "--name",
                       f"host{host}", "--threads", "1", "--memory", "4G", "--listen",
                       f"{hosts.address(host)}:0")
        print(hosts.collect([head], 600)[0], file=sys.stderr)
        return json.loads((self.folder / "run.trace.json").read_text())["otherData"]


def measure_case(options, case):
    count, megabits, batch = (int(x) for x in case.split(":"))
    with tempfile.TemporaryDirectory() as folder, Hosts(count, megabits) as hosts:
        training = Training(options, hosts, folder)
        rate = goodput(hosts, 2)
        busy = not wait_until_idle(3)
        ours = training.measure(batch)
        if options.keep:
            shutil.copytree(folder, options.keep / case.replace(":", "_"), dirs_exist_ok=True,
                            ignore=shutil.ignore_patterns("*_lmdb", "head", "member*"))
        busy += not wait_until_idle(3)
        after = training.measure(batch, *ONE_BUCKET)
    name = f"n={count} {megabits}Mb/s batch={batch}"
    more = {"busy_turns": int(busy)}
    seconds = {"compute_seconds": ours["compute_seconds"],
               "communicate_seconds": ours["communicate_seconds"],
               "sum_seconds_at_least": 2 * (count - 1) / count * 4 * PARAMETERS / rate}
    yield row(f"{name} hidden", "share", ours["hidden_share"], {}, 1, higher_is_better=True, **more)
    yield row(f"{name} images/s", "1/s", ours["images_per_second"],
              {"one bucket": after["images_per_second"]},
              ours["images_per_second"] / ours["efficiency"], higher_is_better=True, **more,
              **{key: round(value, 4) for key, value in seconds.items()})


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shoal", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--cases", default="4:1000:4,4:250:4")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--quick", action="store_true", help="4 steps")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path, help="for the pages of the runs")
    options = parser.parse_args()
    options.steps = options.steps or (4 if options.quick else 12)
    if os.geteuid() != 0:
        sys.exit("overlap: needs root, to make network namespaces")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    rows = []
    try:
        for case in options.cases.split(","):
            rows += measure_case(options, case)
    except KeyboardInterrupt:
        sys.exit(130)
    except Failed as failure:
        sys.exit(f"overlap: {failure}")
    show("overlap", {"cores": os.cpu_count(), "steps": options.steps}, rows, options.json)


if __name__ == "__main__":
    main()
