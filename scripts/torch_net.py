"""A Caffe prototxt as a torch module, with Caffe's semantics.

TorchNet(net, shapes) builds the TRAIN phase: `shapes` are of the blobs that data layers bring.
Parameters are in `blobs[layer name]`, lists in Caffe's order and shapes. forward(inputs) returns
the blobs that nobody reads, and their sum weighted by loss_weight.

It is written to be fast and small, as it is what Shoal is compared with: BatchNorm and Scale are
one call, ReLU and sums work in place where autograd allows, and a blob is dropped after its last
reader.
"""
import collections

import math

import torch
import torch.nn.functional as F

import caffe_shapes

LOSSES = ("SoftmaxWithLoss", "EuclideanLoss")
# Layers whose backward pass does not need their output: it may be overwritten.
OUTPUT_UNUSED = ("Convolution", "InnerProduct", "BatchNorm", "Eltwise")


def _batch_stats(net, name, x):
    """(mean, variance) buffers for F.batch_norm to write to, and how to weigh the new ones."""
    if net.caffe_statistics:  # The batch's own, added to the blobs after the call.
        return torch.zeros_like(x[0, :, 0, 0]), torch.zeros_like(x[0, :, 0, 0]), 1.0
    mean, variance, _ = net.blobs[name]
    return mean, variance, 0.001


def _batch_norm(layer, net, x, gamma=None, beta=None):
    param, name = layer.sub("batch_norm_param"), layer.one("name")
    eps, blobs = param.one("eps", 1e-5), net.blobs[name]
    if param.one("use_global_stats", False):
        factor = 0 if blobs[2].item() == 0 else 1 / blobs[2].item()
        return F.batch_norm(x, blobs[0] * factor, blobs[1] * factor, gamma, beta, False, 0, eps)
    mean, variance, momentum = _batch_stats(net, name, x)
    y = F.batch_norm(x, mean, variance, gamma, beta, True, momentum, eps)
    if net.caffe_statistics:
        keep = param.one("moving_average_fraction", 0.999)
        with torch.no_grad():
            for blob, new in zip(blobs, (mean, variance, 1)):
                blob.mul_(keep).add_(new)
    return y


def _convolution(layer, net, x):
    param = layer.sub("convolution_param")
    _, stride, pad, dilation = caffe_shapes.conv_geometry(param)
    weights, *bias = net.blobs[layer.one("name")]
    return F.conv2d(x, weights, bias[0] if bias else None, stride, pad, dilation,
                    param.one("group", 1))


def _pooling(layer, _, x):
    """Torch's ceil_mode clips the last window as Caffe does; AVE divides alike too."""
    param = layer.sub("pooling_param")
    if param.one("global_pooling", False) and param.one("pool", "MAX") == "AVE":
        return x.mean((2, 3), keepdim=True)
    kernel, stride, pad = caffe_shapes.pool_geometry(param, x.shape[2:])
    ceil = param.one("round_mode", "CEIL") == "CEIL"
    if param.one("pool", "MAX") == "MAX":
        return F.max_pool2d(x, kernel, stride, pad, ceil_mode=ceil)
    return F.avg_pool2d(x, kernel, stride, pad, ceil_mode=ceil, count_include_pad=True)


