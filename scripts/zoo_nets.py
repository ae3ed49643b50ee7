"""The networks of the zoo, one function per family: graphs as their authors published them.

Layer names are the published ones, so that published weights load by name. A Net collects layers;
each method appends one (or a usual group) and returns the name of its top.
"""
from prototxt import Message, Name

WEIGHT = {"lr_mult": 1, "decay_mult": 1}
BIAS = {"lr_mult": 2, "decay_mult": 0}
FROZEN = {"lr_mult": 0, "decay_mult": 0}  # BatchNorm's statistics are not learned.

XAVIER = {"type": "xavier"}
MSRA = {"type": "msra"}


def gaussian(std):
    return {"type": "gaussian", "std": std}


def constant(value):
    return {"type": "constant", "value": value}


def message(fields):
    """A dict (values: scalar, dict or list) as a Message; None is left out."""
    result = Message()
    for name, value in fields.items():
        values = value if isinstance(value, list) else [value]
        kept = [message(v) if isinstance(v, dict) else v for v in values if v is not None]
        if kept:
            result[name] = kept
    return result


class Net:
    def __init__(self, name):
        self.name = name
        self.layers = []

    def add(self, type_, name, bottoms, tops=None, **fields):
        bottoms = bottoms if isinstance(bottoms, list) else [bottoms]
        tops = [name] if tops is None else tops if isinstance(tops, list) else [tops]
        self.layers.append(message({"name": name, "type": type_, "bottom": bottoms, "top": tops,
                                    **fields}))
        return tops[0]

    def data(self, batch, test_batch, source, transform, mirror=True, name="data"):
        for phase, size, kind in (("TRAIN", batch, "train"), ("TEST", test_batch, "test")):
            flip = {"mirror": True} if mirror and phase == "TRAIN" else {}
            self.add("Data", name, [], ["data", "label"], include={"phase": Name(phase)},
                     transform_param={**flip, **transform},
                     data_param={"source": source[kind], "batch_size": size,
                                 "backend": Name("LMDB")})
        return "data"

    def conv(self, name, bottom, outputs, kernel, filler, bias=None, params=None, top=None,
             stride=1, pad=0, group=1):
        """kernel and pad: a number, or (h, w). bias: its filler; None for none."""
        shape = {"num_output": outputs, "bias_term": None if bias is not None else False}
        if isinstance(kernel, tuple):
            shape |= {"pad_h": pad[0], "pad_w": pad[1]}
            shape |= {"kernel_h": kernel[0], "kernel_w": kernel[1]}
        else:
            shape |= {"pad": pad or None, "kernel_size": kernel}
        shape |= {"group": group if group > 1 else None, "stride": stride if stride > 1 else None}
        shape |= {"weight_filler": filler, "bias_filler": bias or None}
        return self.add("Convolution", name, bottom, top, param=params or [],
                        convolution_param=shape)

    def fc(self, name, bottom, outputs, filler, bias, params):
        return self.add("InnerProduct", name, bottom, param=params, inner_product_param={
            "num_output": outputs, "weight_filler": filler, "bias_filler": bias})

    def relu(self, name, blob):
        return self.add("ReLU", name, blob, blob)

    def dropout(self, name, blob, ratio, top=None):
        return self.add("Dropout", name, blob, top or blob, dropout_param={"dropout_ratio": ratio})

    def pool(self, name, bottom, method, kernel, stride=1, pad=0):
        return self.add("Pooling", name, bottom, pooling_param={
            "pool": Name(method), "kernel_size": kernel, "stride": stride, "pad": pad or None})

    def global_pool(self, name, bottom):
        return self.add("Pooling", name, bottom,
                        pooling_param={"pool": Name("AVE"), "global_pooling": True})

    def lrn(self, name, bottom):
        return self.add("LRN", name, bottom,
                        lrn_param={"local_size": 5, "alpha": 0.0001, "beta": 0.75})

    def norm(self, names, bottom, top=None, eps=None, average=None, scale_params=None):
        """BatchNorm and Scale; names: of the two. Never use_global_stats: this is to train."""
        options = {"moving_average_fraction": average, "eps": eps}
        options = options if average or eps else None
        top = self.add("BatchNorm", names[0], bottom, top or bottom, param=[FROZEN] * 3,
                       batch_norm_param=options)
        return self.add("Scale", names[1], top, top, param=scale_params or [],
                        scale_param={"bias_term": True})

    def concat(self, name, bottoms):
        return self.add("Concat", name, bottoms)

    def eltwise(self, name, bottoms):
        return self.add("Eltwise", name, bottoms)

    def loss(self, bottom, name="loss", top=None, weight=None):
        self.add("SoftmaxWithLoss", name, [bottom, "label"], top, loss_weight=weight)

    def accuracy(self, bottom, top1="accuracy", top5="accuracy_top5"):
        test = {"phase": Name("TEST")}
        self.add("Accuracy", top1, [bottom, "label"], include=test)
        if top5:
            self.add("Accuracy", top5, [bottom, "label"], include=test,
                     accuracy_param={"top_k": 5})

    def score(self, bottom):
        self.loss(bottom)
        self.accuracy(bottom)


