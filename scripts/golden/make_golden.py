#!/usr/bin/python3
"""Writes tests/golden/: what torch computes in double for networks that our tests compute again.

  scripts/golden/make_golden.py [nets] [ops] [sgd] [--only NAME]

Inputs and parameters come from hashed.py (read its head for unit() and hash()):
  input blob B         float32(unit("B/0", i)); in step s of sgd (from 0) the key is "B/s"
  labels               hash("label/0", i) % classes
  Convolution, InnerProduct named L, with fan_in = elements / dim 0 (also if transposed):
                       weights float32(s * lean / sqrt(fan_in) + s * unit("L/0", i)),
                       s = sqrt(1 / (fan_in * (lean * lean + 1 / 3))), or sqrt(6 / fan_in) if lean
                       is 0; bias float32(0.1 * unit("L/1", i))
  Scale                gamma float32(1 + 0.1 * unit("L/0", i)), beta float32(beta + 0.1 *
                       unit("L/1", i)); with two bottoms its only blob is beta, key "L/0"
  Bias                 float32(0.1 * unit("L/0", i))
  BatchNorm            blob 0 float32(0.1 * unit), blob 1 float32(1 + 0.1 * unit), blob 2 is 1
  A shared parameter belongs to the first layer that names it.
i counts in Caffe's element order, whatever the order in memory. Dropout does nothing. Phase TRAIN.
All formulas are evaluated in double, left to right, and rounded once.

Why lean and beta ("fill" in the files; 0 and 0 in ops.json): a ReLU whose input is near 0, or two
near equals under a MAX pooling, switch with the last bit of float32, and each switch changes
gradients by one over the root of the number of units: with symmetric weights 1e-3 (SqueezeNet) to
4e-2 (Inception-v3), whoever computes. Weights that lean to the positive side, or a positive beta
behind a BatchNorm, keep most inputs away from 0 and let gradients add up with one sign; rounding
then costs 1e-4 of the whole gradient at most, and a real mistake is visible.

A digest is [norm, probe 0..3, sample 0..7]; hashed.digest says of which elements.

<net>.json, for zoo/<net>/train_val.prototxt:
  {"net", "batch", "input": [N, C, H, W], "fill": {"lean", "beta"}, "loss",
   "float32": {"loss", "error", "worst"}: the same in torch's float32: its loss, the error of all
     gradients as one vector, |gradient - golden| / |golden|, and the blob with the worst error,
   "gradients": {"layer/index": [...digest, noise]}}
  noise is the blob's own relative error in float32, or in double with every parameter changed by
  2e-6 of itself, if that is more: what rounding can do to it. A test allows 1e-3 + 3 * noise of the
  norm. Noise is large where a gradient is a small difference (a shift that the next BatchNorm takes
  out again), and -1 where it is nothing but rounding: a bias in front of a BatchNorm, norm < 1e-9.
ops.json:
  {"cases": [{"name", "prototxt": a whole network with Input layers,
     "labels": {blob: classes}: inputs that are labels,
     "loss": of all losses, weighted,
     "outputs": {blob: {"shape", "data"}}: the tops under test,
     "gradients": {blob or "layer/index": {"shape", "data"}}: of inputs and of parameters,
     "statistics": {"layer/index": {...}}: BatchNorm's blobs after the pass}]}
sgd.json, batch 4, steps with Caffe's rule (base_lr 0.01, momentum 0.9, weight_decay 0.0005, and the
file's lr_mult and decay_mult):
  {"nets": [{"net", "batch", "input", "fill", "losses": [before each step],
     "float32": {"losses"}: the same in torch's float32,
     "blobs": {"layer/index": digest of the parameter (or statistic) after the last step}}]}
"""
import argparse
import json
import pathlib
import sys

import numpy
import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import caffe_shapes
import hashed
import op_cases
import prototxt
from torch_net import LOSSES, TorchNet

