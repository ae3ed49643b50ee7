// Goal: with exact sums, one Trainer and any number of learners that share the units in any way
// have the same bits in every parameter they learn, with normalisation and dropout too.
#include <gtest/gtest.h>

#include <cstring>

#include "train/cluster/learner_testing.h"
#include "train/unit.h"

namespace shoal::train {
namespace {

constexpr std::int64_t kUnit = 2;

class ExactLearnerTest : public LearnerTesting {
 protected:
  std::string NetText() const override { return TinyNet(database_); }

  std::unique_ptr<NetLearner> ExactLearner(std::uint64_t worker,
                                           const nn::SolverDef& solver = kLearnerSgd) {
    NetLearnerSetup setup = NewSetup(solver);
    setup.unit = kUnit;
    setup.batch = 8;
    setup.worker_seed = worker;
    return Learner(std::move(setup));
  }

  // Units of a step by learner; sums go around in that order.
  using Hands = std::vector<std::vector<std::size_t>>;

  static void Step(const Learners& learners, const Hands& hands, std::uint64_t step) {
    const std::vector<Sample> samples = Samples(step);
    std::vector<float> sums(learners[0]->local().size());
    std::int64_t all = 0;
    for (std::size_t l = 0; l < learners.size(); ++l) {
      std::vector<Sample> mine;
      for (const std::size_t unit : hands[l]) {
        const auto begin = samples.begin() + static_cast<std::ptrdiff_t>(unit * kUnit);
        mine.insert(mine.end(), begin, begin + kUnit);
      }
      Compute(*learners[l], step, mine);
      all += static_cast<std::int64_t>(mine.size());
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += learners[l]->local()[i];
    }
    for (const auto& learner : learners) {
      std::copy(sums.begin(), sums.end(), learner->sums().begin());
      learner->Apply(0, all);
    }
  }

  static void ExpectSameParams(nn::ParamStore& a, nn::ParamStore& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      const nn::ParamId id{i};
      if (!a[id].learnable()) continue;
      EXPECT_EQ(std::memcmp(a.value(id).data(), b.value(id).data(), a.value(id).size_bytes()), 0)
          << a[id].spec.layer;
    }
  }
};

TEST_F(ExactLearnerTest, AnySharingGivesTheBitsOfOneTrainer) {
  const auto trainer = Make(kLearnerSgd, {.unit = kUnit});
  EXPECT_EQ(trainer->batch(), 8);
  EXPECT_EQ(trainer->images_per_step(), 8);
  Learners alone, two, three;
  alone.push_back(ExactLearner(1));
  for (std::uint64_t i = 0; i < 2; ++i) two.push_back(ExactLearner(i));
  for (std::uint64_t i = 0; i < 3; ++i) three.push_back(ExactLearner(10 + i));
  for (std::uint64_t step = 0; step < 8; ++step) {
    Steps(1, *trainer);
    Step(alone, {{0, 1, 2, 3}}, step);
    Step(two, {{3, 1}, {2, 0}}, step);
    Step(three, step % 2 == 0 ? Hands{{1}, {0, 3}, {2}} : Hands{{2, 0}, {1}, {3}}, step);
    ExpectSameParams(trainer->params(), alone[0]->params());
    ExpectSameParams(trainer->params(), two[1]->params());
    ExpectSameParams(trainer->params(), three[2]->params());
  }
}

// Samples do not see each other: units make no difference but rounding.
class PlainExactTest : public ExactLearnerTest {
 protected:
  std::string NetText() const override { return PlainNet(database_); }
};

// Units are not micro-batches: what is clipped is what one process without --exact clips.
TEST_F(PlainExactTest, ClipsAsWithoutUnits) {
  nn::SolverDef solver = kLearnerSgd;
  solver.clip_gradients = 0.5F;
  const auto plain = Make(solver, {});
  const auto exact = Make(solver, {.unit = kUnit});
  Learners learners;
  learners.push_back(ExactLearner(1, solver));
  for (std::uint64_t step = 0; step < 3; ++step) {
    Steps(1, *plain);
    Steps(1, *exact);
    Step(learners, {{0, 1, 2, 3}}, step);
  }
  ExpectSameParams(exact->params(), learners[0]->params());
  for (std::size_t i = 0; i < plain->params().size(); ++i) {
    const nn::ParamId id{i};
    if (!plain->params()[id].learnable()) continue;
    ExpectNear(plain->params().value(id), exact->params().value(id), 1e-4);
  }
}

TEST_F(ExactLearnerTest, ANewcomerGoesOnWithTheSameBits) {
  Learners learners;
  for (std::uint64_t i = 0; i < 2; ++i) learners.push_back(ExactLearner(i));
  for (std::uint64_t step = 0; step < 3; ++step) Step(learners, {{0, 1}, {2, 3}}, step);
  learners.push_back(ExactLearner(7));
  Copy(*learners[0], *learners[2]);
  for (std::uint64_t step = 3; step < 6; ++step) Step(learners, {{0}, {2, 3}, {1}}, step);
  ExpectSameParams(learners[0]->params(), learners[2]->params());
}

TEST_F(ExactLearnerTest, AResumedTrainerGoesOnWithTheSameBits) {
  const auto whole = Make(kLearnerSgd, {.unit = kUnit});
  Steps(6, *whole);
  const auto first = Make(kLearnerSgd, {.unit = kUnit});
  Steps(3, *first);
  const auto second = Make(kLearnerSgd, {.unit = kUnit});
  ASSERT_TRUE(second->LoadWeights("w", first->WeightsBytes()).ok());
  const auto state = caffe::ReadSolverState("s", first->StateBytes("w"));
  ASSERT_TRUE(state.ok()) << state.status().ToString();
  const auto sidecar = ReadSidecar("x", WriteSidecar(first->MakeSidecar({})));
  ASSERT_TRUE(sidecar.ok());
  ASSERT_TRUE(second->Resume("s", *state, *sidecar).ok());
  Steps(3, *second);
  ExpectSameParams(whole->params(), second->params());
}

TEST_F(ExactLearnerTest, WhatCannotBeSaysWhy) {
  NetLearnerSetup setup = NewSetup();
  setup.unit = 3;
  setup.batch = 8;
  EXPECT_EQ(std::string(TryLearner(std::move(setup)).status().message()),
            "units of 3 images do not divide a batch of 8: choose --unit so that they do");
  const auto learner = ExactLearner(1);
  EXPECT_EQ(learner->Begin(0, Samples(0, 5)).code(), Code::kInvalidArgument);
}

TEST(UnitTest, ADefaultDividesTheBatch) {
  EXPECT_EQ(DefaultUnit(128), 8);
  EXPECT_EQ(DefaultUnit(100), 5);
  EXPECT_EQ(DefaultUnit(17), 1);
  EXPECT_EQ(DefaultUnit(1), 1);
  EXPECT_EQ(DefaultUnit(512), 32);
}

}  // namespace
}  // namespace shoal::train
