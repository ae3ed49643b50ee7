#!/usr/bin/python3
"""Training of the zoo's networks beside torch: `./dev bench peers/train`.

  train_compare.py SHOAL [--nets resnet50,alexnet] [--rounds 3] [--steps 3] [--json]

Torch, `shoal time` and `shoal time --backend portable` take turns, each in a process of its own, on
as many threads, with the batch of the paper; the best step of all rounds counts. Torch gets what
train.py gives it, in both memory formats in the first round and then in the faster one. Memory is
what is resident at most, without the idle process and three copies of the parameters (weights,
gradients, momentum); the least of the rounds counts, for both.

Prints the shape of all benchmarks: a ratio above 1 means that Shoal is better. Rows: images/s with
torch, our own portable backend and Caffe (as measured once on the machine that docs/ names, not in
this run) as peers; memory in MiB with torch's.
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys

import train

# Images/s of Caffe with OpenBLAS on 2 threads of an AMD EPYC at 2.8 GHz, AVX2. AlexNet without the
# update, GoogLeNet with its auxiliary classifiers.
CAFFE = {"alexnet": 20.0, "googlenet": 6.80, "squeezenet_v1.0": 15.8, "squeezenet_v1.1": 27.9}
TARGETS = ("targets: images/s against torch >= 1.3 (geometric mean) and >= 1.1 (each); memory >= 2 "
           "times less than torch (each); portable at most 1 / 0.8 = 1.25 behind")


def shoal(options, net, backend):
    command = [options.shoal, "time", "--net", "zoo:" + net, "--json", "--backend", backend,
               "--iterations", str(options.steps), "--threads", str(options.threads)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def best(runs):
    """The fastest of runs of one program; its memory is the least of them."""
    fastest = dict(max(runs, key=lambda run: run["images_per_s"]))
    fastest["extra_mib"] = min(run["extra_mib"] for run in runs)
    return fastest


def ours(options, net, backend):
    run = shoal(options, net, backend)
    if run["tuned"] > 0:  # Memory would be that of measuring convolutions.
        run = shoal(options, net, backend)
    return {**run, "extra_mib": run["memory"]["extra_mib"]}


def measure(options, net):
    """The best run of each contender, by name."""
    runs = {"auto": [], "portable": [], "torch": []}
    formats = ["nchw", "nhwc"]
    for i in range(options.rounds):
        turn = [train.in_own_process(options, net, format_) for format_ in formats]
        formats = [max(turn, key=lambda run: run["images_per_s"])["format"]]
        runs["torch"] += [run for run in turn if run["format"] == formats[0]]
        for backend in ("auto", "portable"):
            runs[backend].append(ours(options, net, backend))
        print(f"{net}: round {i + 1} of {options.rounds}: " + ", ".join(
            f"{name} {run[-1]['images_per_s']:.2f}" for name, run in runs.items()), file=sys.stderr)
    return {name: best(run) for name, run in runs.items()}


def row(case, unit, higher_is_better, our, peers, **more):
    def ratio(peer):
        return our / peer if higher_is_better else peer / max(our, 0.1)
    return {"case": case, "unit": unit, "higher_is_better": higher_is_better, "ours": round(our, 4),
            "peers": {name: round(peer, 4) for name, peer in peers.items()},
            "ratio": {name: round(ratio(peer), 4) for name, peer in peers.items()}, **more}


def rows_of(net, found):
    auto, torch = found["auto"], found["torch"]
    peers = {"torch": torch["images_per_s"], "portable": found["portable"]["images_per_s"]}
    if net in CAFFE:
        peers["caffe"] = CAFFE[net]
    peak = max(run["peak_gflops"] for run in (auto, found["portable"]))
    limit = peak * auto["batch"] / auto["gflop"]  # Images/s if FP32 ran at its peak all the time.
    case = f"{net} b={auto['batch']}"
    speed = row(case, "images/s", True, auto["images_per_s"], peers, limit=round(limit, 4),
                peak_share={"ours": round(auto["images_per_s"] / limit, 4),
                            "torch": round(torch["images_per_s"] / limit, 4)},
                torch_format=torch["format"])
    memory = row(case, "MiB", False, auto["extra_mib"], {"torch": torch["extra_mib"]},
                 parameters_mib=auto["memory"]["parameters_mib"])
    return speed, memory


def geomeans(rows):
    means = {}
    for name in ("torch", "portable", "caffe"):
        logs = [math.log(entry["ratio"][name]) for entry in rows if name in entry["ratio"]]
        if logs:
            means[name] = round(math.exp(sum(logs) / len(logs)), 4)
    return means


def table(report):
    lines = [f"{'':<22} {'unit':<8} {'ours':>8} {'torch':>8} {'ratio':>6} {'portable':>8} {'ratio':>6} "
             f"{'caffe':>6} {'of peak':>7} {'torch':>6}"]
    for entry in report["results"]:
        share = entry.get("peak_share", {})

        def cell(value, width, digits):
            return f"{value:>{width}.{digits}f}" if value is not None else f"{'-':>{width}}"
        lines.append(" ".join((
            f"{entry['case']:<22} {entry['unit']:<8}", cell(entry["ours"], 8, 2),
            cell(entry["peers"]["torch"], 8, 2), cell(entry["ratio"]["torch"], 6, 2),
            cell(entry["peers"].get("portable"), 8, 2), cell(entry["ratio"].get("portable"), 6, 2),
            cell(entry["peers"].get("caffe"), 6, 1), cell(share.get("ours"), 7, 2),
            cell(share.get("torch"), 6, 2))))
    for unit, means in report["geomean"].items():
        lines.append(f"geometric mean, {unit}: " + ", ".join(f"{k} {v:.3f}" for k, v in means.items()))
    return "\n".join([*lines, TARGETS])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shoal", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--nets", default=",".join(train.NETS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=3, help="a round; rounds x steps >= 5")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.lrn, options.malloc, options.foreach = "fast", "tuned", False  # For train.py.
    speeds, memories = [], []
    for net in options.nets.split(","):
        speed, memory = rows_of(net, measure(options, net))
        speeds.append(speed)
        memories.append(memory)
    version = json.loads(subprocess.run([options.shoal, "version", "--json"], check=True,
                                        stdout=subprocess.PIPE, text=True).stdout)
    report = {"bench": "train",
              "machine": {"cores": os.cpu_count(), "threads": options.threads,
                          "targets": version["kernels"]},
              "results": speeds + memories,
              "geomean": {"images/s": geomeans(speeds), "MiB": geomeans(memories)}}
    print(json.dumps(report, indent=2) if options.json else table(report))


if __name__ == "__main__":
    main()
