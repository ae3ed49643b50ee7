#include "shoal/plan_report.h"

#include <gtest/gtest.h>

#include <string>

namespace shoal {
namespace {

// Two phones that each hold two of four layers of 100 MB, and one that nobody needs.
PlanReport ThreePhones() {
  PlanReport report;
  report.model_name = "toy";
  report.model.layers.assign(4, {.weight_bytes = 100'000'000,
                                 .row_bytes = 0,
                                 .multiply_adds = 200e6,
                                 .kv_bytes_per_position = 0});
  report.model.dim = 1024;
  for (std::uint64_t i = 0; i < 3; ++i) {
    pipeline::PlanNode node;
    node.id = NodeId{2 + i};
    node.memory_bytes = 250'000'000;
    node.speeds = {.weight_bytes_per_second = i == 1 ? 5e9 : 10e9, .operations_per_second = 100e9};
    node.latency = 0.002;
    report.nodes.cluster.nodes.push_back(node);
    report.nodes.names.push_back("phone" + std::to_string(i));
  }
  report.plan = *PlanPipelines(report.model, report.nodes.cluster, report.wish);
  return report;
}

TEST(PlanReport, TextSaysWhoHoldsWhatAndWhatLimits) {
  const std::string text = ToText(ThreePhones());
  EXPECT_NE(text.find("48.0 ms a token, 20.83 tokens/s"), std::string::npos) << text;
  EXPECT_NE(text.find("191 of 238         20.00\n"), std::string::npos) << text;
  EXPECT_NE(text.find("40.0 ms in the stages, 8.0 ms on the way, 0.0 ms in the head"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("limited by the nodes' memory bandwidth; split because no node has 381 MiB"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("spares       phone1\n"), std::string::npos) << text;
}

TEST(PlanReport, JsonHasTheSame) {
  const nlohmann::ordered_json json = ToJson(ThreePhones());
  EXPECT_EQ(json["objective"], "time-per-token");
  ASSERT_EQ(json["replicas"].size(), 1U);
  const nlohmann::ordered_json& replica = json["replicas"][0];
  EXPECT_NEAR(replica["ms_per_token"].get<double>(), 48, 1e-6);
  ASSERT_EQ(replica["stages"].size(), 2U);
  EXPECT_EQ(replica["stages"][0]["end_layer"], 2);
  EXPECT_EQ(replica["stages"][1]["end_layer"], 4);
  EXPECT_EQ(json["spares"], (nlohmann::ordered_json{"phone1"}));
}

}  // namespace
}  // namespace shoal
