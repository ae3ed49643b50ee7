"""Small networks for ops.json: one layer (or a few) each, made complete by losses.

CASES maps a name to (inputs, layers): inputs are (blob, shape) or (blob, shape, classes) for
labels; layers are prototxt. A top that nobody reads gets a EuclideanLoss against an input named
target_<top>, so that a case is a whole network that any engine can run.
"""


def layer(type_, name, bottoms, tops=None, body=""):
    bottoms = "".join(f' bottom: "{blob}"' for blob in bottoms.split())
    tops = "".join(f' top: "{blob}"' for blob in (tops or name).split())
    return f'layer {{ name: "{name}" type: "{type_}"{bottoms}{tops} {body} }}\n'


def conv(body, shape=(2, 4, 7, 6)):
    return [("data", shape)], layer("Convolution", "conv", "data",
                                    body=f"convolution_param {{ {body} }}")


def pool(body, shape=(2, 2, 7, 6)):
    return [("data", shape)], layer("Pooling", "pool", "data", body=f"pooling_param {{ {body} }}")


def single(type_, body="", shape=(2, 3, 4, 5), name="top"):
    return [("data", shape)], layer(type_, name, "data", body=body)


def eltwise(body, count=2):
    names = ["data", "data2", "data3"][:count]
    return ([(name, (2, 3, 3, 4)) for name in names],
            layer("Eltwise", "sum", " ".join(names), body=f"eltwise_param {{ {body} }}"))


def softmax_loss(body="", scores=(4, 5), labels=(4,), classes=5):
    return ([("data", scores), ("label", labels, classes)],
            layer("SoftmaxWithLoss", "loss", "data label", body=body))


def two_bottoms(type_, body, shapes):
    return ([("data", shapes[0]), ("data2", shapes[1])],
            layer(type_, "top", "data data2", body=body))


CONVOLUTIONS = {
    "conv_3x3_pad1": conv("num_output: 5 kernel_size: 3 pad: 1"),
    "conv_3x3_valid": conv("num_output: 5 kernel_size: 3"),
    "conv_3x3_stride2_pad1": conv("num_output: 6 kernel_size: 3 stride: 2 pad: 1"),
    "conv_3x3_wide": conv("num_output: 16 kernel_size: 3 pad: 1", (1, 8, 9, 10)),
    "conv_5x5_pad2": conv("num_output: 3 kernel_size: 5 pad: 2"),
    "conv_7x7_stride2_pad3": conv("num_output: 8 kernel_size: 7 stride: 2 pad: 3", (1, 3, 12, 11)),
    "conv_11x11_stride4": conv("num_output: 4 kernel_size: 11 stride: 4", (1, 3, 23, 20)),
    "conv_1x1": conv("num_output: 7 kernel_size: 1"),
    "conv_1x1_stride2": conv("num_output: 7 kernel_size: 1 stride: 2"),
    "conv_1x1_pad1": conv("num_output: 3 kernel_size: 1 pad: 1"),
    "conv_no_bias": conv("num_output: 5 kernel_size: 3 pad: 1 bias_term: false"),
    "conv_1x7": conv("num_output: 3 kernel_h: 1 kernel_w: 7 pad_h: 0 pad_w: 3"),
    "conv_7x1": conv("num_output: 3 kernel_h: 7 kernel_w: 1 pad_h: 3 pad_w: 0"),
    "conv_rectangular": conv("num_output: 3 kernel_h: 3 kernel_w: 2 stride_h: 2 stride_w: 1 "
                             "pad_h: 1 pad_w: 0"),
    "conv_group2": conv("num_output: 6 kernel_size: 3 pad: 1 group: 2"),
    "conv_group2_5x5_stride2": conv("num_output: 4 kernel_size: 5 pad: 2 stride: 2 group: 2"),
    "conv_depthwise": conv("num_output: 4 kernel_size: 3 pad: 1 group: 4 bias_term: false"),
    "conv_depthwise_stride2": conv("num_output: 9 kernel_size: 3 pad: 1 stride: 2 group: 9",
                                   (2, 9, 7, 8)),
    "conv_depthwise_double": conv("num_output: 8 kernel_size: 3 pad: 1 group: 4"),
    "conv_dilation2": conv("num_output: 3 kernel_size: 3 pad: 2 dilation: 2"),
    "conv_dilation_h": conv("num_output: 3 kernel_size: 3 dilation: 3 dilation: 1 pad: 1",
                            (1, 4, 9, 6)),
}