def _window_sum(x, size):
    """Each channel plus its (size - 1) / 2 neighbours on either side."""
    total = x.clone()
    for distance in range(1, size // 2 + 1):
        total[:, distance:].add_(x[:, :-distance])
        total[:, :-distance].add_(x[:, distance:])
    return total


class FastLrn(torch.autograd.Function):
    """LRN across channels with beta 0.75 in few passes over memory: three to four times as fast
    as F.local_response_norm, which is most of what a torch user can gain by hand."""

    @staticmethod
    def _power(scale):
        root = scale.rsqrt()
        return root.sqrt().mul_(root)

    @staticmethod
    def forward(ctx, x, size, alpha, k):
        scale = _window_sum(x * x, size).mul_(alpha / size).add_(k)
        y = FastLrn._power(scale).mul_(x)
        ctx.save_for_backward(x, scale, y)
        ctx.size, ctx.alpha = size, alpha
        return y

    @staticmethod
    def backward(ctx, gradient):
        x, scale, y = ctx.saved_tensors
        shared = _window_sum((gradient * y).div_(scale), ctx.size)
        shared.mul_(x).mul_(2 * 0.75 * ctx.alpha / ctx.size)
        return FastLrn._power(scale).mul_(gradient).sub_(shared), None, None, None


def _lrn(layer, net, x):
    param = layer.sub("lrn_param")
    size, alpha = param.one("local_size", 5), param.one("alpha", 1.0)
    beta, k = param.one("beta", 0.75), param.one("k", 1.0)
    if param.one("norm_region", "ACROSS_CHANNELS") == "WITHIN_CHANNEL":
        mean = F.avg_pool2d(x * x, size, 1, (size - 1) // 2, count_include_pad=True)
        return x * (1 + alpha * mean).pow(-beta)
    if net.fast_lrn and beta == 0.75:
        return FastLrn.apply(x, size, alpha, k)
    return F.local_response_norm(x, size, alpha, beta, k)


def _inner_product(layer, net, x):
    param = layer.sub("inner_product_param")
    weights, *bias = net.blobs[layer.one("name")]
    weights = weights.t() if param.one("transpose", False) else weights
    return F.linear(x.flatten(param.one("axis", 1)), weights, bias[0] if bias else None)


def _spread(values, x, axis):
    """Parameters along some axes of x, shaped to multiply or add to all of it."""
    axis %= x.dim()
    return values.reshape((1,) * axis + tuple(values.shape)
                          + (1,) * (x.dim() - axis - values.dim()))


def _scale(layer, net, x, factor=None):
    param, blobs = layer.sub("scale_param"), list(net.blobs[layer.one("name")])
    axis = param.one("axis", 1)
    y = x * _spread(blobs.pop(0) if factor is None else factor, x, axis)
    return y + _spread(blobs[0], x, axis) if param.one("bias_term", False) else y


def _bias(layer, net, x, summand=None):
    own = net.blobs[layer.one("name")][0] if summand is None else summand
    return x + _spread(own, x, layer.sub("bias_param").one("axis", 1))


def _relu(layer, net, x):
    slope = layer.sub("relu_param").one("negative_slope", 0)
    if slope:
        return F.leaky_relu(x, slope)
    return F.relu_(x) if net.may_overwrite(layer, 0) else F.relu(x)


def _dropout(layer, net, x):
    ratio = layer.sub("dropout_param").one("dropout_ratio", 0.5)
    return F.dropout(x, ratio) if net.dropout else x


def _eltwise(layer, net, *bottoms):
    param = layer.sub("eltwise_param")
    operation, coefficients = param.one("operation", "SUM"), param.all("coeff")
    plain = operation == "SUM" and not coefficients and len(bottoms) == 2
    if plain and net.may_overwrite(layer, 1):
        return bottoms[1].add_(bottoms[0])
    terms = [c * x for c, x in zip(coefficients, bottoms)] if coefficients else bottoms
    combine = {"SUM": torch.add, "PROD": torch.mul,
               # Not torch.maximum: it gives each of two equals half of the gradient.
               "MAX": lambda a, b: torch.where(a >= b, a, b)}[operation]
    result = terms[0]
    for term in terms[1:]:
        result = combine(result, term)
    return result


def _slice(layer, _, x):
    axis = layer.sub("slice_param").one("axis", 1)
    return x.split(caffe_shapes.slice_sizes(layer, x.shape[axis]), axis)


def _reshape(layer, _, x):
    return x.reshape(caffe_shapes.shape_of(layer, [tuple(x.shape)])[0])


def _softmax_loss(layer, _, scores, labels):
    """Only axis 1. Scores (N, C, ...), as many labels as (N, ...)."""
    param = layer.sub("loss_param")
    ignore = param.one("ignore_label")
    scores = scores.flatten(2) if scores.dim() > 2 else scores.unsqueeze(2)
    labels = labels.reshape(scores.shape[0], scores.shape[2])
    valid = labels.numel() if ignore is None else int((labels != ignore).sum())
    default = "VALID" if param.one("normalize", True) else "BATCH_SIZE"
    by = {"VALID": valid, "FULL": labels.numel(), "BATCH_SIZE": labels.shape[0],
          "NONE": 1}[param.one("normalization", default)]
    each = F.cross_entropy(scores, labels, reduction="none",
                           ignore_index=-100 if ignore is None else ignore)
    # Caffe's loss of a probability below FLT_MIN is that of FLT_MIN; its gradient does not know.
    most = -math.log(torch.finfo(torch.float32).tiny)
    total = each.sum() + (each.clamp(max=most) - each).sum().detach()
    return total / max(by, 1)


def _euclidean(_layer, _net, a, b):
    return (a - b).square().sum() / (2 * a.shape[0])


_OPS = {
    "Convolution": _convolution, "Pooling": _pooling, "LRN": _lrn, "BatchNorm": _batch_norm,
    "InnerProduct": _inner_product, "Scale": _scale, "Bias": _bias, "ReLU": _relu,
    "Dropout": _dropout, "Eltwise": _eltwise, "Slice": _slice, "Reshape": _reshape,
    "Flatten": _reshape, "SoftmaxWithLoss": _softmax_loss, "EuclideanLoss": _euclidean,
    "ReLU6": lambda _layer, _net, x: F.relu6(x),
    "Sigmoid": lambda _layer, _net, x: torch.sigmoid(x),
    "TanH": lambda _layer, _net, x: torch.tanh(x),
    "Concat": lambda layer, _, *x: torch.cat(x, layer.sub("concat_param").one("axis", 1)),
    "Softmax": lambda layer, _, x: F.softmax(x, layer.sub("softmax_param").one("axis", 1)),
    "Split": lambda layer, _, x: [x] * len(layer.all("top")),
}


class TorchNet(torch.nn.Module):
    """dropout: False makes Dropout do nothing. caffe_statistics: BatchNorm's blobs are Caffe's
    sums, at some cost; otherwise they are torch's running averages. fast_lrn: FastLrn above
    instead of the library's."""

    def __init__(self, net, shapes, dtype=torch.float32, dropout=True, caffe_statistics=False,
                 fast_lrn=False):
        super().__init__()
        self.fast_lrn = fast_lrn
        self.shapes = caffe_shapes.infer(net, "TRAIN", shapes)
        self.dropout = dropout
        self.caffe_statistics = caffe_statistics
        self.layers = [layer for layer in self.shapes.layers
                       if layer.one("type") not in caffe_shapes.SOURCES]
        self.shared = {}
        self.blobs = {layer.one("name"): self._make_blobs(layer, dtype) for layer in self.layers}
        self.fused = self._fused()
        self._find_readers()

    def _make_blobs(self, layer, dtype):
        shapes = self.shapes.params[layer.one("name")]
        if layer.one("type") == "BatchNorm":  # Statistics, not learned.
            return [torch.zeros(shape, dtype=dtype) for shape in shapes]
        shared = [param.one("name") for param in layer.all("param")] + [None] * len(shapes)
        return [self._make_parameter(f"{layer.one('name').replace('.', '_')}:{i}", share, shape,
                                     dtype) for i, (share, shape) in enumerate(zip(shared, shapes))]

    def _make_parameter(self, name, share, shape, dtype):
        """share: the name under which several layers have the same parameter, or None."""
        if share in self.shared:
            return self.shared[share]
        value = torch.nn.Parameter(torch.zeros(shape, dtype=dtype))
        self.register_parameter(name, value)
        if share:
            self.shared[share] = value
        return value

    def _fused(self):
        """Index of a BatchNorm -> the Scale that follows it in place."""
        found = {}
        for i, (first, second) in enumerate(zip(self.layers, self.layers[1:])):
            if (first.one("type"), second.one("type")) == ("BatchNorm", "Scale") and (
                    first.all("top") == second.all("bottom") == second.all("top")
                    and second.sub("scale_param").one("bias_term", False)):
                found[i] = second
        return found

    def _find_readers(self):
        """Which layer reads each version of a blob last, and what wrote it."""
        self.last_reader, self.readers, self.writer = {}, collections.Counter(), {}
        writer_of = {}
        for i, layer in enumerate(self.layers):
            for bottom in layer.all("bottom"):
                version = (bottom, writer_of.get(bottom, -1))
                self.last_reader[version] = i
                self.readers[version] += 1
                self.writer.setdefault((layer.one("name"), bottom), version)
            for top in layer.all("top"):
                writer_of[top] = i
        self.ends = [top for top in writer_of if (top, writer_of[top]) not in self.last_reader]
        self.drop_after = collections.defaultdict(list)
        for (blob, _), i in self.last_reader.items():
            if blob not in self.layers[i].all("top"):
                self.drop_after[i].append(blob)

    def may_overwrite(self, layer, index):
        """Whether a bottom has no other reader and its writer's gradient does not need it."""
        blob, writer = self.writer[(layer.one("name"), layer.all("bottom")[index])]
        if writer < 0 or self.readers[(blob, writer)] > 1:
            return False
        kind = self.layers[writer].one("type")
        fused = kind == "Scale" and writer - 1 in self.fused
        return fused or kind in OUTPUT_UNUSED

    def _run(self, i, bottoms):
        layer = self.layers[i]
        if i in self.fused:
            scale = self.blobs[self.fused[i].one("name")]
            return _batch_norm(layer, self, bottoms[0], scale[0], scale[1])
        if i - 1 in self.fused:
            return bottoms[0]
        return _OPS[layer.one("type")](layer, self, *bottoms)

    def forward(self, inputs, keep=()):
        """keep: blobs to return besides those that nobody reads."""
        live, loss = dict(inputs), 0
        for i, layer in enumerate(self.layers):
            tops = self._run(i, [live[bottom] for bottom in layer.all("bottom")])
            tops = tops if isinstance(tops, (list, tuple)) else [tops]
            live.update(zip(layer.all("top"), tops))
            weight = layer.one("loss_weight", 1 if layer.one("type") in LOSSES else 0)
            if weight:
                loss = loss + weight * tops[0].sum()
            for blob in self.drop_after[i]:
                if blob not in keep:
                    live.pop(blob, None)
        return {top: live[top] for top in (*self.ends, *keep)}, loss
