// Networks with a mistake: each gives one line that says where it is and what to do.
#include <gtest/gtest.h>

#include <string>

#include "caffe/net_file.h"

namespace shoal::caffe {
namespace {

struct Broken {
  std::string text;
  std::string message;  // How it starts.
};

// The second line is the layer; its input is "data".
std::string Layer(const std::string& type, const std::string& more,
                  const std::string& top = "top: 'x'") {
  return "input: 'data' input_dim: 1 input_dim: 3 input_dim: 8 input_dim: 8\n"
         "layer { name: 'x' type: '" +
         type + "' bottom: 'data' " + top + " " + more + " }";
}

std::string InLayer(const std::string& what) { return "n:2: layer \"x\": " + what; }

std::string MessageOf(const std::string& text) {
  const auto file = NetFile::Parse("n", text);
  if (!file.ok()) return std::string(file.status().message());
  const auto network = file->Build({});
  return network.ok() ? "ok" : std::string(network.status().message());
}

void ExpectMessages(const std::vector<Broken>& list) {
  for (const Broken& broken : list) {
    const std::string message = MessageOf(broken.text);
    EXPECT_TRUE(message.starts_with(broken.message))
        << "got:  " << message << "\nwant: " << broken.message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_LT(message.size(), 500U) << message;
  }
}

TEST(BrokenNet, Syntax) {
  ExpectMessages({
      {"", "n: has no layers; a network is a list of layer { ... }"},
      {"name: 'x'", "n: has no layers"},
      {"layer {\n  name: 'x'", "n:2:12: the file ends inside a block or a field; is a } missing?"},
      {"layer {\n  name 'x' }", "n:2:8: Expected \":\", found \"'x'\""},
      {"layer { name: 'x }", "n:1:19: "},
      {"layer { name: 'a' name: 'b' }", "n:1:23: Non-repeated field \"name\" is specified"},
      {"layer { type: Convolution }", "n:1:15: Expected string, got: Convolution; put"},
      {"<!DOCTYPE html>", "n:1:1: Expected identifier, got: <; is this a web page?"},
      {"layers { type: CONV }", "n:1:21: Unknown enumeration value of \"CONV\" for field \"type\""},
      {std::string("layer\0", 6), "n: not a text file (byte 5); a prototxt is expected here"},
      {"garbage", "n:1:1: unknown field \"garbage\" in NetParameter; remove it"},
      {"garbage: 1 layer { }", "n:1:1: unknown field \"garbage\" in NetParameter; remove it"},
      {"layer { nmae: 'x' }", "n:1:9: unknown field \"nmae\" in LayerParameter; did you mean \"na"},
      {Layer("Convolution", "convolution_param {\n  paad: 1 }"),
       "n:3:3: unknown field \"paad\" in ConvolutionParameter; did you mean \"pad\"?"},
      {Layer("Pooling", "pooling_param { kernel_size: -3 }"), "n:2:88: Expected integer, got: -"},
      {Layer("Pooling", "pooling_param { kernel_size: 99999999999 }"), "n:2:88: Integer out of"},
      {std::string(40, '{'), "n:1:33: blocks are nested more than 32 deep"},
      {"x " + std::string(100, '['), "n:1:35: blocks are nested more than 32 deep"},
      {std::string(9U << 20U, ' '), "n: 9 MiB is too large for a text file; the limit is 8 MiB"},
      {"layer { name: 'a' } layers { name: 'b' }", "n: has both \"layer\" and (older) \"layers\""},
  });
}

TEST(BrokenNet, Connections) {
  ExpectMessages({
      {"layer { name: 'a' type: 'ReLU' bottom: 'b' top: 'a' }\n"
       "layer { name: 'b' type: 'ReLU' bottom: 'a' top: 'b' }",
       "n:1: layer \"a\": bottom \"b\" is not the top of any layer before it; layer \"b\" makes "
       "it, "
       "but comes later"},
      {Layer("ReLU", "include { phase: TEST }") +
           "layer { name: 'y' type: 'ReLU' bottom: 'x' top: 'y' }",
       "n:2: layer \"y\": bottom \"x\" is not the top of any layer before it; layer \"x\" makes "
       "it, "
       "but is not part of this phase"},
      {Layer("ReLU", "bottom: 'y'", "top: 'x'"), InLayer("a layer of type ReLU needs 1 bottom(s)")},
      {Layer("ReLU", "", "top: 'x'") + "layer { name: 'y' type: 'ReLU' bottom: 'data' top: 'x' }",
       "n:2: layer \"y\": top \"x\" is already made by layer \"x\"; give it another name"},
      {Layer("ReLU", "bottom: 'data'"),
       InLayer("a layer of type ReLU needs 1 bottom(s); it has 2")},
      {Layer("Eltwise", ""),
       InLayer("a layer of type Eltwise needs 2 or more bottom(s); it has 1")},
      {Layer("Split", "", ""), InLayer("a layer of type Split needs 1 or more top(s); it has 0")},
      {Layer("Deconvolution", ""),
       InLayer("type \"Deconvolution\" is not supported; supported ar")},
      {"layer { name: 'x' }", "n:1: layer \"x\": has no type"},
      {Layer("ReLU", "include { phase: TRAIN } exclude { phase: TEST }"),
       InLayer("has both include and exclude rules; keep one kind")},
      {Layer("ReLU", "loss_weight: 1 loss_weight: 2"),
       InLayer("loss_weight is given 2 times for 1 top(s)")},
      {Layer("ReLU", "propagate_down: true propagate_down: false"),
       InLayer("propagate_down is given 2 times for 1 bottom(s)")},
      {"layer { name: 'x' type: 'Input' top: 'd' include { phase: TEST } }",
       "n: has no layers in the phase TRAIN"},
  });
}

TEST(BrokenNet, Windows) {
  const auto conv = [](const std::string& param) {
    return Layer("Convolution", "convolution_param { " + param + " }");
  };
  const auto pool = [](const std::string& param) {
    return Layer("Pooling", "pooling_param { " + param + " }");
  };
  ExpectMessages({
      {conv("kernel_size: 3"), InLayer("convolution_param needs num_output")},
      {conv("num_output: 0 kernel_size: 3"), InLayer("num_output is 0; it must be from 1 to ")},
      {conv("num_output: 4000000000 kernel_size: 3"), InLayer("num_output is 4000000000; it must")},
      {conv("num_output: 4"), InLayer("kernel_size is missing (or kernel_h and kernel_w)")},
      {conv("num_output: 4 kernel_h: 3"), InLayer("kernel_h and kernel_w must both be given")},
      {conv("num_output: 4 kernel_size: 3 kernel_h: 3 kernel_w: 3"),
       InLayer("give kernel_size or kernel_h and kernel_w, not both")},
      {conv("num_output: 4 kernel_size: [1, 2, 3]"), InLayer("kernel_size has 3 values; images")},
      {conv("num_output: 4 kernel_size: 3 stride: 0"), InLayer("stride is 0; it must be from 1")},
      {conv("num_output: 4 kernel_size: 3 stride_h: 2"),
       InLayer("stride_h and stride_w must both")},
      {conv("num_output: 4 kernel_size: 3 group: 3"),
       InLayer("num_output 4 is not a multiple of group 3")},
      {conv("num_output: 4 kernel_size: 3 group: 0"), InLayer("group is 0; it must be from 1")},
      {conv("num_output: 4 kernel_size: 3 weight_filler { type: 'he' }"),
       InLayer("weight_filler has type \"he\"; use constant, uniform,")},
      {conv("num_output: 4 kernel_size: 3 weight_filler { std: inf }"),
       InLayer("weight_filler is not a finite number")},
      {pool("pool: MAX"), InLayer("kernel_size is missing (or kernel_h and kernel_w)")},
      {pool("kernel_size: 2 pad: 2"), InLayer("pad must be smaller than the kernel")},
      {pool("kernel_size: 2 pool: STOCHASTIC"), InLayer("pool: STOCHASTIC is not supported")},
      {pool("kernel_size: 2 stride_w: 2"), InLayer("stride_h and stride_w must both be given")},
  });
}

TEST(BrokenNet, OtherLayers) {
  ExpectMessages({
      {Layer("InnerProduct", ""), InLayer("inner_product_param needs num_output")},
      {Layer("LRN", "lrn_param { local_size: 4 }"), InLayer("local_size must be odd")},
      {Layer("BatchNorm", "batch_norm_param { eps: 0 }"), InLayer("eps must be greater than 0")},
      {Layer("Dropout", "dropout_param { dropout_ratio: 1 }"), InLayer("dropout_ratio must be at")},
      {Layer("Clip", "clip_param { min: -1 max: 1 }"), InLayer("clip_param min must be 0")},
      {Layer("Concat", "concat_param { axis: 1 concat_dim: 1 }"), InLayer("give axis or (older)")},
      {Layer("Concat", "concat_param { axis: 40 }"), InLayer("axis is 40; it must be from -32 to")},
      {Layer("Slice", "slice_param { slice_point: 1 slice_point: 2 }"),
       InLayer("1 tops need 0 slice_point entries; there are 2")},
      {Layer("Eltwise", "bottom: 'data' eltwise_param { coeff: 1 }"),
       InLayer("2 bottoms need as many coeff entries; there are 1")},
      {Layer("Eltwise", "bottom: 'data' eltwise_param { operation: MAX coeff: 1 coeff: 1 }"),
       InLayer("coeff is only for operation: SUM")},
      {Layer("Reshape", "reshape_param { shape { dim: -1 dim: -1 } }"),
       InLayer("shape has more than one dim: -1")},
      {Layer("Reshape", "reshape_param { shape { dim: -2 } }"),
       InLayer("shape dim is -2; it must")},
      {Layer("Dropout", "phase: TEST"), InLayer("a phase of its own is not supported; use incl")},
  });
}

TEST(BrokenNet, Inputs) {
  const auto input = [](const std::string& shape) {
    return "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { " + shape + " } } }";
  };
  const auto data = [](const std::string& type, const std::string& more) {
    return "layer { name: 'x' type: '" + type + "' top: 'x' " + more + " }";
  };
  const std::string place = "n:1: layer \"x\": ";
  ExpectMessages({
      {input("dim: 0"), place + "input shape dim is 0; it must be from 1"},
      {input("dim: -5"), place + "input shape dim is -5; it must be from 1"},
      {input("dim: 100000 dim: 100000"), place + "input shape has more than 2147483647 elements"},
      {input(""), place + "input shape has no dimensions"},
      {"layer { name: 'x' type: 'Input' top: 'x' }", place + "input_param has 0 shape(s) for 1"},
      {"input: 'd' layer { name: 'x' type: 'ReLU' bottom: 'd' top: 'x' }",
       "n: 1 input(s) need 4 input_dim entries; there are 0"},
      {"input: 'd' input_dim: 1 layer { }", "n: 1 input(s) need 4 input_dim entries; there are 1"},
      {data("Data", ""), place + "data_param needs source, the data set's path"},
      {data("Data", "data_param { source: 'x' }"), place + "batch_size is 0; it must be from 1"},
      {data("ImageData", "image_data_param { batch_size: 1 }"),
       place + "image_data_param needs so"},
      {data("ImageData", "image_data_param { source: 'l' new_width: 5 }"),
       place + "new_height and new_width must both be given, or neither"},
      {data("MemoryData", "memory_data_param { batch_size: 1 channels: 3 }"),
       place + "memory_data_param dim is 0"},
      {data("Data",
            "data_param { source: 'x' batch_size: 1 } transform_param { mean_file: 'm' "
            "mean_value: 1 }"),
       place + "give mean_file or mean_value, not both"},
      {data("Data",
            "data_param { source: 'x' batch_size: 1 } transform_param { crop_h: 1 crop_w: "
            "2 }"),
       place + "crop_h and crop_w differ; only square crops"},
  });
}

TEST(BrokenNet, TooManyBlocks) {
  std::string text;
  for (int i = 0; i < 100'001; ++i) text += "layer{}";
  EXPECT_TRUE(MessageOf(text).ends_with("the file has more than 100000 blocks"));
}

}  // namespace
}  // namespace shoal::caffe
