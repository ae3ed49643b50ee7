#!/usr/bin/env python3
"""Writes zoo/: train/val networks and solvers. With --check: fails if zoo/ differs.

Every network's parameters are counted from the text that is written and compared with the counts
published for it (Table I of the paper; the others from their definitions).
"""
import argparse
import pathlib
import sys

import caffe_shapes
import prototxt
import zoo_nets
from prototxt import Name
from zoo_inception import inception_v3
from zoo_nets import message

ROOT = pathlib.Path(__file__).resolve().parent.parent

# name/file: (graph, elements, blobs, input (C, H, W), millions of multiply-adds per image)
NETS = {
    "alexnet/train_val": (zoo_nets.alexnet, 60965224, 16, (3, 227, 227), 724),
    "googlenet/train_val": (zoo_nets.googlenet, 6998552, 116, (3, 224, 224), 1583),
    "googlenet/train_val_aux": (
        lambda: zoo_nets.googlenet(True), 13378280, 128, (3, 224, 224), 1591),
    "inception_v3/train_val": (inception_v3, 23869094, 566, (3, 299, 299), 5713),
    "inception_v3/train_val_aux": (lambda: inception_v3(True), 27197584, 580, (3, 299, 299), 5719),
    "mobilenet_v1/train_val": (zoo_nets.mobilenet_v1, 4253891, 164, (3, 224, 224), 569),
    "mobilenet_v2/train_val": (zoo_nets.mobilenet_v2, 3540189, 320, (3, 224, 224), 429),
    "resnet50/train_val": (lambda: zoo_nets.resnet(50), 25610269, 321, (3, 224, 224), 3858),
    "resnet101/train_val": (lambda: zoo_nets.resnet(101), 44654608, 626, (3, 224, 224), 7570),
    "resnet152/train_val": (lambda: zoo_nets.resnet(152), 60344387, 932, (3, 224, 224), 11282),
    "squeezenet_v1.0/train_val": (
        lambda: zoo_nets.squeezenet("1.0"), 1248424, 52, (3, 227, 227), 861),
    "squeezenet_v1.1/train_val": (
        lambda: zoo_nets.squeezenet("1.1"), 1235496, 52, (3, 227, 227), 388),
    "lenet/train_val": (zoo_nets.lenet, 431080, 8, (1, 28, 28), 2),
    "cifar10_quick/train_val": (zoo_nets.cifar10_quick, 145578, 10, (3, 32, 32), 12),
    "resnet20/train_val": (zoo_nets.resnet20, 274063, 128, (3, 28, 28), 31),
}


def sgd(base_lr, policy, max_iter, weight_decay, **others):
    return {"base_lr": base_lr, "lr_policy": policy, "max_iter": max_iter, "momentum": 0.9,
            "weight_decay": weight_decay, **others}


def tests(count, interval, initial=None):
    return {"test_iter": count, "test_interval": interval, "test_initialization": initial}


def resnet_solver(iter_size, stepsize, max_iter):
    return sgd(0.1, "step", max_iter, 0.0001, gamma=0.1, stepsize=stepsize, iter_size=iter_size,
               **tests(2000, 5000, False), average_loss=20, display=20, snapshot=5000)


def mobilenet_solver():
    return sgd(0.1, "poly", 600000, 0.00004, power=1.0, iter_size=32, **tests(2000, 5000, False),
               average_loss=20, display=20, snapshot=5000)


def squeezenet_solver(iter_size):
    return sgd(0.04, "poly", 170000, 0.0002, power=1.0, iter_size=iter_size,
               **tests(2000, 1000, False), average_loss=40, display=40, snapshot=1000,
               random_seed=42)


