// Goal: what the solver does beyond Caffe's formulas (kernels/update_test.cc has those): momentum
// that follows the rate, LARS, gradients from elsewhere, other batches.
#include "nn/solver.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "nn/net_testing.h"
#include "nn/scale_to_batch.h"

namespace shoal::nn {
namespace {

class SolverTest : public ::testing::Test {
 protected:
  SolverTest() {
    EXPECT_TRUE(params_.Want(Spec("a", 5)).ok());
    EXPECT_TRUE(params_.Want(Spec("b", 3)).ok());
    EXPECT_TRUE(params_.Allocate(3, true).ok());
  }

  static ParamSpec Spec(const std::string& layer, std::int64_t size) {
    return {.layer = layer, .layout = ParamLayout::Plain(Shape{size}), .filler = kNoise};
  }

  std::unique_ptr<Solver> Make(const SolverDef& def) {
    auto solver = Solver::Make(def, params_, serial_);
    EXPECT_TRUE(solver.ok()) << solver.status().ToString();
    return *std::move(solver);
  }

  // Some gradient of an iteration.
  void FillGradients(int iteration) {
    for (std::size_t p = 0; p < params_.size(); ++p) {
      const auto g = params_.gradient(ParamId{p});
      for (std::size_t i = 0; i < g.size(); ++i) {
        g[i] = std::sin(static_cast<float>(3 * iteration) + 5.0F * static_cast<float>(i + 7 * p));
      }
    }
  }

  ParamStore params_;
  Serial serial_;
};

const SolverDef kWarm{.base_lr = 0.4F,
                      .warmup_iter = 5,
                      .warmup_start_lr = 0.1F,
                      .momentum = 0.9F,
                      .momentum_correction = true};

// With the correction the history is the rate times a velocity that knows nothing of rates:
// u = m u + g, w -= rate u.
TEST_F(SolverTest, MomentumCorrectionIsAVelocityWithoutTheRate) {
  const auto solver = Make(kWarm);
  const auto w = params_.value(ParamId{0});
  std::vector<double> expected(w.begin(), w.end());
  std::vector<double> velocity(expected.size(), 0);
  for (int t = 0; t < 12; ++t) {
    FillGradients(t);
    const double rate = t < 5 ? 0.1 + 0.3 * t / 5 : 0.4;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      velocity[i] = 0.9 * velocity[i] + static_cast<double>(params_.gradient(ParamId{0})[i]);
      expected[i] -= rate * velocity[i];
    }
    solver->Update(0);
    EXPECT_FLOAT_EQ(solver->rate(), static_cast<float>(rate));
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(w[i], expected[i], 2e-6) << t;
  }
}

TEST_F(SolverTest, NesterovIsCorrectedAsWell) {
  SolverDef def = kWarm;
  def.kind = SolverKind::kNesterov;
  const auto solver = Make(def);
  const auto w = params_.value(ParamId{1});
  std::vector<double> expected(w.begin(), w.end());
  std::vector<double> velocity(expected.size(), 0);
  for (int t = 0; t < 12; ++t) {
    FillGradients(t);
    const double rate = t < 5 ? 0.1 + 0.3 * t / 5 : 0.4;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double before = velocity[i];
      velocity[i] = 0.9 * before + static_cast<double>(params_.gradient(ParamId{1})[i]);
      expected[i] -= rate * (1.9 * velocity[i] - 0.9 * before);
    }
    solver->Update(0);
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(w[i], expected[i], 2e-6) << t;
  }
}

TEST_F(SolverTest, ARestoredSolverKnowsTheRateBefore) {
  SolverDef def = kWarm;
  def.lr_policy = LrPolicy::kMultiStep;
  def.gamma = 0.1F;
  def.stepvalues = {7};
  const auto whole = Make(def);
  for (int t = 0; t < 7; ++t) {
    FillGradients(t);
    whole->Update(0);
  }
  const std::vector<float> values(params_.values().begin(), params_.values().end());
  const auto second = Make(def);
  std::copy(whole->all_histories().begin(), whole->all_histories().end(),
            second->all_histories().begin());
  second->Restore(whole->iteration(), whole->schedule_state());
  FillGradients(7);  // Where the rate falls.
  whole->Update(0);
  const std::vector<float> expected(params_.values().begin(), params_.values().end());
  std::copy(values.begin(), values.end(), params_.values().begin());
  second->Update(0);
  EXPECT_EQ(expected, std::vector<float>(params_.values().begin(), params_.values().end()));
  EXPECT_EQ(whole->rate(), second->rate());
}

TEST_F(SolverTest, CorrectionNeedsARateInTheHistory) {
  SolverDef def = kWarm;
  def.kind = SolverKind::kAdam;
  EXPECT_EQ(Solver::Make(def, params_, serial_).status().message(),
            "solver: momentum_correction is for SGD and Nesterov: no other history has the rate");
}

TEST_F(SolverTest, LarsFollowsTheNorms) {
  const SolverDef def{.base_lr = 0.5F,
                      .momentum = 0,
                      .weight_decay = 0.01F,
                      .lars = LarsDef{.clip = false, .eta = 0.02F}};
  const auto solver = Make(def);
  FillGradients(1);
  const auto norm = [](std::span<const float> x) {
    double squares = 0;
    for (const float v : x) squares += static_cast<double>(v) * static_cast<double>(v);
    return std::sqrt(squares);
  };
  std::vector<std::vector<double>> expected;
  for (std::size_t p = 0; p < params_.size(); ++p) {
    const auto w = params_.value(ParamId{p});
    const auto g = params_.gradient(ParamId{p});
    const double local = 0.5 * 0.02 * norm(w) / (norm(g) + 0.01 * norm(w));
    expected.emplace_back();
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double x = static_cast<double>(w[i]);
      expected.back().push_back(x - local * (static_cast<double>(g[i]) + 0.01 * x));
    }
  }
  solver->Update(0);
  for (std::size_t p = 0; p < params_.size(); ++p) {
    const auto w = params_.value(ParamId{p});
    for (std::size_t i = 0; i < w.size(); ++i) EXPECT_NEAR(w[i], expected[p][i], 1e-6);
  }
}