ILSVRC = {"train": "data/ilsvrc12_train_lmdb", "test": "data/ilsvrc12_val_lmdb"}
# A crop of 299 needs larger images than the usual 256.
ILSVRC_320 = {"train": "data/ilsvrc12_320_train_lmdb", "test": "data/ilsvrc12_320_val_lmdb"}
MNIST = {"train": "mnist_train_lmdb", "test": "mnist_test_lmdb"}
CIFAR = {"train": "cifar10_train_lmdb", "test": "cifar10_test_lmdb"}
IMAGENET_MEAN = {"mean_value": [104, 117, 123]}


def alexnet():
    net = Net("AlexNet")
    net.data(32, 50, ILSVRC,
             {"crop_size": 227, "mean_file": "data/ilsvrc12_mean.binaryproto"})
    both = [WEIGHT, BIAS]

    def conv(number, bottom, outputs, kernel, bias, **shape):
        top = net.conv(f"conv{number}", bottom, outputs, kernel, gaussian(0.01), constant(bias),
                       both, **shape)
        return net.relu(f"relu{number}", top)

    def fc(number, bottom):
        top = net.fc(f"fc{number}", bottom, 4096, gaussian(0.005), constant(0.1), both)
        return net.dropout(f"drop{number}", net.relu(f"relu{number}", top), 0.5)

    top = net.lrn("norm1", conv(1, "data", 96, 11, 0, stride=4))
    top = conv(2, net.pool("pool1", top, "MAX", 3, 2), 256, 5, 0.1, pad=2, group=2)
    top = net.pool("pool2", net.lrn("norm2", top), "MAX", 3, 2)
    top = conv(3, top, 384, 3, 0, pad=1)
    top = conv(4, top, 384, 3, 0.1, pad=1, group=2)
    top = net.pool("pool5", conv(5, top, 256, 3, 0.1, pad=1, group=2), "MAX", 3, 2)
    top = fc(7, fc(6, top))
    net.score(net.fc("fc8", top, 1000, gaussian(0.01), constant(0), both))
    return net


def _google_conv(net, module, kind, bottom, outputs, kernel, **shape):
    """Names: module/kind, module/relu_kind (conv1/7x7_s2 drops the stride in the latter)."""
    top = net.conv(f"{module}/{kind}", bottom, outputs, kernel, XAVIER, constant(0.2),
                   [WEIGHT, BIAS], **shape)
    return net.relu(f"{module}/relu_{kind.removesuffix('_s2')}", top)


def _google_inception(net, name, bottom, n1, n3_reduce, n3, n5_reduce, n5, n_pool):
    module = "inception_" + name
    branch1 = _google_conv(net, module, "1x1", bottom, n1, 1)
    reduce3 = _google_conv(net, module, "3x3_reduce", bottom, n3_reduce, 1)
    branch3 = _google_conv(net, module, "3x3", reduce3, n3, 3, pad=1)
    reduce5 = _google_conv(net, module, "5x5_reduce", bottom, n5_reduce, 1)
    branch5 = _google_conv(net, module, "5x5", reduce5, n5, 5, pad=2)
    pooled = net.pool(module + "/pool", bottom, "MAX", 3, 1, 1)
    branch_pool = _google_conv(net, module, "pool_proj", pooled, n_pool, 1)
    return net.concat(module + "/output", [branch1, branch3, branch5, branch_pool])


def _google_head(net, name, bottom):
    """An auxiliary classifier: its loss counts 0.3."""
    both = [WEIGHT, BIAS]
    pooled = net.pool(name + "/ave_pool", bottom, "AVE", 5, 3)
    top = _google_conv(net, name, "conv", pooled, 128, 1)
    top = net.relu(name + "/relu_fc",
                   net.fc(name + "/fc", top, 1024, XAVIER, constant(0.2), both))
    net.dropout(name + "/drop_fc", top, 0.7)
    top = net.fc(name + "/classifier", top, 1000, XAVIER, constant(0), both)
    # Published: layer loss1/loss has the top loss1/loss1.
    net.loss(top, name + "/loss", f"{name}/{name}", 0.3)
    net.accuracy(top, name + "/top-1", name + "/top-5")


