// Goal: loss and all parameter gradients of the ten networks are torch's.
#include <gtest/gtest.h>

#include <iostream>

#include "golden_net.h"
#include "nn/first_supported.h"
#include "os/machine/cpu.h"
#include "os/machine/sys_root.h"
#include "os/thread_pool.h"

namespace shoal::golden {
namespace {

class NetsGoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(NetsGoldenTest, LossAndGradientsAreTorchs) {
  const std::string name = GetParam();
  const nlohmann::json wanted = Load(name + ".json");
  os::ThreadPool pool({.threads = 2, .cores = {}, .spin = false});
  nn::FirstSupported chooser;
  GoldenNet golden(ZooText(name), wanted["input"], chooser, pool);
  golden.FillInput("data", 0);
  golden.FillLabels("label", 1000);
  const Result<double> loss = golden.net().Forward(0);
  ASSERT_TRUE(loss.ok()) << loss.status().ToString();
  const double want_loss = wanted["loss"];
  EXPECT_NEAR(*loss, want_loss, 1e-3 * want_loss);
  golden.net().Backward(false);
  double worst = 0;
  std::size_t compared = 0;
  for (std::size_t i = 0; i < golden.params().size(); ++i) {
    const std::string key = golden.Key(nn::ParamId{i});
    if (!wanted["gradients"].contains(key)) continue;
    const auto want = wanted["gradients"][key].get<std::vector<double>>();
    if (want[0] < 1e-9) continue;  // Nothing but rounding.
    const std::vector<double> got = Digest(golden.Gradient(nn::ParamId{i}));
    ++compared;
    for (std::size_t k = 0; k < want.size(); ++k) {
      const double error = std::abs(got[k] - want[k]) / want[0];
      worst = std::max(worst, error);
      EXPECT_LT(error, 1e-3) << key << " " << k;
    }
  }
  EXPECT_GT(compared, 0U);
  RecordProperty("worst", std::to_string(worst));
  std::cout << name << ": loss " << *loss << ", worst relative error " << worst << " over "
            << compared << " blobs\n";
}

INSTANTIATE_TEST_SUITE_P(Zoo, NetsGoldenTest,
                         testing::Values("alexnet", "googlenet", "inception_v3", "mobilenet_v1",
                                         "mobilenet_v2", "resnet50", "resnet101", "resnet152",
                                         "squeezenet_v1.0", "squeezenet_v1.1"));

}  // namespace
}  // namespace shoal::golden
