// Goal: a cluster's synchronous step is the step of one Trainer on the whole batch, however the
// batch is shared and cut; newcomers become their donors; what cannot work says why.
#include "train/cluster/net_learner.h"

#include <algorithm>

#include "train/cluster/learner_testing.h"

namespace shoal::train {
namespace {

class NetLearnerTest : public LearnerTesting {
 protected:
  // Six steps of learners with these shares of 8 samples, times iter_size, beside a Trainer.
  void ExpectStepsOfTheWhole(const nn::SolverDef& solver, const std::vector<std::size_t>& shares) {
    const auto trainer = Make(solver);
    Learners learners;
    for (std::size_t i = 0; i < shares.size(); ++i) learners.push_back(Learner(NewSetup(solver)));
    for (std::uint64_t step = 0; step < 6; ++step) {
      Steps(1, *trainer);
      const double loss =
          Step(learners, shares, step, 8 * static_cast<std::size_t>(solver.iter_size));
      EXPECT_NEAR(loss, trainer->loss(), 1e-6 * trainer->loss());
      for (const auto& learner : learners) {
        ExpectNear(trainer->params().values(), learner->params().values(), 1e-6);
        EXPECT_EQ(learner->rate(), trainer->rate());
      }
    }
    EXPECT_EQ(learners[0]->iteration(), 6);
    EXPECT_NEAR(learners[0]->smoothed_loss(), trainer->smoothed_loss(), 1e-6);
    for (const auto& learner : learners) ExpectSameBits(*learners[0], *learner);
  }

  // A learner into whose memory no more than a few samples fit.
  std::unique_ptr<NetLearner> Narrow() {
    for (std::size_t bytes = 40'000; bytes < 10'000'000; bytes += bytes / 8) {
      NetLearnerSetup setup = NewSetup();
      setup.bytes_max = bytes;
      auto learner = TryLearner(std::move(setup));
      if (learner.ok() && (*learner)->samples_max() > 1) return *std::move(learner);
    }
    return nullptr;
  }

