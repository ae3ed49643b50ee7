// Goal: three steps of SGD leave the parameters where torch's arithmetic leaves them.
#include <gtest/gtest.h>

#include "golden_net.h"
#include "nn/first_supported.h"
#include "nn/solver.h"

namespace shoal::golden {
namespace {

TEST(SgdGoldenTest, ThreeStepsAreTorchs) {
  const nlohmann::json file = Load("sgd.json");
  for (const nlohmann::json& wanted : file["nets"]) {
    const std::string name = wanted["net"];
    nn::FirstSupported chooser;
    Serial serial;
    GoldenNet golden(ZooText(name), wanted["input"], chooser, serial,
                     {.lean = wanted["fill"]["lean"], .beta = wanted["fill"]["beta"]});
    Result<std::unique_ptr<nn::Solver>> solver = nn::Solver::Make(
        {.base_lr = 0.01F, .momentum = 0.9F, .weight_decay = 0.0005F}, golden.params(), serial);
    ASSERT_TRUE(solver.ok());
    for (int step = 0; step < static_cast<int>(wanted["losses"].size()); ++step) {
      golden.FillInput("data", step);
      golden.FillLabels("label", 10, step);
      const Result<double> loss = golden.net().Forward(0);
      ASSERT_TRUE(loss.ok());
      const double want = wanted["losses"][static_cast<std::size_t>(step)];
      EXPECT_NEAR(*loss, want, 1e-4 * want) << name << ", step " << step;
      golden.net().Backward(false);
      (*solver)->Update(*loss);
    }
    for (std::size_t i = 0; i < golden.params().size(); ++i) {
      const std::string key = golden.Key(nn::ParamId{i});
      const auto want = wanted["blobs"][key].get<std::vector<double>>();
      const std::vector<double> got = Digest(golden.Value(nn::ParamId{i}));
      for (std::size_t k = 0; k < want.size(); ++k) {
        EXPECT_NEAR(got[k], want[k], 2e-4 * want[0] + 1e-6) << name << " " << key << " " << k;
      }
    }
  }
}

}  // namespace
}  // namespace shoal::golden