TEST_F(SolverTest, GradientsMayComeFromElsewhere) {
  SolverDef def = kWarm;
  def.clip_gradients = 0.5F;
  const std::vector<float> start(params_.values().begin(), params_.values().end());
  FillGradients(4);
  Make(def)->Update(0);
  const std::vector<float> expected(params_.values().begin(), params_.values().end());
  std::copy(start.begin(), start.end(), params_.values().begin());
  const std::vector<float> elsewhere(params_.gradients().begin(), params_.gradients().end());
  FillGradients(9);
  Make(def)->Update(0, elsewhere, 1);
  EXPECT_EQ(expected, std::vector<float>(params_.values().begin(), params_.values().end()));
}

// Caffe clips the sum over iter_size micro-batches, before it divides by their number. Into how
// many parts the images were cut here must not matter.
TEST_F(SolverTest, ClippingIsOfTheSumOverMicroBatches) {
  const std::vector<float> start(params_.values().begin(), params_.values().end());
  FillGradients(4);
  const std::vector<float> mean(params_.gradients().begin(), params_.gradients().end());
  const double squares =
      std::inner_product(mean.begin(), mean.end(), mean.begin(), 0.0, std::plus<>(),
                         [](float a, float b) { return double{a} * double{b}; });
  const double norm = std::sqrt(squares);
  for (const std::int64_t iter_size : {1, 4}) {
    SolverDef def{.base_lr = 0.4F, .momentum = 0};
    def.iter_size = iter_size;
    def.clip_gradients = static_cast<float>(norm / 2);
    const double scale = 0.5 / static_cast<double>(iter_size);
    for (const std::int64_t parts : {1, 4, 16}) {
      std::copy(start.begin(), start.end(), params_.values().begin());
      std::vector<float> sum = mean;
      for (float& g : sum) g *= static_cast<float>(parts);
      Make(def)->Update(0, sum, parts);
      for (std::size_t i = 0; i < start.size(); ++i) {
        EXPECT_NEAR(params_.values()[i], start[i] - 0.4 * scale * static_cast<double>(mean[i]),
                    1e-6)
            << iter_size << " " << parts;
      }
    }
  }
}

TEST(ScaleToBatchTest, EpochsStayAndRatesGrow) {
  const SolverDef def{.lr_policy = LrPolicy::kMultiStep,
                      .base_lr = 0.1F,
                      .gamma = 0.1F,
                      .stepvalues = {3000, 6000},
                      .warmup_iter = 500,
                      .warmup_start_lr = 0.1F,
                      .max_iter = 9000,
                      .momentum = 0.9F,
                      .test_interval = 2,
                      .snapshot = 0};
  const auto scaled = ScaleToBatch(def, 256, 2048);
  ASSERT_TRUE(scaled.ok());
  EXPECT_FLOAT_EQ(scaled->base_lr, 0.8F);
  EXPECT_EQ(scaled->stepvalues, (std::vector<std::int64_t>{375, 750}));
  EXPECT_EQ(scaled->max_iter, 1125);
  EXPECT_EQ(scaled->warmup_iter, 63);
  EXPECT_FLOAT_EQ(scaled->warmup_start_lr, 0.1F);
  EXPECT_FLOAT_EQ(scaled->gamma, 0.1F);
  EXPECT_FLOAT_EQ(scaled->momentum, 0.9F);
  EXPECT_EQ(scaled->test_interval, 1);
  EXPECT_EQ(scaled->snapshot, 0);
  const auto back = ScaleToBatch(*scaled, 2048, 256);
  ASSERT_TRUE(back.ok());
  EXPECT_FLOAT_EQ(back->base_lr, 0.1F);
  EXPECT_EQ(back->stepvalues, def.stepvalues);
  EXPECT_FALSE(ScaleToBatch(def, 0, 8).ok());
}

// The rate after as many images is the same number of times larger.
TEST(ScaleToBatchTest, EveryPolicyFallsAfterAsManyImages) {
  for (const LrPolicy policy : {LrPolicy::kStep, LrPolicy::kExp, LrPolicy::kInv, LrPolicy::kPoly,
                                LrPolicy::kSigmoid, LrPolicy::kFixed}) {
    const bool step = policy == LrPolicy::kStep;
    const SolverDef def{.lr_policy = policy,
                        .base_lr = 0.01F,
                        .gamma = step                           ? 0.5F
                                 : policy == LrPolicy::kSigmoid ? -0.001F
                                                                : 0.999F,
                        .power = 0.75F,
                        .stepsize = 400,
                        .max_iter = 2000};
    const auto scaled = ScaleToBatch(def, 64, 256);
    ASSERT_TRUE(scaled.ok());
    const auto small = LrSchedule::Make(def);
    const auto large = LrSchedule::Make(*scaled);
    ASSERT_TRUE(small.ok() && large.ok());
    for (const std::int64_t i : {0, 200, 800, 1600}) {
      EXPECT_NEAR(large->RateAt(i / 4) / (4 * small->RateAt(i)), 1, 1e-4) << i;
    }
  }
}

}  // namespace
}  // namespace shoal::nn