  std::string Failure(const std::string& text, NetLearnerSetup setup) {
    const auto file = caffe::NetFile::Parse("wrong.prototxt", text);
    EXPECT_TRUE(file.ok()) << file.status().ToString();
    setup.train = *file->Build({.phase = nn::Phase::kTrain});
    return std::string(TryLearner(std::move(setup)).status().message());
  }
};

TEST_F(NetLearnerTest, OneLearnerIsATrainer) { ExpectStepsOfTheWhole(kLearnerSgd, {8}); }

TEST_F(NetLearnerTest, SharesOfABatchMakeTheStepOfTheWhole) {
  ExpectStepsOfTheWhole(kLearnerSgd, {4, 4});
  ExpectStepsOfTheWhole(kLearnerSgd, {5, 2, 1});
}

TEST_F(NetLearnerTest, ClippingAndOtherSolversSeeTheSum) {
  nn::SolverDef solver = kLearnerSgd;
  solver.kind = nn::SolverKind::kNesterov;
  solver.clip_gradients = 0.5F;
  ExpectStepsOfTheWhole(solver, {3, 5});
  solver.iter_size = 2;
  ExpectStepsOfTheWhole(solver, {9, 7});
}

TEST_F(NetLearnerTest, AShareMayChangeFromStepToStep) {
  const auto trainer = Make(kLearnerSgd);
  Learners learners;
  for (int i = 0; i < 2; ++i) learners.push_back(Learner(NewSetup()));
  const std::vector<std::vector<std::size_t>> shares{{4, 4}, {7, 1}, {2, 6}, {4, 4}};
  for (std::uint64_t step = 0; step < shares.size(); ++step) {
    Steps(1, *trainer);
    Step(learners, shares[step], step);
  }
  ExpectNear(trainer->params().values(), learners[1]->params().values(), 1e-6);
}

TEST_F(NetLearnerTest, WhatDoesNotFitIsComputedInPieces) {
  const auto trainer = Make(kLearnerSgd);
  Learners learners;
  learners.push_back(Narrow());
  ASSERT_NE(learners[0], nullptr);
  ASSERT_LT(learners[0]->samples_max(), 5);
  learners.push_back(Learner(NewSetup()));
  const auto narrow = learners[0]->buckets();
  const auto wide = learners[1]->buckets();
  EXPECT_TRUE(std::equal(narrow.begin(), narrow.end(), wide.begin(), wide.end()));
  const std::vector<std::size_t> shares{7, 1};
  for (std::uint64_t step = 0; step < 4; ++step) {
    Steps(1, *trainer);
    const double loss = Step(learners, shares, step);
    EXPECT_NEAR(loss, trainer->loss(), 1e-6 * trainer->loss());
  }
  ExpectNear(trainer->params().values(), learners[0]->params().values(), 1e-6);
  ExpectSameBits(*learners[0], *learners[1]);
}

TEST_F(NetLearnerTest, BucketsAreWholeWhenTheySay) {
  const auto learner = Learner(NewSetup());
  ASSERT_GT(learner->buckets().size(), 3U);
  ASSERT_GT(learner->parts(), 2U);
  ASSERT_TRUE(learner->Begin(0, Samples(0)).ok());
  std::vector<float> seen(learner->local().size());
  for (std::size_t part = 0; part < learner->parts(); ++part) {
    ASSERT_TRUE(learner->ComputePart(part).ok());
    for (const Bucket& bucket : learner->buckets()) {
      if (bucket.parts != part + 1) continue;
      for (std::size_t i = bucket.begin; i < bucket.end; ++i) seen[i] = learner->local()[i];
    }
  }
  EXPECT_TRUE(Same(seen, learner->local()));
  EXPECT_EQ(learner->buckets().back().end, learner->local().size());
}

TEST_F(NetLearnerTest, LocalStaysWhileSumsAreWritten) {
  const auto learner = Learner(NewSetup());
  Compute(*learner, 0, Samples(0));
  const std::vector<float> local(learner->local().begin(), learner->local().end());
  std::fill(learner->sums().begin(), learner->sums().end(), 7.0F);
  EXPECT_TRUE(Same(local, learner->local()));
  std::copy(local.begin(), local.end(), learner->sums().begin());
  learner->Apply(1, 8);
  EXPECT_TRUE(Same(local, learner->local()));
}

TEST_F(NetLearnerTest, ANewcomerGoesOnAsItsDonor) {
  Learners learners;
  for (int i = 0; i < 2; ++i) learners.push_back(Learner(NewSetup()));
  const std::vector<std::size_t> two{4, 4};
  for (std::uint64_t step = 0; step < 3; ++step) Step(learners, two, step);
  NetLearnerSetup other = NewSetup();
  other.seed = 99;
  learners.push_back(Learner(std::move(other)));
  Copy(*learners[0], *learners[2]);
  const std::vector<std::size_t> three{3, 3, 2};
  for (std::uint64_t step = 3; step < 6; ++step) Step(learners, three, step);
  ExpectSameBits(*learners[0], *learners[2]);
  EXPECT_EQ(learners[0]->iteration(), learners[2]->iteration());
  EXPECT_EQ(learners[0]->rate(), learners[2]->rate());
  EXPECT_EQ(learners[0]->smoothed_loss(), learners[2]->smoothed_loss());
  EXPECT_EQ(learners[0]->Note(), learners[2]->Note());
}

TEST_F(NetLearnerTest, ASnapshotGoesOnInATrainerAndBack) {
  Learners learners;
  learners.push_back(Learner(NewSetup()));
  const std::vector<std::size_t> whole{8};
  for (std::uint64_t step = 0; step < 4; ++step) Step(learners, whole, step);
  const std::string weights = learners[0]->WeightsBytes();
  const auto state = caffe::ReadSolverState("s", learners[0]->StateBytes("w"));
  ASSERT_TRUE(state.ok());
  const auto trainer = Make(kLearnerSgd);
  ASSERT_TRUE(trainer->LoadWeights("w", weights).ok());
  ASSERT_TRUE(trainer->Resume("s", *state, {}).ok());
  auto resumed = Learner(NewSetup());
  ASSERT_TRUE(resumed->LoadWeights("w", weights).ok());
  const auto sidecar = ReadSidecar("j", learners[0]->Note());
  ASSERT_TRUE(sidecar.ok());
  ASSERT_TRUE(resumed->Resume("s", *state, *sidecar).ok());
  EXPECT_EQ(resumed->Note(), learners[0]->Note());
  ExpectSameBits(*resumed, *learners[0]);
  Step(learners, whole, 4);
  Steps(1, *trainer);
  ExpectNear(trainer->params().values(), learners[0]->params().values(), 1e-6);
}

TEST_F(NetLearnerTest, NotesOfSomethingElseAreRefused) {
  const auto learner = Learner(NewSetup());
  for (const std::string note : {"", "[]", "{\"version\": 1}"}) {
    EXPECT_EQ(learner->Restore(note).code(), Code::kInvalidArgument) << note;
  }
  std::string note = learner->Note();
  note.replace(note.find("\"iteration\": 0"), 14, "\"iteration\": -5");
  EXPECT_EQ(learner->Restore(note).code(), Code::kInvalidArgument);
}

// Asked about convolutions, says what FirstSupported does, and counts.
class Counting final : public nn::ConvChooser {
 public:
  const kernels::ConvImplementation& Choose(const kernels::ConvShape& shape,
                                            nn::ConvDirection direction) override {
    ++asked;
    return first_.Choose(shape, direction);
  }
  int asked = 0;

