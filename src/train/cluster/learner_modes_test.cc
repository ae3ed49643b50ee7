// Goal: workers that average now and then follow the formulas of common_weights.h.
#include <algorithm>

#include "train/cluster/learner_testing.h"

namespace shoal::train {
namespace {

const nn::SolverDef kPlainSgd{.base_lr = 0.05F, .max_iter = 20, .weight_decay = 0.001F};
const std::vector<std::size_t> kHalves{6, 6};

class LearnerModesTest : public LearnerTesting {
 protected:
  std::unique_ptr<NetLearner> With(const LearnerRule& rule, const nn::SolverDef& solver) {
    NetLearnerSetup setup = NewSetup(solver);
    setup.rule = rule;
    return Learner(std::move(setup));
  }

  Learners Two(const LearnerRule& rule, const nn::SolverDef& solver = kPlainSgd) {
    Learners learners;
    for (int i = 0; i < 2; ++i) learners.push_back(With(rule, solver));
    return learners;
  }

  // What a worker has after updates of its own on thirds of its samples.
  std::vector<float> AloneOnThirds(const nn::SolverDef& solver, std::span<const Sample> samples) {
    Learners alone;
    alone.push_back(Learner(NewSetup(solver)));
    for (std::size_t i = 0; i < 3; ++i) {
      const std::vector<std::size_t> share{samples.size() / 3};
      Compute(*alone[0], 0, samples.subspan(i * share[0], share[0]));
      alone[0]->Apply(AddUp(alone, share), 0);
    }
    const auto values = alone[0]->params().values();
    return {values.begin(), values.end()};
  }
};

TEST_F(LearnerModesTest, AveragingEveryUpdateIsPlainSgd) {
  const Learners local = Two({.mode = LearnerMode::kLocal, .period = 1});
  const Learners sync = Two({});
  for (std::uint64_t step = 0; step < 5; ++step) {
    const double a = Step(local, kHalves, step, 12);
    const double b = Step(sync, kHalves, step, 12);
    EXPECT_NEAR(a, b, 1e-6 * b);
    ExpectNear(sync[0]->params().values(), local[0]->params().values(), 1e-6);
    ExpectSameBits(*sync[0], *sync[1]);
    EXPECT_TRUE(Same(local[0]->params().values(), local[1]->params().values()));
  }
}

TEST_F(LearnerModesTest, LocalSgdIsTheMeanOfWhatWorkersDoAlone) {
  const nn::SolverDef solver = kLearnerSgd;
  const Learners learners = Two({.mode = LearnerMode::kLocal, .period = 3}, solver);
  EXPECT_EQ(learners[0]->parts(), 3U);
  for (const Bucket& bucket : learners[0]->buckets()) EXPECT_EQ(bucket.parts, 3U);
  const std::vector<Sample> samples = Samples(0, 12);
  const auto a = AloneOnThirds(solver, std::span(samples).first(6));
  const auto b = AloneOnThirds(solver, std::span(samples).last(6));
  Step(learners, kHalves, 0, 12);
  std::vector<float> mean(a.size());
  for (std::size_t i = 0; i < mean.size(); ++i) mean[i] = (a[i] + b[i]) / 2;
  for (const auto& learner : learners) {
    ExpectNear(mean, learner->params().values(), 1e-6);
    EXPECT_EQ(learner->iteration(), 3);
  }
}

TEST_F(LearnerModesTest, ElasticAveragingFollowsItsFormulas) {
  const float alpha = 0.3F;
  const float beta = 0.6F;
  const Learners learners =
      Two({.mode = LearnerMode::kElastic, .period = 2, .alpha = alpha, .beta = beta}, kLearnerSgd);
  for (std::uint64_t step = 0; step < 3; ++step) {
    const std::vector<Sample> samples = Samples(step, 12);
    std::vector<std::vector<float>> own;
    const auto common = learners[0]->state()[2];
    const std::vector<float> before(common.begin(), common.end());
    for (std::size_t l = 0; l < 2; ++l) {
      Compute(*learners[l], step, std::span(samples).subspan(6 * l, 6));
      own.emplace_back();
      for (std::size_t i = 0; i < before.size(); ++i) {
        own[l].push_back(before[i] + learners[l]->local()[i]);
      }
    }
    const double loss = AddUp(learners, kHalves);
    for (const auto& learner : learners) learner->Apply(loss, 0);
    std::vector<float> expected;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const float mean = (own[0][i] - before[i] + own[1][i] - before[i]) / 2;
      expected.push_back(before[i] + beta * mean);
    }
    for (std::size_t l = 0; l < 2; ++l) {
      ExpectNear(expected, learners[l]->state()[2], 1e-6);
      for (std::size_t p = 0; p < learners[l]->params().size(); ++p) {
        const nn::ParamId id{p};
        const auto values = learners[l]->params().value(id);
        const std::size_t at = learners[l]->params()[id].gradient_offset;
        for (std::size_t i = 0; i < values.size(); ++i) {
          const float x = own[l][at + i];
          EXPECT_NEAR(values[i], x - alpha * (x - before[at + i]), 1e-6);
        }
      }
    }
    EXPECT_TRUE(Same(learners[0]->state()[2], learners[1]->state()[2]));
    EXPECT_FALSE(Same(learners[0]->state()[0], learners[1]->state()[0]));
  }
  // What is tested and saved is what they agree on.
  const std::vector<float> own(learners[0]->params().values().begin(),
                               learners[0]->params().values().end());
  for (const auto& learner : learners) learner->ExchangeWeights();
  EXPECT_TRUE(Same(learners[0]->params().values(), learners[1]->params().values()));
  learners[0]->ExchangeWeights();
  EXPECT_TRUE(Same(learners[0]->params().values(), own));
}

TEST_F(LearnerModesTest, AStepThatWasNotAppliedDidNotHappen) {
  const auto learner = With({.mode = LearnerMode::kLocal, .period = 2}, kPlainSgd);
  Compute(*learner, 0, Samples(0, 12));
  const std::vector<float> drift(learner->local().begin(), learner->local().end());
  Compute(*learner, 0, Samples(0, 12));
  EXPECT_TRUE(Same(drift, learner->local()));
  EXPECT_EQ(learner->iteration(), 2);
  EXPECT_EQ(learner->Note(), With({.mode = LearnerMode::kLocal, .period = 2}, kPlainSgd)->Note());
}

TEST_F(LearnerModesTest, ANewcomerGoesOnAsItsDonor) {
  for (const LearnerMode mode : {LearnerMode::kLocal, LearnerMode::kElastic}) {
    const LearnerRule rule{.mode = mode, .period = 2, .alpha = 0.3F, .beta = 0.6F};
    const Learners learners = Two(rule, kLearnerSgd);
    for (std::uint64_t step = 0; step < 2; ++step) Step(learners, kHalves, step, 12);
    Learners donor_and_newcomer;
    donor_and_newcomer.push_back(With(rule, kLearnerSgd));
    donor_and_newcomer.push_back(With(rule, kLearnerSgd));
    for (const auto& learner : donor_and_newcomer) Copy(*learners[0], *learner);
    ExpectSameBits(*donor_and_newcomer[0], *learners[0]);
    EXPECT_EQ(donor_and_newcomer[0]->Note(), learners[0]->Note());
    for (std::uint64_t step = 2; step < 4; ++step) Step(donor_and_newcomer, kHalves, step, 12);
    const auto common = [](NetLearner& learner) { return learner.state().back(); };
    if (mode == LearnerMode::kElastic) {
      EXPECT_TRUE(Same(common(*donor_and_newcomer[0]), common(*donor_and_newcomer[1])));
    } else {
      EXPECT_TRUE(
          Same(donor_and_newcomer[0]->params().values(), donor_and_newcomer[1]->params().values()));
    }
  }
}

TEST_F(LearnerModesTest, RulesThatMakeNoSenseAreRefused) {
  const auto message = [&](const LearnerRule& rule) {
    NetLearnerSetup setup = NewSetup();
    setup.rule = rule;
    return std::string(TryLearner(std::move(setup)).status().message());
  };
  EXPECT_EQ(message({.mode = LearnerMode::kLocal, .period = 0}),
            "workers that average need a period of at least one update");
  EXPECT_EQ(message({.mode = LearnerMode::kElastic, .period = 4}),
            "elastic averaging needs alpha in (0, 1) and beta in (0, 1]");
  const auto learner = With({.mode = LearnerMode::kLocal, .period = 9}, kPlainSgd);
  EXPECT_EQ(learner->Begin(0, Samples(0)).message(), "a step of 8 samples in 9 slices");
}

}  // namespace
}  // namespace shoal::train
