// What tests of networks share: layers in a line, a network with its parameters, inputs that are a
// function of their index.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nn/first_supported.h"
#include "nn/net.h"

namespace shoal::nn {

inline LayerDef Layer(std::string name, OpDef op, std::vector<std::string> bottoms,
                      std::vector<std::string> tops) {
  return {.name = std::move(name),
          .op = std::move(op),
          .bottoms = std::move(bottoms),
          .tops = std::move(tops)};
}

inline LayerDef Input(std::string top, std::vector<std::int64_t> shape) {
  return Layer(top + "_input", InputDef{.shapes = {std::move(shape)}}, {}, {top});
}

inline constexpr Filler kNoise{.kind = Filler::Kind::kUniform, .min = -0.5F, .max = 0.5F};

// Values that differ from each other and from zero by more than a difference quotient moves them.
inline void FillApart(const Blob& blob, float scale = 0.05F) {
  const std::size_t n = blob.elements();
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t shuffled = (i * 7919 + 13) % n;
    blob.data[i] = scale * (static_cast<float>(shuffled) - static_cast<float>(n) / 2 + 0.25F);
  }
}

struct TestNet {
  explicit TestNet(const NetDef& def, NetOptions options = {.backward = true},
                   std::uint64_t seed = 7) {
    Result<std::unique_ptr<Net>> made = Net::Build(def, options, params, chooser, serial);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    if (!made.ok()) return;
    net = *std::move(made);
    EXPECT_TRUE(params.Allocate(seed, options.backward).ok());
  }

  double Loss() {
    const Result<double> loss = net->Forward(3);
    EXPECT_TRUE(loss.ok()) << loss.status().ToString();
    return loss.ok() ? *loss : NAN;
  }

  std::vector<float> Gradients() { return {params.gradients().begin(), params.gradients().end()}; }

  ParamStore params;
  FirstSupported chooser;
  Serial serial;
  std::unique_ptr<Net> net;
};

}  // namespace shoal::nn