GOOGLE_MODULES = {
    "3a": (64, 96, 128, 16, 32, 32), "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64), "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64), "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128), "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}


def googlenet(heads=False):
    net = Net("GoogLeNet")
    net.data(16, 50, ILSVRC, {"crop_size": 224, **IMAGENET_MEAN})
    top = _google_conv(net, "conv1", "7x7_s2", "data", 64, 7, stride=2, pad=3)
    top = net.lrn("pool1/norm1", net.pool("pool1/3x3_s2", top, "MAX", 3, 2))
    top = _google_conv(net, "conv2", "3x3_reduce", top, 64, 1)
    top = net.lrn("conv2/norm2", _google_conv(net, "conv2", "3x3", top, 192, 3, pad=1))
    top = net.pool("pool2/3x3_s2", top, "MAX", 3, 2)
    for name, outputs in GOOGLE_MODULES.items():
        if name in ("4a", "5a"):
            top = net.pool(f"pool{int(name[0]) - 1}/3x3_s2", top, "MAX", 3, 2)
        top = _google_inception(net, name, top, *outputs)
        if heads and name in ("4a", "4d"):
            _google_head(net, "loss1" if name == "4a" else "loss2", top)
    top = net.pool("pool5/7x7_s1", top, "AVE", 7, 1)
    net.dropout("pool5/drop_7x7_s1", top, 0.4)
    top = net.fc("loss3/classifier", top, 1000, XAVIER, constant(0), [WEIGHT, BIAS])
    net.loss(top, "loss3/loss3", weight=1)
    net.accuracy(top, "loss3/top-1", "loss3/top-5")
    return net


def _fire(net, number, bottom, squeeze, expand):
    name = f"fire{number}"

    def conv(kind, blob, outputs, kernel, pad=0):
        top = net.conv(f"{name}/{kind}", blob, outputs, kernel, XAVIER, {}, pad=pad)
        return net.relu(f"{name}/relu_{kind}", top)

    squeezed = conv("squeeze1x1", bottom, squeeze, 1)
    return net.concat(name + "/concat", [conv("expand1x1", squeezed, expand, 1),
                                         conv("expand3x3", squeezed, expand, 3, 1)])


def squeezenet(version):
    """The versions differ in the first layer, in where they pool and in the last one's padding."""
    first = version == "1.0"
    net = Net(f"SqueezeNet_v{version}")
    net.data(16 if first else 32, 25, ILSVRC, {"crop_size": 227, **IMAGENET_MEAN}, mirror=False)
    top = net.conv("conv1", "data", 96 if first else 64, 7 if first else 3, XAVIER, {}, stride=2)
    top = net.pool("pool1", net.relu("relu_conv1", top), "MAX", 3, 2)
    widths = [(16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256)]
    for number, (squeeze, expand) in enumerate(widths, start=2):
        top = _fire(net, number, top, squeeze, expand)
        if number in ((4, 8) if first else (3, 5)):
            top = net.pool(f"pool{number}", top, "MAX", 3, 2)
    net.dropout("drop9", top, 0.5)
    top = net.conv("conv10", top, 1000, 1, gaussian(0.01), {}, pad=1 if first else 0)
    net.score(net.global_pool("pool10", net.relu("relu_conv10", top)))
    return net


MOBILE_TRANSFORM = {"scale": 0.017, "crop_size": 224, "mean_value": [103.94, 116.78, 123.68]}
NO_DECAY = {"lr_mult": 1, "decay_mult": 0}


def _mobile_conv(net, name, bottom, outputs, kernel, relu, own_top, **shape):
    """Convolution, BatchNorm, Scale and, if named, ReLU."""
    top = net.conv(name, bottom, outputs, kernel, MSRA, None, [WEIGHT], **shape)
    top = net.norm((name + "/bn", name + "/scale"), top, name + "/bn" if own_top else None,
                   eps=1e-5, scale_params=[NO_DECAY] * 2)
    return net.relu(relu, top) if relu else top


def _mobile_classifier(net, bottom):
    """A 1x1 convolution, as published."""
    top = net.conv("fc7", net.global_pool("pool6", bottom), 1000, 1, MSRA, constant(0),
                   [WEIGHT, BIAS])
    net.score(top)