POOLS = {
    "max_3x3_stride2": pool("pool: MAX kernel_size: 3 stride: 2"),
    "max_2x2_stride2": pool("pool: MAX kernel_size: 2 stride: 2"),
    "max_3x3_stride2_pad1": pool("pool: MAX kernel_size: 3 stride: 2 pad: 1"),
    "max_3x3_stride1_pad1": pool("pool: MAX kernel_size: 3 stride: 1 pad: 1"),
    "max_clipped": pool("pool: MAX kernel_size: 2 stride: 2 pad: 1", (1, 2, 7, 7)),
    "max_floor": pool("pool: MAX kernel_size: 3 stride: 2 round_mode: FLOOR", (2, 2, 8, 6)),
    "max_rectangular": pool("pool: MAX kernel_h: 3 kernel_w: 2 stride_h: 2 stride_w: 1"),
    "max_global": pool("pool: MAX global_pooling: true"),
    "average_3x3_stride2": pool("pool: AVE kernel_size: 3 stride: 2", (2, 2, 8, 6)),
    "average_3x3_stride2_pad1": pool("pool: AVE kernel_size: 3 stride: 2 pad: 1", (2, 2, 8, 6)),
    "average_3x3_stride1_pad1": pool("pool: AVE kernel_size: 3 stride: 1 pad: 1"),
    "average_5x5_stride3": pool("pool: AVE kernel_size: 5 stride: 3", (1, 3, 14, 14)),
    "average_7x7": pool("pool: AVE kernel_size: 7 stride: 1", (2, 3, 7, 7)),
    "average_clipped": pool("pool: AVE kernel_size: 2 stride: 2 pad: 1", (1, 2, 7, 7)),
    "average_global": pool("pool: AVE global_pooling: true"),
}

BIASED = "scale_param { bias_term: true }"
NORMS = {
    "lrn_across_5": single("LRN", "lrn_param { local_size: 5 alpha: 0.3 beta: 0.75 }",
                           (2, 9, 3, 2)),
    "lrn_across_3_k2": single("LRN", "lrn_param { local_size: 3 alpha: 0.5 beta: 0.6 k: 2 }"),
    "lrn_across_wider_than_channels": single("LRN", "lrn_param { local_size: 5 alpha: 0.3 }"),
    "lrn_within_3": single("LRN", "lrn_param { local_size: 3 alpha: 0.8 beta: 0.75 "
                                  "norm_region: WITHIN_CHANNEL }"),
    "lrn_within_5": single("LRN", "lrn_param { local_size: 5 alpha: 2 beta: 0.5 "
                                  "norm_region: WITHIN_CHANNEL }"),
    "batch_norm": single("BatchNorm"),
    "batch_norm_eps": single("BatchNorm",
                             "batch_norm_param { eps: 0.1 moving_average_fraction: 0.9 }"),
    "batch_norm_global": single("BatchNorm", "batch_norm_param { use_global_stats: true }"),
    "batch_norm_scale_relu": (
        [("data", (3, 4, 3, 3))],
        layer("BatchNorm", "bn", "data") + layer("Scale", "scale", "bn", "bn", BIASED)
        + layer("ReLU", "relu", "bn", "bn")),
    "conv_batch_norm_scale_relu_in_place": (
        [("data", (2, 3, 5, 5))],
        layer("Convolution", "conv", "data",
              body="convolution_param { num_output: 6 kernel_size: 3 pad: 1 bias_term: false }")
        + layer("BatchNorm", "bn", "conv", "conv") + layer("Scale", "scale", "conv", "conv", BIASED)
        + layer("ReLU", "relu", "conv", "conv")),
    "scale": single("Scale"),
    "scale_bias": single("Scale", BIASED),
    "scale_two_axes": single("Scale", "scale_param { axis: 1 num_axes: 2 bias_term: true }"),
    "scale_all_axes": single("Scale", "scale_param { axis: 1 num_axes: -1 }"),
    "scale_two_bottoms": two_bottoms("Scale", "scale_param { axis: 0 }", ((2, 3, 4, 5), (2, 3))),
    "bias": single("Bias"),
    "bias_two_bottoms": two_bottoms("Bias", "bias_param { axis: 1 }", ((2, 3, 4, 5), (3, 4))),
}

