// Goal: buckets of real networks are whole when the plan says so, on devices that differ in batch
// and memory.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "caffe/net_file.h"
#include "nn/first_supported.h"
#include "nn/gradient_buckets.h"
#include "nn/net.h"

namespace shoal::train {
namespace {

struct ZooCase {
  std::string net;
  std::int64_t size;         // Of an image.
  std::size_t bytes;         // Of a bucket.
  std::size_t percent = 95;  // Of the arena: what recomputing can make do with.
};

struct ZooNet {
  explicit ZooNet(const ZooCase& test, std::int64_t batch, std::size_t bytes_max = 0) {
    std::ifstream file(SHOAL_ZOO "/" + test.net);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto parsed = caffe::NetFile::Parse(test.net, text);
    EXPECT_TRUE(parsed.ok()) << parsed.status().ToString();
    const auto network = parsed->Build({.phase = nn::Phase::kTrain});
    EXPECT_TRUE(network.ok()) << network.status().ToString();
    const auto& source = network->sources[0];
    auto made =
        nn::Net::Build(network->net,
                       {.input_shapes = {{source.data_top, Shape{batch, 3, test.size, test.size}},
                                         {source.label_top, Shape{batch}}},
                        .backward = true,
                        .bytes_max = bytes_max},
                       params, chooser, serial);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    net = *std::move(made);
    plan = nn::PlanGradients(net->graph(), params, test.bytes);
  }

  nn::ParamStore params;
  nn::FirstSupported chooser;
  Serial serial;
  std::unique_ptr<nn::Net> net;
  nn::GradientPlan plan;
};

class ZooBucketsTest : public ::testing::TestWithParam<ZooCase> {};

TEST_P(ZooBucketsTest, EveryGradientIsInOneBucketOfAboutTheSize) {
  const ZooNet zoo(GetParam(), 1);
  std::size_t learnable = 0;
  std::size_t sent = 0;
  std::vector<int> times(zoo.params.size(), 0);
  for (const nn::ParamId id : zoo.plan.order) {
    ++times[static_cast<std::size_t>(id)];
    sent += zoo.params[id].floats();
  }
  for (std::size_t i = 0; i < zoo.params.size(); ++i) {
    const nn::Param& param = zoo.params[nn::ParamId{i}];
    EXPECT_EQ(times[i], param.learnable() ? 1 : 0) << param.spec.layer;
    if (param.learnable()) learnable += param.spec.layout.elements();
  }
  EXPECT_EQ(zoo.plan.floats(), sent);
  EXPECT_LT(static_cast<double>(sent), 1.03 * static_cast<double>(learnable));  // Gaps.
  std::size_t at = 0;
  for (const nn::GradientBucket& bucket : zoo.plan.buckets) {
    EXPECT_EQ(bucket.begin, at);
    at = bucket.end;
    EXPECT_TRUE((bucket.end - bucket.begin) * sizeof(float) == GetParam().bytes || at == sent);
  }
  EXPECT_EQ(at, sent);
  EXPECT_GE(zoo.plan.stages.size(), 3U);
}

TEST_P(ZooBucketsTest, AreWholeAfterTheirStage) {
  ZooNet zoo(GetParam(), 1);
  zoo.params.OrderGradients(zoo.plan.order);
  ASSERT_TRUE(zoo.params.Allocate(7, true).ok());
  const nn::Blob data = *zoo.net->blob("data");
  for (std::size_t i = 0; i < data.elements(); ++i) {
    data.data[i] = static_cast<float>(i * 7919 % 1009) / 500.0F - 1;
  }
  zoo.net->blob("label")->data[0] = 3;
  ASSERT_TRUE(zoo.net->Forward(0).ok());
  const std::vector<std::size_t> steps = nn::StepsOfStages(zoo.plan, zoo.net->plan());
  std::vector<float> seen(zoo.plan.floats());
  std::size_t done = 0;
  for (std::size_t stage = 0; stage < steps.size(); ++stage) {
    zoo.net->BackwardSteps(done, steps[stage], {});
    done = steps[stage];
    for (const nn::GradientBucket& bucket : zoo.plan.buckets) {
      if (bucket.stage != stage) continue;
      const auto from = zoo.params.gradients();
      for (std::size_t i = bucket.begin; i < bucket.end; ++i) seen[i] = from[i];
    }
  }
  EXPECT_EQ(done, zoo.net->backward_steps());
  const auto all = zoo.params.gradients().first(zoo.plan.floats());
  EXPECT_TRUE(std::equal(all.begin(), all.end(), seen.begin()));
}

TEST_P(ZooBucketsTest, DoNotDependOnBatchAndMemory) {
  const ZooNet one(GetParam(), 1);
  const ZooNet four(GetParam(), 4);
  const ZooNet tight(GetParam(), 4, four.net->arena_bytes() * GetParam().percent / 100);
  EXPECT_EQ(one.plan, four.plan);
  EXPECT_EQ(four.plan, tight.plan);
  for (const ZooNet* zoo : {&one, &four, &tight}) {
    const auto steps = nn::StepsOfStages(zoo->plan, zoo->net->plan());
    EXPECT_EQ(steps.back(), zoo->net->backward_steps());
  }
}

TEST(ZooBuckets, ALargeParameterIsInSeveral) {
  const ZooNet alexnet({"alexnet/train_val.prototxt", 227, std::size_t{4} << 20U}, 1);
  EXPECT_EQ(alexnet.plan.buckets.size(), (alexnet.plan.floats() - 1) / (1U << 20U) + 1);
  // 60 million parameters, of which one layer has 38 million.
  EXPECT_EQ(alexnet.plan.buckets.size(), 59U);
  EXPECT_LE(alexnet.plan.stages.size(), 8U);
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, ZooBucketsTest,
    ::testing::Values(ZooCase{"resnet20/train_val.prototxt", 28, std::size_t{64} << 10U},
                      ZooCase{"googlenet/train_val.prototxt", 224, std::size_t{4} << 20U, 100},
                      ZooCase{"mobilenet_v2/train_val.prototxt", 224, std::size_t{1} << 20U}),
    [](const auto& test) { return test.param.net.substr(0, test.param.net.find('/')); });

}  // namespace
}  // namespace shoal::train
