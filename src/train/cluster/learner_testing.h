// What tests of learners share: a network whose whole batch is exactly the sum of its parts, and a
// cluster whose sums are made by hand. For tests only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/open_source.h"
#include "train/cluster/net_learner.h"
#include "train/train_testing.h"

namespace shoal::train {

// Without normalisation and dropout: samples do not see each other.
inline std::string PlainNet(const std::string& database) {
  return R"(name: "plain"
layer { name: "data" type: "Data" top: "data" top: "label"
  transform_param { crop_size: 12 mirror: true scale: 0.0078125 mean_value: 128 }
  data_param { source: ")" +
         database + R"(" batch_size: 8 backend: LMDB } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 8 kernel_size: 3 pad: 1 stride: 2
    weight_filler { type: "msra" } } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "ip1" type: "InnerProduct" bottom: "conv" top: "ip1"
  inner_product_param { num_output: 16 weight_filler { type: "xavier" } } }
layer { name: "relu1" type: "ReLU" bottom: "ip1" top: "ip1" }
layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" }
)";
}

inline const nn::SolverDef kLearnerSgd{.lr_policy = nn::LrPolicy::kMultiStep,
                                       .base_lr = 0.05F,
                                       .gamma = 0.5F,
                                       .stepvalues = {3},
                                       .max_iter = 20,
                                       .momentum = 0.9F,
                                       .weight_decay = 0.001F,
                                       .average_loss = 3};

class LearnerTesting : public TinyTraining {
 protected:
  using Learners = std::vector<std::unique_ptr<NetLearner>>;

  std::string NetText() const override { return PlainNet(database_); }

  NetLearnerSetup NewSetup(const nn::SolverDef& solver = kLearnerSgd) {
    return {.solver = solver, .train = Network(nn::Phase::kTrain), .bucket_bytes = 1024};
  }

  Result<std::unique_ptr<NetLearner>> TryLearner(NetLearnerSetup setup) {
    auto source = data::OpenSource(Network(nn::Phase::kTrain).sources[0]);
    EXPECT_TRUE(source.ok()) << source.status().ToString();
    return NetLearner::Make(std::move(setup), *source, NoFiles, chooser_, serial_);
  }
  std::unique_ptr<NetLearner> Learner(NetLearnerSetup setup) {
    auto learner = TryLearner(std::move(setup));
    EXPECT_TRUE(learner.ok()) << learner.status().ToString();
    return *std::move(learner);
  }

  // Those that a Trainer has in its step number `step`.
  static std::vector<Sample> Samples(std::uint64_t step, std::size_t batch = 8) {
    const data::SampleOrder order(90, false, 1);
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < batch; ++i) {
      const data::Cursor at = order.Advance({}, step * batch + i);
      samples.push_back({.at = at, .index = order.IndexAt(at)});
    }
    return samples;
  }

  static void Compute(NetLearner& learner, std::uint64_t step, std::span<const Sample> samples) {
    const Status begun = learner.Begin(step, samples);
    ASSERT_TRUE(begun.ok()) << begun.ToString();
    for (std::size_t part = 0; part < learner.parts(); ++part) {
      const Status status = learner.ComputePart(part);
      ASSERT_TRUE(status.ok()) << status.ToString();
    }
  }

  // Mean over all samples, in everybody's sums().
  static double AddUp(const Learners& learners, std::span<const std::size_t> shares) {
    const auto all =
        static_cast<double>(std::accumulate(shares.begin(), shares.end(), std::size_t{0}));
    std::vector<double> sums(learners[0]->local().size(), 0);
    double loss = 0;
    for (std::size_t l = 0; l < learners.size(); ++l) {
      const double weight = static_cast<double>(shares[l]) / all;
      const auto local = learners[l]->local();
      for (std::size_t i = 0; i < sums.size(); ++i) {
        sums[i] += weight * static_cast<double>(local[i]);
      }
      loss += weight * learners[l]->loss();
    }
    for (const auto& learner : learners) {
      for (std::size_t i = 0; i < sums.size(); ++i) {
        learner->sums()[i] = static_cast<float>(sums[i]);
      }
    }
    return loss;
  }

  // A step in which learner i has `shares[i]` of the samples. Returns the loss.
  static double Step(const Learners& learners, std::span<const std::size_t> shares,
                     std::uint64_t step, std::size_t batch = 8) {
    const std::vector<Sample> samples = Samples(step, batch);
    std::size_t at = 0;
    for (std::size_t l = 0; l < learners.size(); ++l) {
      Compute(*learners[l], step, std::span(samples).subspan(at, shares[l]));
      at += shares[l];
    }
    EXPECT_EQ(at, batch);
    const double loss = AddUp(learners, shares);
    for (const auto& learner : learners) learner->Apply(loss, 0);
    return loss;
  }

  // Relative to the largest.
  static void ExpectNear(std::span<const float> a, std::span<const float> b, double tolerance) {
    ASSERT_EQ(a.size(), b.size());
    double largest = 0;
    double apart = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(a[i])));
      apart = std::max(apart, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    }
    EXPECT_GT(largest, 0);
    EXPECT_LE(apart, tolerance * largest);
  }

  static void ExpectSameBits(NetLearner& a, NetLearner& b) {
    const auto x = a.state();
    const auto y = b.state();
    ASSERT_EQ(x.size(), y.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(x[i].size(), y[i].size());
      EXPECT_EQ(std::memcmp(x[i].data(), y[i].data(), x[i].size_bytes()), 0) << i;
    }
  }

  static bool Same(std::span<const float> a, std::span<const float> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

  static void Copy(NetLearner& from, NetLearner& to) {
    const auto x = from.state();
    const auto y = to.state();
    ASSERT_EQ(x.size(), y.size());
    for (std::size_t i = 0; i < x.size(); ++i) std::copy(x[i].begin(), x[i].end(), y[i].begin());
    const Status status = to.Restore(from.Note());
    ASSERT_TRUE(status.ok()) << status.ToString();
  }

  nn::FirstSupported chooser_;
};

}  // namespace shoal::train
