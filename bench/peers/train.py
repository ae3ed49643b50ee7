#!/usr/bin/python3
"""How fast torch trains the networks of zoo/, and in how much memory.

  bench/peers/train.py [--nets resnet50,alexnet] [--steps 7] [--formats nchw,nhwc] [--lrn fast]

One process per measurement, so that peaks do not mix; a JSON line each:
  {"net", "batch", "format", "lrn", "malloc", "threads", "steps",
   "images_per_s": of the fastest step, "images_per_s_median",
   "peak_mib": VmHWM, "idle_mib": RSS after `import torch`, "parameters_mib",
   "extra_mib": peak - idle - 3 x parameters (weights, gradients, momentum)}
and, per network, a line {"best": ...} with the fastest format. A step is forward, backward and SGD
with momentum and weight decay, on the graph, with the batch and the dropout of train_val.prototxt.

Torch gets what makes it fast: threads set and bound to cores, malloc kept from giving memory back
(--malloc default undoes that), in-place operations, gradients set to None.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

NETS = ("alexnet", "googlenet", "inception_v3", "mobilenet_v1", "mobilenet_v2", "resnet50",
        "resnet101", "resnet152", "squeezenet_v1.0", "squeezenet_v1.1")
TUNED_MALLOC = {"MALLOC_MMAP_THRESHOLD_": "8589934592", "MALLOC_TRIM_THRESHOLD_": "17179869184",
                "MALLOC_TOP_PAD_": "268435456"}
MIB = 1 << 20


def status_mib(field):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise SystemExit(f"/proc/self/status has no {field}")


def read_net(name):
    """The network and (batch, channels, height, width) of what its TRAIN data layer brings."""
    import caffe_shapes
    import prototxt
    net = prototxt.read(ROOT / "zoo" / name / "train_val.prototxt")
    data = next(layer for layer in net.all("layer") if layer.one("type") == "Data"
                and caffe_shapes.runs(layer, "TRAIN"))
    crop = data.sub("transform_param").one("crop_size")
    return net, (data.sub("data_param").one("batch_size"), 3, crop, crop)


def build(torch, options):
    import torch_net
    net, shape = read_net(options.net)
    model = torch_net.TorchNet(net, {"data": shape, "label": shape[:1]},
                               fast_lrn=options.lrn == "fast")
    for value in model.parameters():
        fan_in = max(1, value[0].numel())
        torch.nn.init.normal_(value, 1.0 if fan_in == 1 else 0.0, (2 / fan_in) ** 0.5 / 4)
    inputs = {"data": torch.randn(shape), "label": torch.randint(0, 1000, shape[:1])}
    if options.format == "nhwc":
        model = model.to(memory_format=torch.channels_last)
        inputs["data"] = inputs["data"].contiguous(memory_format=torch.channels_last)
    return model, inputs, shape[0]


def step(model, inputs, optimizer):
    optimizer.zero_grad(set_to_none=True)
    _, loss = model(inputs)
    loss.backward()
    optimizer.step()


def measure(options):
    import torch
    torch.set_num_threads(options.threads)
    idle = status_mib("VmRSS")
    model, inputs, batch = build(torch, options)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9, weight_decay=1e-4,
                                foreach=options.foreach)
    seconds = []
    for i in range(options.steps + 2):  # Two to warm up.
        begin = time.perf_counter()
        step(model, inputs, optimizer)
        if i >= 2:
            seconds.append(time.perf_counter() - begin)
    parameters = sum(value.numel() * 4 for value in model.parameters()) / MIB
    peak = status_mib("VmHWM")
    return {"net": options.net, "batch": batch, "format": options.format, "lrn": options.lrn,
            "malloc": options.malloc, "threads": options.threads, "steps": options.steps,
            "images_per_s": round(batch / min(seconds), 3),
            "images_per_s_median": round(batch / statistics.median(seconds), 3),
            "peak_mib": round(peak, 1), "idle_mib": round(idle, 1),
            "parameters_mib": round(parameters, 2),
            "extra_mib": round(peak - idle - 3 * parameters, 1)}


def in_own_process(options, net, format_):
    environment = dict(os.environ, OMP_NUM_THREADS=str(options.threads), OMP_PROC_BIND="true")
    if options.malloc == "tuned":
        environment.update(TUNED_MALLOC)
    command = [sys.executable, __file__, "--one", "--net", net, "--format", format_,
               "--steps", str(options.steps), "--threads", str(options.threads),
               "--lrn", options.lrn, "--malloc", options.malloc]
    command += ["--foreach"] if options.foreach else []
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def measure_all(options):
    for net in options.nets.split(","):
        rows = []
        for format_ in options.formats.split(","):
            rows.append(in_own_process(options, net, format_))
            print(json.dumps(rows[-1]), flush=True)
        best = max(rows, key=lambda row: row["images_per_s"])
        print(json.dumps({"best": net, **{key: best[key] for key in (
            "format", "images_per_s", "extra_mib")}}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nets", default=",".join(NETS))
    parser.add_argument("--formats", default="nchw,nhwc")
    parser.add_argument("--steps", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--lrn", choices=("fast", "library"), default="fast")
    parser.add_argument("--malloc", choices=("tuned", "default"), default="tuned")
    parser.add_argument("--foreach", action="store_true", help="SGD(foreach=True)")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--net", help=argparse.SUPPRESS)
    parser.add_argument("--format", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options)))
    else:
        measure_all(options)


if __name__ == "__main__":
    main()
