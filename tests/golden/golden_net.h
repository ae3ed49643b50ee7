// GoldenNet: a network with the parameters and inputs that scripts/golden/hashed.py makes, so that
// its numbers can be compared with torch's. Names and orders are Caffe's.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/parallel.h"
#include "nn/conv_chooser.h"
#include "nn/net.h"
#include "nn/param_store.h"

namespace shoal::golden {

std::uint64_t Hash(std::string_view key, std::uint64_t i);
// In [-1, 1).
double Unit(std::string_view key, std::uint64_t i);

// The JSON of tests/golden/<name>.
nlohmann::json Load(const std::string& name);
// The text of zoo/<net>/train_val.prototxt.
std::string ZooText(const std::string& net);

// [norm, 4 probes, 8 samples]
std::vector<double> Digest(std::span<const float> values);

// How weights lean to the positive side and by what BatchNorms are shifted (make_golden.py says
// why).
struct FillRule {
  double lean = 0;
  double beta = 0;
};

class GoldenNet {
 public:
  // Dropout is switched off. `input` is the shape of the blob "data" if it comes from a data layer
  // (then "label" is one number per image). Fails the test if the network cannot be built.
  GoldenNet(const std::string& prototxt, const std::vector<std::int64_t>& input,
            nn::ConvChooser& chooser, Parallel& parallel, const FillRule& fill = {},
            bool fuse = true);

  // Fills blob `name` for step `step`; labels are below `classes`.
  void FillInput(const std::string& name, int step);
  void FillLabels(const std::string& name, std::uint64_t classes, int step = 0);

  nn::Net& net() { return *net_; }
  nn::ParamStore& params() { return params_; }

  // In Caffe's order.
  std::vector<float> Value(nn::ParamId id);
  std::vector<float> Gradient(nn::ParamId id);
  static std::vector<float> InFileOrder(const nn::Blob& blob);
  static void FromFileOrder(std::span<const float> values, const nn::Blob& blob);
  // "layer/index"
  std::string Key(nn::ParamId id) const;

 private:
  void FillParams(const nn::NetDef& net, const FillRule& fill);

  nn::ParamStore params_;
  std::unique_ptr<nn::Net> net_;
};

// |got - want| / |want|, over all elements.
double RelativeError(std::span<const float> got, std::span<const double> want);

}  // namespace shoal::golden