 private:
  nn::FirstSupported first_;
};

TEST_F(NetLearnerTest, OtherSharesNeedNoMeasuring) {
  Counting counting;
  auto source = data::OpenSource(Network(nn::Phase::kTrain).sources[0]);
  ASSERT_TRUE(source.ok());
  const auto learner = NetLearner::Make(NewSetup(), *source, NoFiles, counting, serial_);
  ASSERT_TRUE(learner.ok()) << learner.status().ToString();
  const int asked = counting.asked;
  EXPECT_GT(asked, 0);
  for (const std::size_t share : {5U, 3U, 8U, 1U}) Compute(**learner, 0, Samples(0, share));
  EXPECT_EQ(counting.asked, asked);
}

// Has every record but the first: what a worker was dealt.
class WithoutTheFirst final : public data::RecordSource {
 public:
  explicit WithoutTheFirst(std::shared_ptr<const data::RecordSource> all) : all_(std::move(all)) {}
  std::int64_t size() const override { return all_->size(); }
  Status Read(std::int64_t index, data::Record& out) const override {
    if (index == 0) return Status(Code::kNotFound, "record 0 was not dealt");
    return all_->Read(index, out);
  }

 private:
  std::shared_ptr<const data::RecordSource> all_;
};

TEST_F(NetLearnerTest, NeedsOnlyTheRecordsOfItsSamples) {
  auto all = data::OpenSource(Network(nn::Phase::kTrain).sources[0]);
  ASSERT_TRUE(all.ok());
  const auto source = std::make_shared<WithoutTheFirst>(*all);
  NetLearnerSetup setup = NewSetup();
  setup.image = data::ImageShape{.height = 12, .width = 12, .channels = 3};
  const auto learner = NetLearner::Make(std::move(setup), source, NoFiles, chooser_, serial_);
  ASSERT_TRUE(learner.ok()) << learner.status().ToString();
  EXPECT_EQ((*learner)->Begin(0, Samples(0)).message(), "layer \"data\": record 0 was not dealt");
  Compute(**learner, 1, Samples(1));
}

TEST_F(NetLearnerTest, SamplesThatAreNotThereAreNamed) {
  const auto learner = Learner(NewSetup());
  std::vector<Sample> samples = Samples(0);
  samples[3].index = 90;
  EXPECT_EQ(learner->Begin(0, samples).message(), "layer \"data\": the data set has no record 90");
  EXPECT_EQ(learner->Begin(0, {}).code(), Code::kInvalidArgument);
  Compute(*learner, 0, Samples(0));
}

TEST_F(NetLearnerTest, NetworksThatCannotBeSharedAreNamed) {
  std::string twice = NetText();
  twice += R"(layer { name: "more" type: "Data" top: "more" data_param { source: ")" + database_ +
           R"(" batch_size: 8 backend: LMDB } })";
  EXPECT_EQ(Failure(twice, NewSetup()),
            "a cluster trains networks with exactly one layer that brings data; here it is "
            "\"data\", \"more\"");
  std::string sum = NetText();
  sum.replace(sum.find("top: \"loss\""), 11, "top: \"loss\" loss_param { normalization: NONE }");
  EXPECT_EQ(Failure(sum, NewSetup()),
            "layer \"loss\": with `normalization: NONE` the loss is no mean, and workers cannot "
            "share a batch");
  EXPECT_EQ(Failure(NetText().substr(0, NetText().find("layer { name: \"loss\"")), NewSetup()),
            "the network has nothing to learn: no loss depends on a parameter whose lr_mult is not "
            "0");
  NetLearnerSetup tiny = NewSetup();
  tiny.bytes_max = 1000;
  EXPECT_EQ(TryLearner(std::move(tiny)).status().code(), Code::kResourceExhausted);
}

