// Goal: every op, forward and backward, with all its settings, computes what torch computes.
#include <gtest/gtest.h>

#include <cmath>

#include "golden_net.h"
#include "nn/first_supported.h"

namespace shoal::golden {
namespace {

// Torch computed in double; our floats sum up to a few hundred products.
constexpr double kTolerance = 2e-5;

void Check(const nlohmann::json& wanted, const std::vector<float>& got, const std::string& what) {
  const auto want = wanted["data"].get<std::vector<double>>();
  EXPECT_LT(RelativeError(got, want), kTolerance) << what;
}

void CheckParams(const nlohmann::json& wanted, bool gradients, GoldenNet& golden,
                 const std::string& name) {
  for (std::size_t i = 0; i < golden.params().size(); ++i) {
    const std::string key = golden.Key(nn::ParamId{i});
    if (!wanted.contains(key)) continue;
    Check(wanted[key], gradients ? golden.Gradient(nn::ParamId{i}) : golden.Value(nn::ParamId{i}),
          name + ": " + key);
  }
}

void CheckCase(const nlohmann::json& wanted, bool fuse) {
  const std::string name = wanted["name"].get<std::string>() + (fuse ? "" : " (not fused)");
  nn::FirstSupported chooser;
  Serial serial;
  GoldenNet golden(wanted["prototxt"], {}, chooser, serial, {}, fuse);
  nn::Net& net = golden.net();
  for (const std::size_t v : net.graph().inputs()) {
    const std::string& blob = net.graph().values()[v].name;
    if (wanted["labels"].contains(blob)) {
      golden.FillLabels(blob, wanted["labels"][blob].get<std::uint64_t>());
    } else {
      golden.FillInput(blob, 0);
    }
  }
  const Result<double> loss = net.Forward(0);
  ASSERT_TRUE(loss.ok()) << name << loss.status().ToString();
  EXPECT_NEAR(*loss, wanted["loss"].get<double>(), kTolerance * std::abs(*loss) + 1e-6) << name;
  for (const auto& [blob, output] : wanted["outputs"].items()) {
    Check(output, GoldenNet::InFileOrder(*net.blob(blob)), name + ": " + blob);
  }
  net.Backward(false);
  const nlohmann::json& gradients = wanted["gradients"];
  for (const std::size_t v : net.graph().inputs()) {
    const std::string& blob = net.graph().values()[v].name;
    if (!gradients.contains(blob)) continue;
    ASSERT_NE(net.gradient(v).data, nullptr) << name << ": " << blob;
    Check(gradients[blob], GoldenNet::InFileOrder(net.gradient(v)), name + ": d" + blob);
  }
  CheckParams(gradients, true, golden, name);
  if (wanted.contains("statistics")) CheckParams(wanted["statistics"], false, golden, name);
}

TEST(OpsGoldenTest, EveryOpIsTorchs) {
  const nlohmann::json file = Load("ops.json");
  ASSERT_GT(file["cases"].size(), 40U);
  for (const nlohmann::json& wanted : file["cases"]) {
    // Axes that our memory order cannot work along; refused with a clear error.
    if (wanted["name"] == "concat_rows" || wanted["name"] == "inner_product_axis2") continue;
    CheckCase(wanted, true);
    CheckCase(wanted, false);
  }
}

}  // namespace
}  // namespace shoal::golden