POINTWISE = {
    "relu": single("ReLU"),
    "relu_leaky": single("ReLU", "relu_param { negative_slope: 0.1 }"),
    "sigmoid": single("Sigmoid"),
    "tanh": single("TanH"),
    "relu_2d": single("ReLU", shape=(3, 7)),
    "relu6": ([("data", (2, 3, 4, 5))],
              layer("Eltwise", "wide", "data data", body="eltwise_param { coeff: 5 coeff: 4 }")
              + layer("ReLU6", "top", "wide")),
    "eltwise_sum": eltwise("operation: SUM"),
    "eltwise_sum_three": eltwise("operation: SUM", 3),
    "eltwise_coefficients": eltwise("operation: SUM coeff: 1 coeff: -0.5"),
    "eltwise_product": eltwise("operation: PROD"),
    "eltwise_product_three": eltwise("operation: PROD", 3),
    "eltwise_max": eltwise("operation: MAX"),
    "eltwise_max_three": eltwise("operation: MAX", 3),
}

SHAPES = {
    "concat_channels": ([("data", (2, 3, 2, 3)), ("data2", (2, 2, 2, 3)), ("data3", (2, 4, 2, 3))],
                        layer("Concat", "top", "data data2 data3")),
    "concat_images": two_bottoms("Concat", "concat_param { axis: 0 }",
                                 ((2, 3, 2, 3), (1, 3, 2, 3))),
    "concat_rows": two_bottoms("Concat", "concat_param { axis: 2 }", ((2, 3, 2, 3), (2, 3, 4, 3))),
    "concat_2d": two_bottoms("Concat", "", ((3, 4), (3, 2))),
    "slice_equal": ([("data", (2, 6, 2, 3))], layer("Slice", "slice", "data", "a b c")),
    "slice_points": ([("data", (2, 6, 2, 3))],
                     layer("Slice", "slice", "data", "a b c",
                           "slice_param { axis: 1 slice_point: 1 slice_point: 4 }")),
    "slice_images": ([("data", (3, 2, 2, 3))],
                     layer("Slice", "slice", "data", "a b",
                           "slice_param { axis: 0 slice_point: 1 }")),
    "reshape": single("Reshape", "reshape_param { shape { dim: 0 dim: 2 dim: -1 } }", (2, 4, 3, 5)),
    "reshape_axis": single("Reshape", "reshape_param { axis: 1 num_axes: 1 "
                                      "shape { dim: 2 dim: 2 } }", (2, 4, 3, 5)),
    "flatten": single("Flatten"),
    "flatten_axis2": single("Flatten", "flatten_param { axis: 2 }"),
    "used_twice": (
        [("data", (2, 3, 4, 4))],
        layer("Convolution", "conv", "data", body="convolution_param { num_output: 4 "
              "kernel_size: 3 pad: 1 }") + layer("ReLU", "relu", "conv", "conv")
        + layer("Sigmoid", "a", "conv") + layer("Eltwise", "b", "conv a")
        + layer("Concat", "top", "conv b")),
    "residual": (
        [("data", (2, 4, 5, 5))],
        layer("Convolution", "conv1", "data", body="convolution_param { num_output: 4 "
              "kernel_size: 3 pad: 1 }") + layer("ReLU", "relu1", "conv1", "conv1")
        + layer("Convolution", "conv2", "conv1", body="convolution_param { num_output: 4 "
                "kernel_size: 3 pad: 1 }")
        + layer("Eltwise", "sum", "conv1 conv2") + layer("ReLU", "relu2", "sum", "sum")),
    "shared_weights": (
        [("data", (2, 5)), ("data2", (2, 5))],
        layer("InnerProduct", "one", "data", body='param { name: "w" } param { name: "b" } '
              "inner_product_param { num_output: 3 }")
        + layer("InnerProduct", "two", "data2", body='param { name: "w" } param { name: "b" } '
                "inner_product_param { num_output: 3 }")),
}