OUT = ROOT / "tests" / "golden"
SIZES = {"alexnet": 227, "googlenet": 224, "inception_v3": 299, "mobilenet_v1": 224,
         "mobilenet_v2": 224, "resnet50": 224, "resnet101": 224, "resnet152": 224,
         "squeezenet_v1.0": 227, "squeezenet_v1.1": 227}
SGD_INPUTS = {"lenet": (4, 1, 28, 28), "cifar10_quick": (4, 3, 32, 32), "resnet20": (4, 3, 28, 28)}
FILL = {"lean": 0, "beta": 0}
ZERO = 1e-9  # A gradient whose norm is below this is nothing but rounding.


def fill_of(name):
    """Chosen so that rounding does least; the head of this file says why."""
    if any(layer.one("type") == "BatchNorm" for layer in read_zoo(name).all("layer")):
        return {"lean": 0, "beta": 3}
    return {"lean": 0.3 if name == "alexnet" else 1.2, "beta": 0}


def weight_values(key, shape, lean):
    fan_in = int(numpy.prod(shape[1:]))
    if lean == 0:
        return hashed.values(key, shape, (6 / fan_in) ** 0.5)
    scale = (1 / (fan_in * (lean * lean + 1 / 3))) ** 0.5
    return hashed.values(key, shape, scale, scale * lean / fan_in ** 0.5)


def blob_values(layer, index, shape, how):
    """The start of a parameter; the head of this file says the same in words."""
    kind, key = layer.one("type"), f"{layer.one('name')}/{index}"
    if kind == "BatchNorm":
        if index == 2:
            return numpy.ones(shape, numpy.float32)
        return hashed.values(key, shape, 0.1, float(index))
    if kind == "Scale" and index == 0 and len(layer.all("bottom")) == 1:
        return hashed.values(key, shape, 0.1, 1.0)
    if kind == "Scale":
        return hashed.values(key, shape, 0.1, how["beta"])
    if kind == "Bias" or index == 1:
        return hashed.values(key, shape, 0.1)
    return weight_values(key, shape, how["lean"])


def fill(model, how):
    """Gives every parameter its start; a shared one gets its owner's."""
    done = set()
    for layer in model.layers:
        for index, blob in enumerate(model.blobs[layer.one("name")]):
            if id(blob) not in done:
                done.add(id(blob))
                blob.data.copy_(torch.from_numpy(blob_values(
                    layer, index, tuple(blob.shape), how)))
    return model


def gradients(model):
    """("layer/index", gradient) of what is learned, shared parameters once."""
    seen = set()
    for name, blobs in model.blobs.items():
        for index, blob in enumerate(blobs):
            if isinstance(blob, torch.nn.Parameter) and id(blob) not in seen:
                seen.add(id(blob))
                yield f"{name}/{index}", blob.grad.double().numpy()


def net_inputs(shape, classes, dtype, step=0):
    data = torch.from_numpy(hashed.values(f"data/{step}", shape)).to(dtype)
    return {"data": data,
            "label": torch.from_numpy(hashed.labels(f"label/{step}", shape[:1], classes))}


def read_zoo(name):
    return prototxt.read(ROOT / "zoo" / name / "train_val.prototxt")


def disturb(model, noise):
    """Changes every parameter by up to `noise` of itself, as another order of sums would."""
    for name, blobs in model.blobs.items():
        for index, blob in enumerate(blobs):
            change = hashed.values(f"noise/{name}/{index}", tuple(blob.shape))
            blob.data.mul_(1 + noise * torch.from_numpy(change).to(blob.dtype))


def backward(name, shape, dtype, noise=0.0):
    model = TorchNet(read_zoo(name), {"data": shape, "label": shape[:1]}, dtype, dropout=False)
    fill(model, fill_of(name))
    if noise:
        disturb(model, noise)
    _, loss = model(net_inputs(shape, 1000, dtype))
    loss.backward()
    return loss.item(), dict(gradients(model))


def rounded(number):
    return float(f"{number:.7g}")


def short_digest(array):
    return [rounded(number) for number in hashed.digest(array)]


