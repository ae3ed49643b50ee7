"""Shapes of a Caffe network's blobs and parameters, from its prototxt alone.

infer(net, phase, shapes) walks the layers of one phase and returns a Shapes: the layers that run,
every blob's shape and every layer's parameter shapes, in Caffe's order (N, C, H, W) and with
Caffe's rules (pooling rounds up, convolution down).
"""
import collections
import math

Shapes = collections.namedtuple("Shapes", "layers blobs params")


def runs(layer, phase):
    """Whether a layer belongs to the phase; stages and levels are not used by our files."""
    included, excluded = layer.all("include"), layer.all("exclude")
    if included:
        return any(rule.one("phase", phase) == phase for rule in included)
    return not any(rule.one("phase", phase) == phase for rule in excluded)


def pair(param, name, default, whole=None):
    """(h, w) of a field that has a common spelling and one per axis."""
    common = param.all(whole or name)
    base = (list(common) * 2)[:2] if common else [default] * 2
    return param.one(name + "_h", base[0]), param.one(name + "_w", base[1])


def conv_geometry(param):
    """kernel, stride, pad, dilation, each (h, w)."""
    return (pair(param, "kernel", 0, "kernel_size"), pair(param, "stride", 1),
            pair(param, "pad", 0), pair(param, "dilation", 1))


def pool_geometry(param, image):
    if param.one("global_pooling", False):
        return tuple(image), (1, 1), (0, 0)
    return pair(param, "kernel", 0, "kernel_size"), pair(param, "stride", 1), pair(param, "pad", 0)


def pooled(size, kernel, stride, pad, padded, ceil):
    round_ = math.ceil if ceil else math.floor
    out = round_((size + 2 * pad - kernel) / stride) + 1
    # The last window must start inside the image or its first padding.
    return out - 1 if padded and (out - 1) * stride >= size + pad else out


