#include "nn/conv_tuner.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kernels/kernel_testing.h"
#include "nn/first_supported.h"

namespace shoal::nn {
namespace {

using kernels::ConvImplementation;
using kernels::ConvOptions;
using kernels::ConvPass;
using kernels::ConvShape;

// Rows that take the time they say and compute nothing.
struct World {
  double seconds = 0;
  int first_runs = 0;
  int slow_runs = 0;
};
World* world = nullptr;  // Factories are plain functions.

template <class Args>
class FakePass final : public ConvPass<Args> {
 public:
  FakePass(double seconds, std::size_t workspace_floats, int* runs)
      : seconds_(seconds), workspace_floats_(workspace_floats), runs_(runs) {}
  std::size_t workspace_floats() const override { return workspace_floats_; }
  void Run(const Args& /*args*/, float* /*workspace*/, Parallel& /*parallel*/) override {
    world->seconds += seconds_;
    if (runs_ != nullptr) ++*runs_;
  }

 private:
  double seconds_;
  std::size_t workspace_floats_;
  int* runs_;
};

// 3 ms, every shape.
template <class Args>
std::unique_ptr<ConvPass<Args>> MakeFirst(const ConvShape&, const ConvOptions&) {
  return std::make_unique<FakePass<Args>>(3e-3, 16, &world->first_runs);
}
// 2 ms, only 3 x 3.
template <class Args>
std::unique_ptr<ConvPass<Args>> MakeThree(const ConvShape& shape, const ConvOptions&) {
  if (shape.kernel_h != 3) return nullptr;
  return std::make_unique<FakePass<Args>>(2e-3, 0, nullptr);
}
// 1 ms, not ours.
template <class Args>
std::unique_ptr<ConvPass<Args>> MakeForeign(const ConvShape&, const ConvOptions&) {
  return std::make_unique<FakePass<Args>>(1e-3, 100, nullptr);
}
template <class Args>
std::unique_ptr<ConvPass<Args>> MakeHuge(const ConvShape&, const ConvOptions&) {
  return std::make_unique<FakePass<Args>>(1e-4, std::size_t{1} << 30U, nullptr);
}
template <class Args>
std::unique_ptr<ConvPass<Args>> MakeSlow(const ConvShape&, const ConvOptions&) {
  return std::make_unique<FakePass<Args>>(1, 0, &world->slow_runs);
}

using F = kernels::ConvForwardArgs;
using D = kernels::ConvBackwardDataArgs;
using W = kernels::ConvBackwardWeightsArgs;

constexpr ConvImplementation kRows[] = {
    {"first", true, &MakeFirst<F>, &MakeFirst<D>, &MakeFirst<W>},
    {"three", true, &MakeThree<F>, &MakeThree<D>, &MakeThree<W>},
    {"foreign", false, &MakeForeign<F>, nullptr, &MakeForeign<W>},
    {"huge", false, &MakeHuge<F>, &MakeHuge<D>, &MakeHuge<W>},
    {"slow", false, &MakeSlow<F>, &MakeSlow<D>, &MakeSlow<W>},
};

constexpr ConvShape kThree{
    .batch = 1, .height = 4, .width = 4, .channels = 2, .outputs = 2, .kernel_h = 3, .kernel_w = 3};
constexpr ConvShape kOne{.batch = 1, .height = 4, .width = 4, .channels = 2, .outputs = 2};

class ConvTunerTest : public testing::Test {
 protected:
  ConvTunerTest() { world = &world_; }
  ~ConvTunerTest() override { world = nullptr; }

  std::unique_ptr<ConvTuner> Make(ConvTunerOptions options = {.device = "a phone"}) {
    Result<std::unique_ptr<ConvTuner>> tuner = ConvTuner::Make(
        std::move(options), serial_, [this] { return world_.seconds; }, kRows);
    SHOAL_CHECK(tuner.ok());
    return *std::move(tuner);
  }

