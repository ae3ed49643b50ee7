// Goal: a bucket is whole when the plan says so, whatever shares parameters or branches.
#include "nn/gradient_buckets.h"

#include <gtest/gtest.h>

#include <set>

#include "nn/net_testing.h"

namespace shoal::nn {
namespace {

constexpr std::size_t kBytes = 256;

LayerDef Product(const std::string& name, const std::string& from, std::int64_t outputs) {
  return Layer(name, InnerProductDef{.outputs = outputs, .weight_filler = kNoise}, {from}, {name});
}

// Two branches whose first layers share their weights, a layer that stays as it is, and one that
// no loss depends on.
NetDef Branches() {
  NetDef net{.name = "branches"};
  net.layers = {Input("data", {4, 6, 1, 1}), Input("label", {4})};
  for (const std::string side : {"left", "right"}) {
    net.layers.push_back(Product(side, "data", 20));
    net.layers.back().params = {{.name = "shared_w"}, {.name = "shared_b"}};
    net.layers.push_back(Product(side + "_own", side, 9));
  }
  net.layers.push_back(Layer("sum", EltwiseDef{}, {"left_own", "right_own"}, {"sum"}));
  net.layers.push_back(Layer("norm", BatchNormDef{}, {"sum"}, {"norm"}));
  net.layers.push_back(Layer("scale", ScaleDef{.bias = true}, {"norm"}, {"scale"}));
  net.layers.push_back(Product("frozen", "scale", 7));
  net.layers.back().params = {{.lr_mult = 0}, {.lr_mult = 0}};
  net.layers.push_back(Product("fc", "frozen", 5));
  net.layers.push_back(Product("unused", "frozen", 3));
  net.layers.push_back(Layer("loss", SoftmaxLossDef{}, {"fc", "label"}, {"loss"}));
  return net;
}

// As TestNet, with gradients in the order of a plan.
struct Planned {
  explicit Planned(const NetDef& def) {
    auto made = Net::Build(def, {.backward = true}, params, chooser, serial);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    net = *std::move(made);
    plan = PlanGradients(net->graph(), params, kBytes);
    params.OrderGradients(plan.order);
    EXPECT_TRUE(params.Allocate(7, true).ok());
    FillApart(*net->blob("data"));
    for (std::size_t i = 0; i < 4; ++i) net->blob("label")->data[i] = static_cast<float>(i);
    EXPECT_TRUE(net->Forward(3).ok());
  }

  ParamStore params;
  FirstSupported chooser;
  Serial serial;
  std::unique_ptr<Net> net;
  GradientPlan plan;
};

TEST(GradientBucketsTest, HoldWhatIsLearnedAndCounts) {
  Planned test(Branches());
  std::set<std::string> layers;
  for (const ParamId id : test.plan.order) layers.insert(test.params[id].spec.layer);
  EXPECT_EQ(layers, (std::set<std::string>{"left", "left_own", "right_own", "scale", "fc"}));
  // The weights that both branches use come last, though one branch is done before the other.
  EXPECT_EQ(test.params[test.plan.order.back()].spec.layer, "left");
  std::size_t floats = 0;
  for (const ParamId id : test.plan.order) {
    EXPECT_EQ(test.params[id].gradient_offset, floats);
    floats += test.params[id].floats();
  }
  EXPECT_EQ(test.plan.floats(), floats);
  std::size_t at = 0;
  for (const GradientBucket& bucket : test.plan.buckets) {
    EXPECT_EQ(bucket.begin, at);
    at = bucket.end;
    EXPECT_TRUE((bucket.end - bucket.begin) * sizeof(float) == kBytes || at == floats);
  }
  EXPECT_EQ(at, floats);
}

TEST(GradientBucketsTest, AreWholeAfterTheirStage) {
  Planned test(Branches());
  const std::vector<std::size_t> steps = StepsOfStages(test.plan, test.net->plan());
  ASSERT_GT(steps.size(), 2U);
  std::vector<float> seen(test.plan.floats());
  std::size_t done = 0;
  for (std::size_t stage = 0; stage < steps.size(); ++stage) {
    test.net->BackwardSteps(done, steps[stage], {});
    done = steps[stage];
    for (const GradientBucket& bucket : test.plan.buckets) {
      if (bucket.stage != stage) continue;
      for (std::size_t i = bucket.begin; i < bucket.end; ++i) seen[i] = test.params.gradients()[i];
    }
  }
  EXPECT_EQ(done, test.net->backward_steps());
  const auto all = test.params.gradients().first(test.plan.floats());
  EXPECT_EQ(seen, std::vector<float>(all.begin(), all.end()));
  Planned whole(Branches());
  whole.net->Backward(false);
  const auto at_once = whole.params.gradients().first(whole.plan.floats());
  EXPECT_EQ(seen, std::vector<float>(at_once.begin(), at_once.end()));
}

TEST(GradientBucketsTest, OrderingChangesNoGradient) {
  Planned ordered(Branches());
  TestNet plain(Branches());
  FillApart(*plain.net->blob("data"));
  for (std::size_t i = 0; i < 4; ++i) plain.net->blob("label")->data[i] = static_cast<float>(i);
  plain.Loss();
  plain.net->Backward(false);
  ordered.net->Backward(false);
  for (std::size_t p = 0; p < plain.params.size(); ++p) {
    const auto x = plain.params.gradient(ParamId{p});
    const auto y = ordered.params.gradient(ParamId{p});
    EXPECT_TRUE(std::equal(x.begin(), x.end(), y.begin(), y.end())) << p;
  }
}

TEST(GradientBucketsTest, TheLossCanCountLess) {
  Planned whole(Branches());
  Planned quarter(Branches());
  whole.net->Backward(false);
  quarter.net->BackwardSteps(0, quarter.net->backward_steps(), {.weight = 0.25F});
  for (std::size_t i = 0; i < whole.plan.floats(); ++i) {
    EXPECT_EQ(quarter.params.gradients()[i], 0.25F * whole.params.gradients()[i]);
  }
}

}  // namespace
}  // namespace shoal::nn
