#!/usr/bin/python3
"""How large a batch fits a phone: `./dev bench batch_auto`.

  batch_auto.py SHOAL [--nets resnet50,alexnet] [--memory 2.8G] [--steps 3] [--threads 2]

Trains the zoo's networks as a user would, on small made-up images, once with the paper's batch and
once with `--batch auto --memory SIZE`, and prints the batch that was chosen, what was resident at
most, and the images/s of both, so that what recomputing costs can be seen.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NETS = {"alexnet": 32, "googlenet": 16, "inception_v3": 4, "mobilenet_v1": 8, "mobilenet_v2": 8,
        "resnet50": 4, "resnet101": 2, "resnet152": 2, "squeezenet_v1.0": 16, "squeezenet_v1.1": 32}
BATCH_NORM = {"inception_v3", "mobilenet_v1", "mobilenet_v2", "resnet50", "resnet101", "resnet152"}
SOLVER = """net: "{net}"
base_lr: 0.0001
lr_policy: "fixed"
momentum: 0.9
max_iter: {steps}
display: 1
snapshot_prefix: "run"
snapshot_after_train: false
"""


def make_images(shoal):
    os.mkdir("data")
    for name, size in (("ilsvrc12", 256), ("ilsvrc12_320", 320)):
        for part in ("train", "val"):
            subprocess.run([shoal, "data", "synth", "--quiet", "--out", f"data/{name}_{part}_lmdb",
                            "--size", str(size), "--count", "64"], check=True,
                           stdout=subprocess.DEVNULL)
    subprocess.run([shoal, "data", "mean", "data/ilsvrc12_train_lmdb",
                    "data/ilsvrc12_mean.binaryproto"], check=True, stdout=subprocess.DEVNULL)


def train(options, net, arguments):
    """Batch, best images/s of a step and peak MiB of one run."""
    pathlib.Path("solver.prototxt").write_text(
        SOLVER.format(net=ROOT / "zoo" / net / "train_val.prototxt", steps=options.steps))
    command = [options.shoal, "train", "--solver", "solver.prototxt", "--threads",
               str(options.threads), *arguments]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}: failed\n{output}")
    batch = int(output.split("batch ")[1].split(",")[0])
    log = [json.loads(line) for line in pathlib.Path("run.log.jsonl").read_text().splitlines()]
    speed = max(line["images_per_s"] for line in log if "images_per_s" in line)
    return batch, speed, usage.ru_maxrss / 1024



def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shoal", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--nets", default=",".join(NETS))
    parser.add_argument("--memory", default="2.8G")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make_images(options.shoal)
        for net in options.nets.split(","):
            paper, paper_speed, _ = train(options, net, ["--batch", str(NETS[net])])
            batch, speed, peak = train(options, net,
                                       ["--batch", "auto", "--memory", options.memory])
            rows.append((net, paper, paper_speed, batch, speed, peak))
            print(f"{net}: batch {batch}, {peak:.0f} MiB", file=sys.stderr)
        os.chdir(ROOT)
    print(f"{'':18}{'paper batch':>12}{'images/s':>10}{'auto batch':>12}{'images/s':>10}"
          f"{'ratio':>7}{'peak MiB':>10}")
    for net, paper, paper_speed, batch, speed, peak in rows:
        print(f"{net:18}{paper:12}{paper_speed:10.2f}{batch:12}{speed:10.2f}"
              f"{speed / paper_speed:7.2f}{peak:10.0f}")
    print(f"targets: peak <= {options.memory}; with batch normalisation (" +
          ", ".join(sorted(BATCH_NORM)) + ") a batch >= 4 times the paper's and a ratio >= 0.85")


if __name__ == "__main__":
    main()