def relative_errors(exact, other):
    """Per blob, and of all as one vector under "". Blobs that are nothing but rounding: -1."""
    norms = {name: numpy.linalg.norm(gold) for name, gold in exact.items()}
    off = {name: numpy.linalg.norm(other[name] - gold) for name, gold in exact.items()}
    errors = {name: off[name] / norms[name] if norms[name] > ZERO else -1 for name in exact}
    errors[""] = numpy.linalg.norm(list(off.values())) / numpy.linalg.norm(list(norms.values()))
    return errors


def make_net(name):
    shape = (2, 3, SIZES[name], SIZES[name])
    loss, exact = backward(name, shape, torch.float64)
    loss32, single = backward(name, shape, torch.float32)
    _, disturbed = backward(name, shape, torch.float64, 2e-6)
    errors, others = relative_errors(exact, single), relative_errors(exact, disturbed)
    whole = max(errors.pop(""), others.pop(""))
    noise = {key: float(f"{max(errors[key], others[key]):.2g}") for key in exact}
    worst = max(errors, key=errors.get)
    print(f"{name}: loss {loss:.6f}, float32 {loss32:.6f}; rounding {whole:.1e}, "
          f"{sorted(noise.values())[len(noise) * 9 // 10]:.1e} of most blobs, "
          f"{max(noise.values()):.1e} of one", flush=True)
    write(OUT / f"{name}.json", {
        "net": name, "batch": shape[0], "input": list(shape), "fill": fill_of(name),
        "loss": rounded(loss), "float32": {"loss": rounded(loss32), "error": float(f"{whole:.2g}"),
                                           "worst": worst},
        "gradients": {key: [*short_digest(value), noise[key]] for key, value in exact.items()}},
        "gradients")


def tops_under_test(net):
    """The last versions of the tops that nobody reads, losses left out."""
    read = {bottom for layer in net.all("layer")
            for bottom in layer.all("bottom") if bottom not in layer.all("top")}
    return [top for top in dict.fromkeys(top for layer in net.all("layer")
                                         if layer.one("type") not in LOSSES
                                         for top in layer.all("top")) if top not in read]


def complete(inputs, layers):
    """The case as a whole network: Input layers in front, losses behind."""
    net = prototxt.parse(layers)
    tops = tops_under_test(net)
    shapes = {name: shape for name, shape, *_ in inputs}
    found = caffe_shapes.infer(net, "TRAIN", shapes).blobs
    shapes.update({f"target_{top}": found[top] for top in tops})
    front = "".join(
        f'layer {{ name: "{name}_input" type: "Input" top: "{name}" input_param {{ shape {{ '
        + " ".join(f"dim: {dim}" for dim in shape) + " } } }\n" for name, shape in shapes.items())
    behind = "".join(op_cases.layer("EuclideanLoss", f"loss_{top}", f"{top} target_{top}")
                     for top in tops)
    return "force_backward: true\n" + front + layers + behind, shapes, tops


def full(tensor):
    array = tensor.detach().double().numpy()
    return {"shape": list(array.shape), "data": [rounded(x) for x in array.reshape(-1).tolist()]}


def case_inputs(inputs, shapes):
    classes = {name: rest[0] for name, _, *rest in inputs if rest}
    tensors = {}
    for name, shape in shapes.items():
        if name in classes:
            tensors[name] = torch.from_numpy(hashed.labels(f"{name}/0", shape, classes[name]))
        else:
            tensors[name] = torch.from_numpy(hashed.values(f"{name}/0", shape)).double()
            tensors[name].requires_grad_(not name.startswith("target_"))
    return tensors, classes


