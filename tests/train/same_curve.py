#!/usr/bin/env python3
"""CIFAR-quick with batch 128 on one process, four ranks of mpirun, four workers, and four workers of
which one has a third of the time: how far apart their losses are after 200 steps, with --exact and
without. By hand: it takes minutes, and CIFAR-10 (`shoal data import`).

same_curve.py ZOO PROGRAM CIFAR_LMDB [STEPS]
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SOLVER = """net: "net.prototxt"
base_lr: 0.001
lr_policy: "fixed"
momentum: 0.9
weight_decay: 0.004
max_iter: {steps}
display: 1
random_seed: 42
snapshot_after_train: false
snapshot_prefix: "{prefix}"
"""


def main():
    zoo, program, data = (pathlib.Path(p).resolve() for p in sys.argv[1:4])
    steps = int(sys.argv[4]) if len(sys.argv) > 4 else 200
    with tempfile.TemporaryDirectory() as directory:
        folder = pathlib.Path(directory)
        net = (zoo / "cifar10_quick/train_val.prototxt").read_text()
        (folder / "net.prototxt").write_text(net)
        for name in ("cifar10_train_lmdb", "cifar10_test_lmdb"):
            (folder / name).symlink_to(data)

        def losses(prefix, *arguments, before=()):
            (folder / f"{prefix}.prototxt").write_text(SOLVER.format(steps=steps, prefix=prefix))
            environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                           "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
            subprocess.run([*before, program, "train", "--solver", f"{prefix}.prototxt", "--batch",
                            "128", "--quiet", *arguments], cwd=folder, env=environment, check=True)
            lines = (folder / f"{prefix}.log.jsonl").read_text().splitlines()
            return [e["loss"] for e in map(json.loads, lines) if "loss" in e]

        mpirun = ("mpirun", "--oversubscribe", "-np", "4")
        workers = ("--workers", "4", "--dir", "cluster")
        worst = 0
        for kind, option in (("exact", ("--exact",)), ("rounded", ())):
            right = losses(f"{kind}_one", *option)
            # What rounding alone does: nothing is shared out, only convolutions are others.
            alone = ("one process, other kernels", (*option, "--backend", "portable"), ())
            for name, arguments, before in (
                    *([alone] if kind == "rounded" else []),
                    ("mpirun -np 4", option, mpirun),
                    ("--workers 4", (*option, *workers), ()),
                    ("--workers 4, one at a third",
                     (*option, *workers, "--worker-options", "2=--duty 0.33"), ())):
                other = losses(f"{kind}_{abs(hash(name))}", *arguments, before=before)
                apart = [abs(a - b) for a, b in zip(right, other)]
                print(f"{kind}: {name}: {len(apart)} steps, losses from {right[0]:.4f} to "
                      f"{right[-1]:.4f}, at most {max(apart):.2g} apart", flush=True)
                if len(other) != steps or len(right) != steps:
                    sys.exit("steps are missing in the log")
                if kind == "exact":
                    worst = max(worst, *apart)
        if worst > 1e-3:
            sys.exit(f"exact sums are {worst:.2g} apart")


if __name__ == "__main__":
    main()
