// NetDef: a network as a list of layers, in the order in which they run. What a prototxt means
// once its phase, its rules and its legacy spellings are resolved (caffe/ does that), and what a
// Graph is built from. Plain values; nothing here is checked yet: Graph::Build does.
//
// Axes are Caffe's: a blob of images is (N, C, H, W), whatever the memory order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace shoal::nn {

enum class Phase : std::uint8_t { kTrain, kTest };

// How a parameter starts.
struct Filler {
  enum class Kind : std::uint8_t {
    kConstant,
    kUniform,
    kGaussian,
    kXavier,  // Uniform in ±sqrt(3 / n).
    kMsra,    // Normal with deviation sqrt(2 / n).
    kPositiveUnitball,
    kBilinear,
  };
  enum class Variance : std::uint8_t { kFanIn, kFanOut, kAverage };  // Which n.

  Kind kind = Kind::kConstant;
  float value = 0;  // kConstant
  float min = 0;    // kUniform
  float max = 1;
  float mean = 0;  // kGaussian
  float std = 1;
  int sparse = -1;  // kGaussian: the number of non-zero inputs per output, or -1.
  Variance variance = Variance::kFanIn;
};

// What a layer says about one of its parameters. A layer may say less than it has.
struct ParamDef {
  std::string name = {};  // Parameters of the same (not empty) name are one.
  float lr_mult = 1;
  float decay_mult = 1;
  bool permissive = false;  // Sharing: only the number of elements must agree.
};

struct ConvolutionDef {
  std::int64_t outputs = 0;
  bool bias = true;
  std::array<std::int64_t, 2> kernel = {0, 0};  // {h, w}, as all pairs here.
  std::array<std::int64_t, 2> stride = {1, 1};
  std::array<std::int64_t, 2> pad = {0, 0};
  std::array<std::int64_t, 2> dilation = {1, 1};
  std::int64_t groups = 1;
  Filler weight_filler = {};
  Filler bias_filler = {};
};

struct InnerProductDef {
  std::int64_t outputs = 0;
  bool bias = true;
  std::int64_t axis = 1;   // Axes from here on are flattened. Negative counts from the end.
  bool transpose = false;  // The weights of the file are (inputs, outputs).
  Filler weight_filler = {};
  Filler bias_filler = {};
};

struct PoolingDef {
  enum class Method : std::uint8_t { kMax, kAverage };
  Method method = Method::kMax;
  bool global = false;  // The kernel is the image.
  std::array<std::int64_t, 2> kernel = {0, 0};
  std::array<std::int64_t, 2> stride = {1, 1};
  std::array<std::int64_t, 2> pad = {0, 0};
  bool ceil = true;  // Caffe's rule; false is `round_mode: FLOOR`.
};

struct LrnDef {
  enum class Region : std::uint8_t { kAcrossChannels, kWithinChannel };
  Region region = Region::kAcrossChannels;
  std::int64_t size = 5;
  float alpha = 1;
  float beta = 0.75F;
  float k = 1;  // Ignored within a channel.
};

struct BatchNormDef {
  std::optional<bool> use_global_stats = {};  // Unless told: in the test phase.
  float moving_average_fraction = 0.999F;
  float eps = 1e-5F;
};

// y = x · γ (+ β), with one input: parameters along `axis`, `num_axes` of them (-1: all that
// follow). With two inputs the second one is the factor.
struct ScaleDef {
  std::int64_t axis = 1;
  std::int64_t num_axes = 1;
  bool bias = false;
  Filler filler{.value = 1};
  Filler bias_filler = {};
};

struct BiasDef {
  std::int64_t axis = 1;
  std::int64_t num_axes = 1;
  Filler filler = {};
};

struct ReluDef {
  float negative_slope = 0;
  std::optional<float> max = {};  // 6 in a ReLU6.
};
struct SigmoidDef {};
struct TanhDef {};

struct DropoutDef {
  float ratio = 0.5F;
};

struct ConcatDef {
  std::int64_t axis = 1;
};

struct EltwiseDef {
  enum class Operation : std::uint8_t { kSum, kProduct, kMax };
  Operation operation = Operation::kSum;
  std::vector<float> coefficients = {};  // kSum: one per input, or none for ones.
};

struct SplitDef {};

struct SliceDef {
  std::int64_t axis = 1;
  std::vector<std::int64_t> points = {};  // Where to cut; none: equal parts.
};

struct ReshapeDef {
  std::vector<std::int64_t> dims = {};  // 0: as it is; -1: what is left (one at most).
  std::int64_t axis = 0;
  std::int64_t num_axes = -1;
};

struct FlattenDef {
  std::int64_t axis = 1;
  std::int64_t end_axis = -1;
};

struct SoftmaxDef {
  std::int64_t axis = 1;
};

// How a sum of losses becomes a mean.
enum class Normalization : std::uint8_t {
  kFull,       // By every label.
  kValid,      // By every label that is not ignored.
  kBatchSize,  // By the number of images.
  kNone,
};

struct SoftmaxLossDef {
  std::int64_t axis = 1;
  std::optional<int> ignore_label = {};
  Normalization normalization = Normalization::kValid;
};

struct EuclideanLossDef {};

struct AccuracyDef {
  std::int64_t axis = 1;
  std::int64_t top_k = 1;
  std::optional<int> ignore_label = {};
};

// Blobs that the caller fills before every step: of an Input layer, or of a layer that brings
// data, whose shapes the data set decides (train/ reads it).
struct InputDef {
  std::vector<std::vector<std::int64_t>> shapes = {};  // One per top; one for all if there is one.
};

// A blob that nobody reads (Caffe's Silence): keeps it from being a result.
struct SilenceDef {};

using OpDef =
    std::variant<InputDef, ConvolutionDef, InnerProductDef, PoolingDef, LrnDef, BatchNormDef,
                 ScaleDef, BiasDef, ReluDef, SigmoidDef, TanhDef, DropoutDef, ConcatDef, EltwiseDef,
                 SplitDef, SliceDef, ReshapeDef, FlattenDef, SoftmaxDef, SoftmaxLossDef,
                 EuclideanLossDef, AccuracyDef, SilenceDef>;

struct LayerDef {
  std::string name = {};
  OpDef op = {};
  std::vector<std::string> bottoms = {};
  std::vector<std::string> tops = {};  // A top may be one of the bottoms: in place.
  std::vector<ParamDef> params = {};
  std::vector<float> loss_weights =
      {};  // One per top, or none: 1 for a loss layer's first, else 0.
  std::vector<bool> propagate_down = {};  // One per bottom, or none.
};

struct NetDef {
  std::string name = {};
  Phase phase = Phase::kTrain;
  bool force_backward = false;  // Also compute the gradient of the inputs.
  std::vector<LayerDef> layers = {};
};

}  // namespace shoal::nn