  World world_;
  Serial serial_;
};

TEST_F(ConvTunerTest, TakesTheFastest) {
  const auto tuner = Make();
  EXPECT_EQ(tuner->Choose(kThree, ConvDirection::kForward).name, "foreign");
  EXPECT_EQ(tuner->Choose(kThree, ConvDirection::kBackwardData).name, "three");
  EXPECT_EQ(tuner->Choose(kOne, ConvDirection::kBackwardData).name, "first");
  EXPECT_EQ(tuner->measured(), 3U);
}

TEST_F(ConvTunerTest, MeasuresInTheMemoryThatThereIs) {
  // x and y have 32 floats each, w has 4; "foreign" wants 100 to work in, "first" 16.
  const auto choose = [&](std::size_t floats) {
    const auto tuner = Make({.bytes_max = floats * sizeof(float)});
    return std::string(tuner->Choose(kOne, ConvDirection::kForward).name);
  };
  EXPECT_EQ(choose(168), "foreign");
  EXPECT_EQ(choose(167), "first");
  EXPECT_GT(world_.first_runs, 0);
  const int runs = world_.first_runs;
  EXPECT_EQ(choose(60), "first");  // Without a run.
  EXPECT_EQ(world_.first_runs, runs);
}

TEST_F(ConvTunerTest, MeasuresOnceAndNotForLong) {
  const auto tuner = Make();
  tuner->Choose(kThree, ConvDirection::kForward);
  EXPECT_EQ(world_.slow_runs, 1);
  EXPECT_LT(world_.seconds, 1 + 0.2);
  const double seconds = world_.seconds;
  tuner->Choose(kThree, ConvDirection::kForward);
  EXPECT_EQ(world_.seconds, seconds);
  EXPECT_EQ(tuner->measured(), 1U);
}

TEST_F(ConvTunerTest, ABackendLimitsTheRows) {
  const auto portable = Make({.backend = "portable"});
  EXPECT_EQ(portable->Choose(kThree, ConvDirection::kForward).name, "three");
  EXPECT_EQ(portable->Choose(kOne, ConvDirection::kForward).name, "first");
  const auto three = Make({.backend = "three"});
  EXPECT_EQ(three->Choose(kThree, ConvDirection::kForward).name, "three");
  EXPECT_EQ(three->Choose(kOne, ConvDirection::kForward).name, "first");
  EXPECT_EQ(three->measured(), 0U) << "there is nothing to choose from";
  const auto none = ConvTuner::Make(
      {.backend = "fpga"}, serial_, [] { return 0.0; }, kRows);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().message(),
            "no backend is called 'fpga'; there are auto, portable, first, three, foreign, huge, "
            "slow");
}

TEST_F(ConvTunerTest, RemembersWhatItSaved) {
  const auto before = Make();
  before->Choose(kThree, ConvDirection::kForward);
  const std::string text = before->Save();
  const auto after = Make();
  ASSERT_TRUE(after->Load(text).ok());
  EXPECT_EQ(after->Choose(kThree, ConvDirection::kForward).name, "foreign");
  EXPECT_EQ(after->measured(), 0U);
  EXPECT_EQ(after->Save(), text);
}

TEST_F(ConvTunerTest, OtherDevicesTimesAreKeptButNotUsed) {
  const auto phone = Make({.device = "another phone"});
  phone->Choose(kThree, ConvDirection::kForward);
  const auto tuner = Make();
  ASSERT_TRUE(tuner->Load(phone->Save()).ok());
  tuner->Choose(kThree, ConvDirection::kForward);
  EXPECT_EQ(tuner->measured(), 1U);
  EXPECT_NE(tuner->Save().find("[device another phone;"), std::string::npos);
  EXPECT_NE(tuner->Save().find("[device a phone;"), std::string::npos);
}

TEST_F(ConvTunerTest, AFileThatAsksForTheImpossibleIsMeasuredAnew) {
  const auto before = Make();
  before->Choose(kOne, ConvDirection::kBackwardData);
  std::string text = before->Save();
  text.replace(text.find(": first"), 7, ": three");
  const auto after = Make();
  ASSERT_TRUE(after->Load(text).ok());
  EXPECT_EQ(after->Choose(kOne, ConvDirection::kBackwardData).name, "first");
  EXPECT_FALSE(after->Load("nonsense").ok());
}

TEST_F(ConvTunerTest, PresetChoicesAreTaken) {
  const auto before = Make();
  before->Choose(kThree, ConvDirection::kForward);
  before->Choose(kOne, ConvDirection::kBackwardWeights);
  const std::vector<ConvChoice> choices = before->Choices();
  ASSERT_EQ(choices.size(), 2U);
  EXPECT_EQ(choices[0],
            (ConvChoice{"n1 4x4x2 o2 k1x1 s1x1 p0x0 d1x1 g1 backward-weights", "foreign"}));
  // Also where they are not the fastest, or not of the backend.
  const auto after = Make({.backend = "portable"});
  ASSERT_TRUE(after->Preset(choices).ok());
  EXPECT_EQ(after->Choose(kThree, ConvDirection::kForward).name, "foreign");
  EXPECT_EQ(after->measured(), 0U);
  const std::vector<ConvChoice> unknown = {{choices[0].pass, "cudnn"}};
  EXPECT_EQ(after->Preset(unknown).code(), Code::kNotFound);
}

TEST(FirstSupportedTest, NeedsNoMeasuring) {
  FirstSupported chooser;
  EXPECT_EQ(chooser.Choose(kThree, ConvDirection::kForward).name, "implicit-gemm");
  ConvShape depthwise = kThree;
  depthwise.groups = 2;
  EXPECT_TRUE(chooser.Choose(depthwise, ConvDirection::kForward).portable);
}

TEST(ConvTunerOnTheTableTest, ChoosesAPassThatRuns) {
  kernels::TestThreads threads(2);
  double ticks = 0;
  const auto tuner =
      ConvTuner::Make({.seconds_per_pass = 1e-3}, threads, [&] { return ticks += 1e-4; });
  ASSERT_TRUE(tuner.ok());
  for (const ConvDirection direction :
       {ConvDirection::kForward, ConvDirection::kBackwardData, ConvDirection::kBackwardWeights}) {
    EXPECT_FALSE((*tuner)->Choose(kThree, direction).name.empty());
  }
  EXPECT_EQ((*tuner)->Choices().size(), 3U);
}

}  // namespace
}  // namespace shoal::nn
