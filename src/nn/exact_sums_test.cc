// Goal: sums do not depend on the order; quanta follow the sums; what is absurd does no harm.
#include "nn/exact_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "nn/net_testing.h"

namespace shoal::nn {
namespace {

constexpr std::int64_t kUnits = 12;

class ExactSumsTest : public ::testing::Test {
 protected:
  ExactSumsTest() {
    NetDef def{.name = "two products"};
    def.layers = {Input("data", {4, 6, 1, 1}), Input("label", {4})};
    def.layers.push_back(
        Layer("a", InnerProductDef{.outputs = 50, .weight_filler = kNoise}, {"data"}, {"a"}));
    def.layers.push_back(
        Layer("b", InnerProductDef{.outputs = 5, .weight_filler = kNoise}, {"a"}, {"b"}));
    def.layers.push_back(Layer("loss", SoftmaxLossDef{}, {"b", "label"}, {"loss"}));
    auto made = Net::Build(def, {.backward = true}, params_, chooser_, serial_);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    EXPECT_TRUE(params_.Allocate(7, true).ok());
  }

  ExactSums New() {
    auto sums = ExactSums::Make(params_, kUnits, serial_);
    EXPECT_TRUE(sums.ok());
    return *std::move(sums);
  }

  std::vector<float> Unit(std::uint64_t number, float size = 1) {
    Random random(number);
    std::vector<float> gradients(params_.gradients().size());
    for (float& g : gradients) g = size * static_cast<float>(random.Normal());
    return gradients;
  }

  static void Add(ExactSums& sums, const std::vector<float>& unit) {
    sums.Add(unit, 0, unit.size());
  }

  static std::vector<float> Bits(const ExactSums& sums) {
    return {sums.sums().begin(), sums.sums().end()};
  }

  ParamStore params_;
  FirstSupported chooser_;
  Serial serial_;
};

TEST_F(ExactSumsTest, TheOrderDoesNotMatter) {
  ExactSums up = New();
  ExactSums down = New();
  for (int step = 0; step < 20; ++step) {
    const float size = std::pow(10.0F, static_cast<float>(step % 7 - 3));
    up.Clear();
    down.Clear();
    for (std::uint64_t u = 0; u < kUnits; ++u) Add(up, Unit(100 + u, size));
    for (std::uint64_t u = kUnits; u-- > 0;) Add(down, Unit(100 + u, size));
    EXPECT_EQ(Bits(up), Bits(down)) << step;
    up.Follow(up.sums());
    down.Follow(down.sums());
    EXPECT_EQ(up.limits(), down.limits());
  }
}

TEST_F(ExactSumsTest, PiecesOfAUnitAreTheUnit) {
  ExactSums whole = New();
  ExactSums pieces = New();
  const std::vector<float> unit = Unit(1);
  Add(whole, unit);
  for (std::size_t at = 0; at < unit.size(); at += 37) {
    pieces.Add(unit, at, std::min(at + 37, unit.size()));
  }
  EXPECT_EQ(Bits(whole), Bits(pieces));
}

TEST_F(ExactSumsTest, SumsAreCloseOnceQuantaHaveFollowed) {
  ExactSums sums = New();
  for (int step = 0; step < 30; ++step) {  // From the first limit, 2^4, down to these.
    sums.Clear();
    for (std::uint64_t u = 0; u < kUnits; ++u) Add(sums, Unit(u, 1e-4F));
    sums.Follow(sums.sums());
  }
  sums.Clear();
  std::vector<double> truth(params_.gradients().size());
  for (std::uint64_t u = 0; u < kUnits; ++u) {
    const std::vector<float> unit = Unit(u, 1e-4F);
    Add(sums, unit);
    for (std::size_t i = 0; i < unit.size(); ++i) truth[i] += static_cast<double>(unit[i]);
  }
  for (const Param& param : params_.params()) {
    double largest = 0;
    double apart = 0;
    for (std::size_t i = 0; i < param.spec.layout.elements(); ++i) {
      const std::size_t at = param.gradient_offset + i;
      largest = std::max(largest, std::abs(truth[at]));
      apart = std::max(apart, std::abs(truth[at] - static_cast<double>(sums.sums()[at])));
    }
    EXPECT_LT(apart, 1e-4 * largest);
  }
}

TEST_F(ExactSumsTest, ALeapIsCutOffOnceAndFollowed) {
  ExactSums sums = New();
  Add(sums, Unit(1, 1e6F));
  EXPECT_LE(sums.sums()[0], 16.0F);
  for (int step = 0; step < 10; ++step) {
    sums.Follow(sums.sums());
    sums.Clear();
    Add(sums, Unit(1, 1e6F));
  }
  EXPECT_NEAR(sums.sums()[0], Unit(1, 1e6F)[0], 10);
}

TEST_F(ExactSumsTest, NothingAndNoNumbersLeaveTheQuantaAlone) {
  ExactSums sums = New();
  const std::vector<int> before = sums.limits();
  sums.Follow(sums.sums());
  EXPECT_EQ(sums.limits(), before);
  std::vector<float> unit = Unit(1);
  for (float& g : unit) g = std::numeric_limits<float>::quiet_NaN();
  Add(sums, unit);
  EXPECT_TRUE(std::isnan(sums.sums()[0]));
  sums.Follow(sums.sums());
  EXPECT_EQ(sums.limits(), before);
}

TEST_F(ExactSumsTest, LimitsOfAnotherNetworkAreRefused) {
  ExactSums sums = New();
  std::vector<int> limits = sums.limits();
  limits[0] = 7;
  EXPECT_TRUE(sums.SetLimits(limits).ok());
  EXPECT_EQ(sums.limits(), limits);
  limits[0] = 1000;
  EXPECT_EQ(sums.SetLimits(limits).code(), Code::kInvalidArgument);
  EXPECT_EQ(sums.SetLimits({}).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::nn
