// Goal: loss and all parameter gradients of the ten networks are torch's.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "golden_net.h"
#include "nn/conv_support.h"
#include "nn/first_supported.h"
#include "os/machine/cpu.h"
#include "os/machine/sys_root.h"
#include "os/thread_pool.h"

namespace shoal::golden {
namespace {

// Takes a named row where it can: not measured, so the same on every machine.
class Preferring final : public nn::ConvChooser {
 public:
  explicit Preferring(std::string_view name) : name_(name) {}
  const kernels::ConvImplementation& Choose(const kernels::ConvShape& shape,
                                            nn::ConvDirection direction) override {
    for (const kernels::ConvImplementation& row : kernels::ConvImplementations()) {
      if (row.name == name_ && nn::Supports(row, shape, direction, {})) return row;
    }
    return otherwise_.Choose(shape, direction);
  }

 private:
  std::string_view name_;
  nn::FirstSupported otherwise_;
};

class NetsGoldenTest : public testing::TestWithParam<const char*> {};

void Compare(const std::string& name, std::string_view row) {
  const nlohmann::json wanted = Load(name + ".json");
  os::ThreadPool pool({.threads = 2, .cores = {}, .spin = false});
  Preferring chooser(row);
  GoldenNet golden(ZooText(name), wanted["input"], chooser, pool,
                   {.lean = wanted["fill"]["lean"], .beta = wanted["fill"]["beta"]});
  golden.FillInput("data", 0);
  golden.FillLabels("label", 1000);
  const Result<double> loss = golden.net().Forward(0);
  ASSERT_TRUE(loss.ok()) << loss.status().ToString();
  const double want_loss = wanted["loss"];
  EXPECT_NEAR(*loss, want_loss, 1e-3 * want_loss);
  golden.net().Backward(false);
  // Gradients as one vector: a probe's square is the error's square on average.
  double error_squares = 0, squares = 0;
  std::size_t compared = 0, off = 0;
  for (std::size_t i = 0; i < golden.params().size(); ++i) {
    const std::string key = golden.Key(nn::ParamId{i});
    if (!wanted["gradients"].contains(key)) continue;
    const auto want = wanted["gradients"][key].get<std::vector<double>>();
    const double noise = want.back();
    if (noise < 0) continue;  // Nothing but rounding.
    const std::vector<double> got = Digest(golden.Gradient(nn::ParamId{i}));
    double worst = 0;
    for (std::size_t k = 0; k < got.size(); ++k) {
      worst = std::max(worst, std::abs(got[k] - want[k]) / want[0]);
      if (k >= 1 && k <= 4) error_squares += (got[k] - want[k]) * (got[k] - want[k]) / 4;
    }
    squares += want[0] * want[0];
    ++compared;
    if (worst > 1e-3 + 3 * noise) ++off;
    EXPECT_LT(worst, 0.1) << key;
  }
  const double error = std::sqrt(error_squares / squares);
  EXPECT_LT(error, 1e-3);
  // A unit whose input is within rounding of zero switches its ReLU: the few blobs of one branch
  // of one block, another one for every implementation.
  EXPECT_LE(off, compared / 20);
  std::cout << name << ": loss " << *loss << ", relative error of the gradient " << error << ", "
            << off << " of " << compared << " blobs above 1e-3\n";
}

TEST_P(NetsGoldenTest, LossAndGradientsAreTorchs) { Compare(GetParam(), "implicit-gemm"); }

TEST_P(NetsGoldenTest, AlsoWithWinograd) { Compare(GetParam(), "winograd-f4"); }

INSTANTIATE_TEST_SUITE_P(Zoo, NetsGoldenTest,
                         testing::Values("alexnet", "googlenet", "inception_v3", "mobilenet_v1",
                                         "mobilenet_v2", "resnet50", "resnet101", "resnet152",
                                         "squeezenet_v1.0", "squeezenet_v1.1"));

}  // namespace
}  // namespace shoal::golden