TEST_F(NetLearnerTest, WorkGrowsWithTheSamples) {
  const auto learner = Learner(NewSetup());
  double forward = 0;
  double backward = 0;
  for (std::size_t part = 0; part < learner->parts(); ++part) {
    const Work one = learner->PartWork(part, 1);
    const Work ten = learner->PartWork(part, 10);
    EXPECT_GE(one.operations, 0);
    EXPECT_NEAR(ten.operations, 10 * one.operations, 1e-6 * ten.operations);
    EXPECT_LT(ten.bytes_moved, 10.001 * one.bytes_moved);
    (part == 0 ? forward : backward) += ten.operations;
  }
  EXPECT_GT(backward, forward);
  EXPECT_LT(backward, 2.5 * forward);
}

// A normalisation and a dropout.
class NormalisedLearnerTest : public LearnerTesting {
 protected:
  std::string NetText() const override { return TinyNet(database_); }
};

TEST_F(NormalisedLearnerTest, StatisticsCanBeAveraged) {
  const auto trainer = Make(kLearnerSgd);
  Steps(1, *trainer);
  Learners learners;
  for (int i = 0; i < 2; ++i) learners.push_back(Learner(NewSetup()));
  const std::vector<std::size_t> shares{4, 4};
  Step(learners, shares, 0);
  const std::size_t size = learners[0]->statistics();
  ASSERT_EQ(size, 8U + 8U + 1U);
  std::vector<float> a(size);
  std::vector<float> b(size);
  learners[0]->ReadStatistics(a);
  learners[1]->ReadStatistics(b);
  EXPECT_NE(a, b);
  for (std::size_t i = 0; i < size; ++i) a[i] = (a[i] + b[i]) / 2;
  for (const auto& learner : learners) learner->WriteStatistics(a);
  ExpectSameBits(*learners[0], *learners[1]);
  // The mean of the halves' means is that of the whole.
  for (std::size_t p = 0; p < trainer->params().size(); ++p) {
    const nn::Param& param = trainer->params()[nn::ParamId{p}];
    if (!param.spec.statistics || param.spec.index != 0) continue;
    ExpectNear(trainer->params().value(nn::ParamId{p}), std::span(a).first(8), 1e-6);
  }
}

TEST_F(NormalisedLearnerTest, DropoutFollowsWorkerAndStep) {
  const auto gradient = [&](std::uint64_t seed, std::uint64_t step) {
    NetLearnerSetup setup = NewSetup();
    setup.worker_seed = seed;
    const auto learner = Learner(std::move(setup));
    Compute(*learner, step, Samples(0));
    return std::vector<float>(learner->local().begin(), learner->local().end());
  };
  EXPECT_EQ(gradient(1, 5), gradient(1, 5));
  EXPECT_NE(gradient(1, 5), gradient(2, 5));
  EXPECT_NE(gradient(1, 5), gradient(1, 6));
}

}  // namespace
}  // namespace shoal::train