def mobilenet_v1():
    net = Net("MobileNet_v1")
    net.data(8, 25, ILSVRC, MOBILE_TRANSFORM)

    def conv(kind, number, bottom, outputs, kernel, **shape):
        return _mobile_conv(net, f"conv{number}{kind}", bottom, outputs, kernel,
                            f"relu{number}{kind}", False, **shape)

    top, channels = conv("", "1", "data", 32, 3, stride=2, pad=1), 32
    stages = [("2_1", 64, 1), ("2_2", 128, 2), ("3_1", 128, 1), ("3_2", 256, 2), ("4_1", 256, 1),
              ("4_2", 512, 2), *((f"5_{i}", 512, 1) for i in range(1, 6)), ("5_6", 1024, 2),
              ("6", 1024, 1)]
    for number, outputs, stride in stages:
        top = conv("/dw", number, top, channels, 3, stride=stride, pad=1, group=channels)
        top, channels = conv("/sep", number, top, outputs, 1), outputs
    _mobile_classifier(net, top)
    return net


def _bottleneck(net, number, bottom, channels, expansion, outputs, stride):
    """MobileNet-v2's: widen, filter each channel, narrow without ReLU."""
    wide = channels * expansion
    top = _mobile_conv(net, f"conv{number}/expand", bottom, wide, 1, f"relu{number}/expand", True)
    top = _mobile_conv(net, f"conv{number}/dwise", top, wide, 3, f"relu{number}/dwise", True,
                       stride=stride, pad=1, group=wide)
    top = _mobile_conv(net, f"conv{number}/linear", top, outputs, 1, None, True)
    if stride == 1 and channels == outputs:
        return net.eltwise("block_" + number, [bottom, top])
    return top


def mobilenet_v2():
    net = Net("MobileNet_v2")
    net.data(8, 25, ILSVRC, MOBILE_TRANSFORM)
    # (name, expansion, outputs, stride). The published Caffe net halves the maps at 4_7, not at
    # 4_3 as the article does: 0.43 instead of 0.30 GMAC.
    top = _mobile_conv(net, "conv1", "data", 32, 3, "relu1", True, stride=2, pad=1)
    stages = [("2_1", 1, 16, 1), ("2_2", 6, 24, 2), ("3_1", 6, 24, 1), ("3_2", 6, 32, 2),
              ("4_1", 6, 32, 1), ("4_2", 6, 32, 1), ("4_3", 6, 64, 1), ("4_4", 6, 64, 1),
              ("4_5", 6, 64, 1), ("4_6", 6, 64, 1), ("4_7", 6, 96, 2), ("5_1", 6, 96, 1),
              ("5_2", 6, 96, 1), ("5_3", 6, 160, 2), ("6_1", 6, 160, 1), ("6_2", 6, 160, 1),
              ("6_3", 6, 320, 1)]
    channels = 32
    for number, expansion, outputs, stride in stages:
        top = _bottleneck(net, number, top, channels, expansion, outputs, stride)
        channels = outputs
    _mobile_classifier(net, _mobile_conv(net, "conv6_4", top, 1280, 1, "relu6_4", True))
    return net


def _residual_conv(net, name, bottom, outputs, kernel, relu, **shape):
    """Names: res2a_branch1, bn2a_branch1, scale2a_branch1."""
    top = net.conv("res" + name, bottom, outputs, kernel, MSRA, None, [WEIGHT], **shape)
    net.norm(("bn" + name, "scale" + name), top)
    return net.relu(f"res{name}_relu", top) if relu else top


def _residual_block(net, name, bottom, width, stride, project):
    """The stride is on the first 1x1, as published for Caffe."""
    shortcut = bottom
    if project:
        shortcut = _residual_conv(net, name + "_branch1", bottom, 4 * width, 1, False,
                                  stride=stride)
    top = _residual_conv(net, name + "_branch2a", bottom, width, 1, True, stride=stride)
    top = _residual_conv(net, name + "_branch2b", top, width, 3, True, pad=1)
    top = _residual_conv(net, name + "_branch2c", top, 4 * width, 1, False)
    return net.relu(f"res{name}_relu", net.eltwise("res" + name, [shortcut, top]))


