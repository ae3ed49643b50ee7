"""Inception-v3 for the zoo: 94 convolutions with BatchNorm, in three kinds of modules."""
from zoo_nets import BIAS, ILSVRC_320, WEIGHT, XAVIER, Net, constant


class _Builder:
    """Convolution, BatchNorm, Scale and ReLU as one step; names start with the module's."""

    def __init__(self, net):
        self.net = net

    def conv(self, name, bottom, outputs, kernel, stride=1, pad=0):
        top = self.net.conv(name, bottom, outputs, kernel, XAVIER, None, [WEIGHT], stride=stride,
                            pad=pad)
        self.net.norm((name + "_bn", name + "_scale"), top, eps=0.001)
        return self.net.relu(name + "_relu", top)

    def row(self, name, bottom, outputs, width):
        return self.conv(name, bottom, outputs, (1, width), pad=(0, width // 2))

    def column(self, name, bottom, outputs, height):
        return self.conv(name, bottom, outputs, (height, 1), pad=(height // 2, 0))

    def stem(self):
        top = self.conv("conv1_3x3_s2", "data", 32, 3, stride=2)
        top = self.conv("conv2_3x3_s1", top, 32, 3)
        top = self.conv("conv3_3x3_s1", top, 64, 3, pad=1)
        top = self.net.pool("pool1_3x3_s2", top, "MAX", 3, 2)
        top = self.conv("conv4_3x3_reduce", top, 80, 1)
        top = self.conv("conv4_3x3", top, 192, 3)
        return self.net.pool("pool2_3x3_s2", top, "MAX", 3, 2)

    def module_a(self, number, bottom, pool_outputs):
        name = f"inception_a{number}_"
        one = self.conv(name + "1x1", bottom, 64, 1)
        five = self.conv(name + "5x5_reduce", bottom, 48, 1)
        five = self.conv(name + "5x5", five, 64, 5, pad=2)
        three = self.conv(name + "3x3_reduce", bottom, 64, 1)
        three = self.conv(name + "3x3_1", three, 96, 3, pad=1)
        three = self.conv(name + "3x3_2", three, 96, 3, pad=1)
        pooled = self.net.pool(name + "pool", bottom, "AVE", 3, 1, 1)
        pooled = self.conv(name + "pool_proj", pooled, pool_outputs, 1)
        return self.net.concat(name + "output", [one, five, three, pooled])

    def reduction_a(self, bottom):
        name = "reduction_a_"
        one = self.conv(name + "3x3", bottom, 384, 3, stride=2)
        two = self.conv(name + "3x3_2_reduce", bottom, 64, 1)
        two = self.conv(name + "3x3_2", two, 96, 3, pad=1)
        two = self.conv(name + "3x3_3", two, 96, 3, stride=2)
        pooled = self.net.pool(name + "pool", bottom, "MAX", 3, 2)
        return self.net.concat(name + "concat", [one, two, pooled])

    def module_b(self, number, bottom, width):
        name = f"inception_b{number}_"
        one = self.conv(name + "1x1_2", bottom, 192, 1)
        two = self.conv(name + "1x7_reduce", bottom, width, 1)
        two = self.row(name + "1x7", two, width, 7)
        two = self.column(name + "7x1", two, 192, 7)
        four = self.conv(name + "7x1_reduce", bottom, width, 1)
        four = self.column(name + "7x1_2", four, width, 7)
        four = self.row(name + "1x7_2", four, width, 7)
        four = self.column(name + "7x1_3", four, width, 7)
        four = self.row(name + "1x7_3", four, 192, 7)
        pooled = self.net.pool(name + "pool_ave", bottom, "AVE", 3, 1, 1)
        pooled = self.conv(name + "1x1", pooled, 192, 1)
        return self.net.concat(name + "concat", [one, two, four, pooled])

    def reduction_b(self, bottom):
        name = "reduction_b_"
        one = self.conv(name + "3x3_reduce", bottom, 192, 1)
        one = self.conv(name + "3x3", one, 320, 3, stride=2)
        two = self.conv(name + "1x7_reduce", bottom, 192, 1)
        two = self.row(name + "1x7", two, 192, 7)
        two = self.column(name + "7x1", two, 192, 7)
        two = self.conv(name + "3x3_2", two, 192, 3, stride=2)
        pooled = self.net.pool(name + "pool", bottom, "MAX", 3, 2)
        return self.net.concat(name + "concat", [one, two, pooled])

    def module_c(self, number, bottom, pooling):
        name = f"inception_c{number}_"
        one = self.conv(name + "1x1_2", bottom, 320, 1)
        two = self.conv(name + "1x3_reduce", bottom, 384, 1)
        two_row = self.row(name + "1x3", two, 384, 3)
        two_column = self.column(name + "3x1", two, 384, 3)
        three = self.conv(name + "3x3_reduce", bottom, 448, 1)
        three = self.conv(name + "3x3", three, 384, 3, pad=1)
        three_row = self.row(name + "1x3_2", three, 384, 3)
        three_column = self.column(name + "3x1_2", three, 384, 3)
        pooled = self.net.pool(name + "pool", bottom, pooling, 3, 1, 1)
        pooled = self.conv(name + "1x1", pooled, 192, 1)
        return self.net.concat(name + "concat", [one, two_row, two_column, three_row,
                                                 three_column, pooled])

    def head(self, bottom):
        """The auxiliary classifier on the 17x17 maps: its loss counts 0.4."""
        top = self.net.pool("aux_pool", bottom, "AVE", 5, 3)
        top = self.conv("aux_1x1", top, 128, 1)
        top = self.conv("aux_5x5", top, 768, 5)
        top = self.net.fc("aux_classifier", top, 1000, XAVIER, constant(0), [WEIGHT, BIAS])
        self.net.loss(top, "aux_loss", weight=0.4)
        self.net.accuracy(top, "aux_accuracy", "aux_accuracy_top5")


def inception_v3(heads=False):
    net = Net("Inception-v3")
    net.data(4, 25, ILSVRC_320, {"scale": 0.0078125, "crop_size": 299, "mean_value": 128})
    build = _Builder(net)
    top = build.stem()
    for number, pool_outputs in enumerate((32, 64, 64), start=1):
        top = build.module_a(number, top, pool_outputs)
    top = build.reduction_a(top)
    for number, width in enumerate((128, 160, 160, 192), start=1):
        top = build.module_b(number, top, width)
    if heads:
        build.head(top)
    top = build.reduction_b(top)
    top = build.module_c(1, top, "AVE")
    top = build.module_c(2, top, "MAX")  # Published so: the weights were trained with it.
    top = net.global_pool("pool_8x8_s1", top)
    top = net.dropout("pool_8x8_s1_drop", top, 0.2, "pool_8x8_s1_drop")
    net.score(net.fc("classifier", top, 1000, XAVIER, constant(0), [WEIGHT, BIAS]))
    return net