def make_case(name, inputs, layers):
    text, shapes, tops = complete(inputs, layers)
    model = fill(TorchNet(prototxt.parse(text, name), {}, torch.float64, caffe_statistics=True),
                 FILL)
    tensors, classes = case_inputs(inputs, shapes)
    found, loss = model(tensors, keep=tops)
    loss.backward()
    grads = {blob: full(x.grad) for blob, x in tensors.items() if x.requires_grad}
    for key, value in gradients(model):
        grads[key] = full(torch.from_numpy(value))
    statistics = {f"{layer.one('name')}/{i}": full(blob) for layer in model.layers
                  if layer.one("type") == "BatchNorm"
                  for i, blob in enumerate(model.blobs[layer.one("name")])}
    return {"name": name, "prototxt": text, "labels": classes, "loss": rounded(loss.item()),
            "outputs": {top: full(found[top]) for top in tops}, "gradients": grads,
            "statistics": statistics}


def make_ops():
    cases = [make_case(name, *case) for name, case in op_cases.CASES.items()]
    write(OUT / "ops.json", {"cases": cases}, "cases")
    print(f"ops: {len(cases)} cases, {(OUT / 'ops.json').stat().st_size / 1024:.0f} KiB")


def multipliers(layer, count):
    params = layer.all("param")
    return [(params[i].one("lr_mult", 1), params[i].one("decay_mult", 1)) if i < len(params)
            else (1, 1) for i in range(count)]


def caffe_update(model, history):
    """V = momentum V + rate (g + decay w); w -= V."""
    for layer in model.layers:
        blobs = model.blobs[layer.one("name")]
        for blob, (lr_mult, decay_mult) in zip(blobs, multipliers(layer, len(blobs))):
            if isinstance(blob, torch.nn.Parameter):
                step = blob.grad + 0.0005 * decay_mult * blob.data
                old = history.get(id(blob), 0)
                history[id(blob)] = 0.9 * old + 0.01 * lr_mult * step
                blob.data -= history[id(blob)]
                blob.grad = None


def train_steps(name, shape, dtype):
    """The losses and the model after the last step."""
    model = fill(TorchNet(read_zoo(name), {"data": shape, "label": shape[:1]}, dtype, dropout=False,
                          caffe_statistics=True), fill_of(name))
    losses, history = [], {}
    for step in range(3):
        _, loss = model(net_inputs(shape, 10, dtype, step))
        loss.backward()
        caffe_update(model, history)
        losses.append(rounded(loss.item()))
    return losses, model


def make_steps(name, shape):
    losses, model = train_steps(name, shape, torch.float64)
    losses32, _ = train_steps(name, shape, torch.float32)
    print(f"{name}: {losses}, float32 {losses32}")
    blobs = {f"{layer}/{i}": short_digest(blob.detach().numpy())
             for layer, many in model.blobs.items() for i, blob in enumerate(many)}
    return {"net": name, "batch": shape[0], "input": list(shape), "fill": fill_of(name),
            "losses": losses, "float32": {"losses": losses32}, "blobs": blobs}


def make_sgd():
    nets = [make_steps(name, shape) for name, shape in SGD_INPUTS.items()]
    write(OUT / "sgd.json", {"nets": nets}, "nets")


def write(path, value, member):
    """Compact JSON, but a line for each entry of one member: differences stay readable."""
    rest = {key: entry for key, entry in value.items() if key != member}
    entries = value[member]
    compact = {"separators": (",", ":")}
    if isinstance(entries, dict):
        body = ",\n".join(f"{json.dumps(k)}:{json.dumps(v, **compact)}" for k, v in entries.items())
        body = "{\n" + body + "}"
    else:
        body = "[\n" + ",\n".join(json.dumps(entry, **compact) for entry in entries) + "]"
    head = json.dumps(rest, **compact)[:-1]
    comma = "," if rest else ""
    path.write_text(f"{head}{comma}\n{json.dumps(member)}:{body}}}\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["nets", "ops", "sgd"])
    parser.add_argument("--only", help="one network of `nets`")
    options = parser.parse_args()
    torch.set_num_threads(2)
    OUT.mkdir(parents=True, exist_ok=True)
    if "ops" in options.what:
        make_ops()
    if "sgd" in options.what:
        make_sgd()
    for name in SIZES if "nets" in options.what else ():
        if options.only in (None, name):
            make_net(name)


if __name__ == "__main__":
    main()