def resnet(depth):
    blocks = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}[depth]
    net = Net(f"ResNet-{depth}")
    net.data(4 if depth == 50 else 2, 25, ILSVRC, {"crop_size": 224, **IMAGENET_MEAN})
    # Only the published ResNet-50 has a bias here.
    has_bias = depth == 50
    top = net.conv("conv1", "data", 64, 7, MSRA, constant(0) if has_bias else None,
                   [WEIGHT, BIAS] if has_bias else [WEIGHT], stride=2, pad=3)
    net.norm(("bn_conv1", "scale_conv1"), top)
    top = net.pool("pool1", net.relu("conv1_relu", top), "MAX", 3, 2)
    for stage, count in enumerate(blocks, start=2):
        for block in range(count):
            # Letters; long stages of the deep ones are numbered: 4a, 4b1 ... 4b22.
            numbered = depth > 50 and stage in (3, 4) and block > 0
            name = f"{stage}b{block}" if numbered else f"{stage}{'abcdef'[block]}"
            stride = 2 if block == 0 and stage > 2 else 1
            top = _residual_block(net, name, top, 64 << (stage - 2), stride, block == 0)
    top = net.pool("pool5", top, "AVE", 7, 1)
    net.score(net.fc("fc1000", top, 1000, MSRA, constant(0), [WEIGHT, BIAS]))
    return net


def _small_block(net, name, bottom, width, stride, project):
    """Two 3x3 convolutions; where the shape changes the shortcut is a 1x1 projection."""
    def conv(suffix, blob, kernel, relu, stride=1):
        full = f"{name}_{suffix}"
        top = net.conv(full, blob, width, kernel, MSRA, None, [WEIGHT], stride=stride,
                       pad=kernel // 2)
        net.norm((full + "_bn", full + "_scale"), top, average=0.95)
        return net.relu(full + "_relu", top) if relu else top

    shortcut = conv("proj", bottom, 1, False, stride) if project else bottom
    top = conv("conv2", conv("conv1", bottom, 3, True, stride), 3, False)
    return net.relu(name + "_relu", net.eltwise(name, [shortcut, top]))


def resnet20():
    net = Net("ResNet-20")
    # Caffe cannot pad before it crops: random crops of 28 stand in for that augmentation.
    net.data(128, 100, CIFAR, {"scale": 0.0157, "crop_size": 28, "mean_value": 120.7})
    top = net.conv("conv1", "data", 16, 3, MSRA, None, [WEIGHT], pad=1)
    net.norm(("conv1_bn", "conv1_scale"), top, average=0.95)
    net.relu("conv1_relu", top)
    for stage in range(3):
        for block in range(3):
            first = stage > 0 and block == 0
            top = _small_block(net, f"res{stage + 1}_{block + 1}", top, 16 << stage,
                               2 if first else 1, first)
    top = net.global_pool("pool", top)
    top = net.fc("fc10", top, 10, MSRA, constant(0), [WEIGHT, BIAS])
    net.loss(top)
    net.accuracy(top, top5=None)
    return net


ONCE_TWICE = [{"lr_mult": 1}, {"lr_mult": 2}]


def lenet():
    net = Net("LeNet")
    net.data(64, 100, MNIST, {"scale": 0.00390625}, mirror=False, name="mnist")
    top = net.conv("conv1", "data", 20, 5, XAVIER, constant(0), ONCE_TWICE)
    top = net.conv("conv2", net.pool("pool1", top, "MAX", 2, 2), 50, 5, XAVIER, constant(0),
                   ONCE_TWICE)
    top = net.pool("pool2", top, "MAX", 2, 2)
    top = net.relu("relu1", net.fc("ip1", top, 500, XAVIER, constant(0), ONCE_TWICE))
    top = net.fc("ip2", top, 10, XAVIER, constant(0), ONCE_TWICE)
    net.loss(top)
    net.accuracy(top, top5=None)
    return net


def cifar10_quick():
    net = Net("CIFAR10_quick")
    # One mean for the three channels: right whether the set holds RGB or BGR.
    net.data(100, 100, CIFAR, {"mean_value": 120.7}, mirror=False, name="cifar")

    def conv(number, bottom, outputs, std):
        return net.conv(f"conv{number}", bottom, outputs, 5, gaussian(std), constant(0),
                        ONCE_TWICE, pad=2)

    top = net.relu("relu1", net.pool("pool1", conv(1, "data", 32, 0.0001), "MAX", 3, 2))
    top = net.pool("pool2", net.relu("relu2", conv(2, top, 32, 0.01)), "AVE", 3, 2)
    top = net.pool("pool3", net.relu("relu3", conv(3, top, 64, 0.01)), "AVE", 3, 2)
    top = net.fc("ip1", top, 64, gaussian(0.1), constant(0), ONCE_TWICE)
    top = net.fc("ip2", top, 10, gaussian(0.1), constant(0), ONCE_TWICE)
    net.loss(top)
    net.accuracy(top, top5=None)
    return net