# name/file: (why, fields). iter_size times the batch of train_val is the published batch.
SOLVERS = {
    "alexnet/solver": ("Batch 256: 8 x 32.", sgd(
        0.01, "step", 450000, 0.0005, gamma=0.1, stepsize=100000, iter_size=8,
        **tests(1000, 1000), display=20, snapshot=10000)),
    "googlenet/solver": ("Batch 32: 2 x 16.", sgd(
        0.01, "step", 10000000, 0.0002, gamma=0.96, stepsize=320000, iter_size=2,
        **tests(1000, 4000, False), average_loss=40, display=40, snapshot=40000)),
    "googlenet/solver_paper": (
        "The paper's validation run: 96,000 iterations of batch 736, which is 46 phones x 16;\n"
        "# alone, one device gets there with iter_size. The step is the published one, 320,000\n"
        "# iterations of batch 32, counted in images.", sgd(
            0.01, "step", 96000, 0.0002, gamma=0.96, stepsize=13913, iter_size=46,
            **tests(1000, 4000, False), average_loss=40, display=40, snapshot=4000)),
    "inception_v3/solver": (
        "Batch 384: 96 x 4; two epochs are 6,663 iterations. clip_gradients bounds the norm of the\n"
        "# gradients' sum over iter_size, as Caffe does.", {
            "type": "RMSProp", "base_lr": 0.072, "lr_policy": "step", "max_iter": 333150,
            "gamma": 0.94, "stepsize": 6663, "rms_decay": 0.9, "delta": 0.9,
            "clip_gradients": 80, "weight_decay": 0.0004, "iter_size": 96,
            **tests(2000, 6663, False), "average_loss": 20, "display": 20, "snapshot": 6663}),
    "mobilenet_v1/solver": ("Batch 256: 32 x 8; 120 epochs.", mobilenet_solver()),
    "mobilenet_v2/solver": ("Batch 256: 32 x 8; 120 epochs.", mobilenet_solver()),
    "resnet50/solver": ("Batch 256: 64 x 4.", resnet_solver(64, 200000, 800000)),
    "resnet101/solver": ("Batch 128: 64 x 2.", resnet_solver(64, 400000, 1600000)),
    "resnet152/solver": ("Batch 128: 64 x 2.", resnet_solver(64, 400000, 1600000)),
    "squeezenet_v1.0/solver": ("Batch 512: 32 x 16.", squeezenet_solver(32)),
    "squeezenet_v1.1/solver": ("Batch 512: 16 x 32.", squeezenet_solver(16)),
    "lenet/solver": ("MNIST, about 99 %.", sgd(
        0.01, "inv", 10000, 0.0005, gamma=0.0001, power=0.75, **tests(100, 500), display=100,
        snapshot=5000)),
    "cifar10_quick/solver": ("CIFAR-10, 8 epochs, the last one at a tenth of the rate.", sgd(
        0.001, "multistep", 4000, 0.004, gamma=0.1, stepvalue=[3500], **tests(100, 500),
        display=100, snapshot=4000)),
    "resnet20/solver": ("CIFAR-10, 15 epochs of 391 iterations.", sgd(
        0.1, "multistep", 5865, 0.0001, gamma=0.1, stepvalue=[3910, 5083], **tests(100, 391, False),
        display=100, average_loss=20, snapshot=5865)),
}


def scalar(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Name):
        return value
    return f'"{value}"' if isinstance(value, str) else format(value, ".10g")


def lines(fields, indent=""):
    """Text format; a message of one scalar stays on one line."""
    for name, values in fields.items():
        for value in values:
            if not isinstance(value, dict):
                yield f"{indent}{name}: {scalar(value)}"
                continue
            inner = list(lines(value, indent + "  "))
            if all("{" not in line for line in inner) and len(inner) <= 2:
                yield f"{indent}{name} {{ {' '.join(line.strip() for line in inner)} }}"
            else:
                yield f"{indent}{name} {{"
                yield from inner
                yield indent + "}"


def net_text(key):
    graph, elements, blobs, image, million_macs = NETS[key]
    net = graph()
    head = f"# Written by scripts/make_zoo.py. {elements:,} parameters in {blobs} blobs.\n"
    body = message({"name": net.name, "layer": net.layers})
    text = head + "\n".join(lines(body)) + "\n"
    shapes = caffe_shapes.infer(prototxt.parse(text, key), "TRAIN",
                                {"data": (1, *image), "label": (1,)})
    counted = *caffe_shapes.count(shapes), round(caffe_shapes.macs(shapes) / 1e6)
    if counted != (elements, blobs, million_macs):
        raise SystemExit(f"{key}: elements, blobs and millions of multiply-adds are {counted}")
    return text


def solver_text(key):
    why, fields = SOLVERS[key]
    name = key.split("/")[0]
    all_fields = {"net": f"zoo/{name}/train_val.prototxt", **fields, "snapshot_prefix": name}
    head = f"# Written by scripts/make_zoo.py. {why}\n"
    return head + "\n".join(lines(message(all_fields))) + "\n"


def files():
    for key in NETS:
        yield ROOT / "zoo" / f"{key}.prototxt", net_text(key)
    for key in SOLVERS:
        yield ROOT / "zoo" / f"{key}.prototxt", solver_text(key)


def differs(path, text):
    return not path.exists() or path.read_text(encoding="utf-8") != text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    expected = dict(files())
    stale = [path for path, text in expected.items() if differs(path, text)]
    stale += [path for path in (ROOT / "zoo").rglob("*.prototxt") if path not in expected]
    if check:
        print("\n".join(f"{path.relative_to(ROOT)}: not what make_zoo.py writes" for path in stale)
              or f"zoo: ok, {len(expected)} files")
        return bool(stale)
    for path, text in expected.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    print(f"zoo: {len(expected)} files, {len(stale)} were stale")
    return 0


if __name__ == "__main__":
    sys.exit(main())