CLASSIFIERS = {
    "inner_product": single("InnerProduct", "inner_product_param { num_output: 6 }"),
    "inner_product_no_bias": single("InnerProduct", "inner_product_param { num_output: 6 "
                                                    "bias_term: false }", (3, 7)),
    "inner_product_transpose": single("InnerProduct", "inner_product_param { num_output: 6 "
                                                      "transpose: true }", (3, 7)),
    "inner_product_axis2": single("InnerProduct", "inner_product_param { num_output: 4 axis: 2 }",
                                  (2, 3, 2, 3)),
    "softmax": single("Softmax", shape=(3, 7)),
    "softmax_channels": single("Softmax", shape=(2, 5, 2, 3)),
    "softmax_loss": softmax_loss(),
    "softmax_loss_1x1": softmax_loss(scores=(4, 5, 1, 1)),
    "softmax_loss_weight": softmax_loss("loss_weight: 0.3"),
    "softmax_loss_ignore": softmax_loss("loss_param { ignore_label: 1 }", (8, 3), (8,), 3),
    "softmax_loss_ignore_full": softmax_loss("loss_param { ignore_label: 1 normalization: FULL }",
                                             (8, 3), (8,), 3),
    "softmax_loss_ignore_batch": softmax_loss(
        "loss_param { ignore_label: 1 normalization: BATCH_SIZE }", (2, 3, 2, 3), (2, 1, 2, 3), 3),
    "softmax_loss_spatial": softmax_loss("", (2, 4, 2, 3), (2, 1, 2, 3), 4),
    "softmax_loss_spatial_ignore": softmax_loss("loss_param { ignore_label: 0 }", (2, 4, 2, 3),
                                                (2, 2, 3), 4),
    "softmax_loss_none": softmax_loss("loss_param { normalization: NONE }"),
    "softmax_loss_not_normalized": softmax_loss("loss_param { normalize: false }", (2, 4, 2, 3),
                                                (2, 1, 2, 3), 4),
    "euclidean_loss": two_bottoms("EuclideanLoss", "", ((3, 2, 2, 2), (3, 2, 2, 2))),
    "euclidean_loss_weight": two_bottoms("EuclideanLoss", "loss_weight: 2.5", ((3, 4), (3, 4))),
    "two_losses": (
        [("data", (4, 6)), ("label", (4,), 5)],
        layer("InnerProduct", "ip", "data", body="inner_product_param { num_output: 5 }")
        + layer("SoftmaxWithLoss", "loss1", "ip label", body="loss_weight: 0.5")
        + layer("InnerProduct", "ip2", "ip", body="inner_product_param { num_output: 5 }")
        + layer("SoftmaxWithLoss", "loss2", "ip2 label")),
}

CASES = {**CONVOLUTIONS, **POOLS, **NORMS, **POINTWISE, **SHAPES, **CLASSIFIERS}