def _convolution(layer, bottoms):
    param, (n, c, h, w) = layer.sub("convolution_param"), bottoms[0]
    kernel, stride, pad, dilation = conv_geometry(param)
    size = [(x + 2 * p - d * (k - 1) - 1) // s + 1
            for x, k, s, p, d in zip((h, w), kernel, stride, pad, dilation)]
    outputs = param.one("num_output")
    weights = (outputs, c // param.one("group", 1), *kernel)
    bias = [(outputs,)] if param.one("bias_term", True) else []
    return [(n, outputs, *size)], [weights, *bias]


def _pooling(layer, bottoms):
    param, (n, c, h, w) = layer.sub("pooling_param"), bottoms[0]
    kernel, stride, pad = pool_geometry(param, (h, w))
    ceil = param.one("round_mode", "CEIL") == "CEIL"
    size = [pooled(x, k, s, p, any(pad), ceil)
            for x, k, s, p in zip((h, w), kernel, stride, pad)]
    return [(n, c, *size)], []


def _inner_product(layer, bottoms):
    param, shape = layer.sub("inner_product_param"), bottoms[0]
    axis = param.one("axis", 1) % len(shape)
    outputs, inputs = param.one("num_output"), math.prod(shape[axis:])
    weights = (inputs, outputs) if param.one("transpose", False) else (outputs, inputs)
    bias = [(outputs,)] if param.one("bias_term", True) else []
    return [(*shape[:axis], outputs)], [weights, *bias]


def _batch_norm(_, bottoms):
    channels = bottoms[0][1]
    return [bottoms[0]], [(channels,), (channels,), (1,)]


def _along(param, shape):
    axis = param.one("axis", 1) % len(shape)
    count = param.one("num_axes", 1)
    return tuple(shape[axis:] if count < 0 else shape[axis:axis + count])


def _scale(layer, bottoms):
    param = layer.sub("scale_param")
    gamma = _along(param, bottoms[0]) if len(bottoms) == 1 else bottoms[1]
    own = [gamma] if len(bottoms) == 1 else []
    return [bottoms[0]], own + ([gamma] if param.one("bias_term", False) else [])


def _bias(layer, bottoms):
    own = [_along(layer.sub("bias_param"), bottoms[0])] if len(bottoms) == 1 else []
    return [bottoms[0]], own


def _concat(layer, bottoms):
    axis = layer.sub("concat_param").one("axis", 1) % len(bottoms[0])
    shape = list(bottoms[0])
    shape[axis] = sum(bottom[axis] for bottom in bottoms)
    return [tuple(shape)], []


def slice_sizes(layer, size):
    tops, points = len(layer.all("top")), layer.sub("slice_param").all("slice_point")
    if not points:
        return [size // tops] * tops
    return [end - begin for begin, end in zip([0, *points], [*points, size])]


def _slice(layer, bottoms):
    axis = layer.sub("slice_param").one("axis", 1) % len(bottoms[0])
    sizes = slice_sizes(layer, bottoms[0][axis])
    return [(*bottoms[0][:axis], size, *bottoms[0][axis + 1:]) for size in sizes], []


def _reshape(layer, bottoms):
    param, shape = layer.sub("reshape_param"), bottoms[0]
    axis, count = param.one("axis", 0), param.one("num_axes", -1)
    axis = axis if axis >= 0 else len(shape) + axis + 1
    end = len(shape) if count < 0 else axis + count
    dims = [shape[axis + i] if dim == 0 else dim
            for i, dim in enumerate(param.sub("shape").all("dim"))]
    known = math.prod(dim for dim in dims if dim != -1)
    dims = [math.prod(shape[axis:end]) // known if dim == -1 else dim for dim in dims]
    return [(*shape[:axis], *dims, *shape[end:])], []


def _flatten(layer, bottoms):
    param, shape = layer.sub("flatten_param"), bottoms[0]
    axis, end = param.one("axis", 1) % len(shape), param.one("end_axis", -1) % len(shape)
    return [(*shape[:axis], math.prod(shape[axis:end + 1]), *shape[end + 1:])], []


def _same(layer, bottoms):
    return [bottoms[0]] * max(1, len(layer.all("top"))), []


def _number(layer, bottoms):
    return [()] + [bottoms[0]] * (len(layer.all("top")) - 1), []


_RULES = {
    "Convolution": _convolution, "Pooling": _pooling, "InnerProduct": _inner_product,
    "BatchNorm": _batch_norm, "Scale": _scale, "Bias": _bias, "Concat": _concat, "Slice": _slice,
    "Reshape": _reshape, "Flatten": _flatten, "SoftmaxWithLoss": _number, "EuclideanLoss": _number,
    "Accuracy": _number, "ReLU": _same, "ReLU6": _same, "Sigmoid": _same, "TanH": _same,
    "Dropout": _same, "LRN": _same, "Eltwise": _same, "Softmax": _same, "Split": _same,
}
SOURCES = ("Data", "Input", "ImageData", "MemoryData")


def shape_of(layer, bottoms):
    """The shapes of the tops, given those of the bottoms."""
    return _RULES[layer.one("type")](layer, bottoms)[0]


def infer(net, phase, shapes):
    """`shapes`: of the blobs that data layers bring. An Input layer may bring its own."""
    layers = [layer for layer in net.all("layer") if runs(layer, phase)]
    blobs, params = dict(shapes), {}
    for layer in layers:
        if layer.one("type") in SOURCES:
            given = layer.sub("input_param").all("shape")
            for i, top in enumerate(layer.all("top")):
                if given:
                    blobs[top] = tuple(given[min(i, len(given) - 1)].all("dim"))
            continue
        rule = _RULES[layer.one("type")]
        tops, params[layer.one("name")] = rule(layer, [blobs[x] for x in layer.all("bottom")])
        blobs.update(zip(layer.all("top"), tops))
    return Shapes(layers, blobs, params)


def count(shapes):
    """(elements, blobs) of all parameters, BatchNorm's three statistics included."""
    every = [shape for layer in shapes.params.values() for shape in layer]
    return sum(math.prod(shape) for shape in every), len(every)


def macs(shapes):
    """Multiply-adds of one forward pass: convolutions and inner products."""
    total = 0
    for layer in shapes.layers:
        if layer.one("type") in ("Convolution", "InnerProduct"):
            top = shapes.blobs[layer.one("top")]
            weights = shapes.params[layer.one("name")][0]
            # Each weight is used once per image and output pixel.
            total += math.prod(weights) * top[0] * math.prod(top[2:])
    return total
