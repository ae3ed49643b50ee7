// What several tests of this module need: a tiny network on a synthetic data set. For tests only.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "caffe/net_file.h"
#include "caffe/solver_state_file.h"
#include "data/data_testing.h"
#include "data/import.h"
#include "data/synth.h"
#include "nn/first_supported.h"
#include "train/trainer.h"

namespace shoal::train {

inline Result<std::string> NoFiles(const std::string& path) {
  return Status(Code::kNotFound, "no such file: " + path);
}

// A convolution, a normalisation, a dropout and two inner products.
inline std::string TinyNet(const std::string& database) {
  return R"(name: "tiny"
layer { name: "data" type: "Data" top: "data" top: "label"
  transform_param { crop_size: 12 mirror: true scale: 0.0078125 mean_value: 128 }
  data_param { source: ")" +
         database + R"(" batch_size: 8 backend: LMDB } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 8 kernel_size: 3 pad: 1 stride: 2
    weight_filler { type: "msra" } } }
layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "conv" }
layer { name: "scale" type: "Scale" bottom: "conv" top: "conv" scale_param { bias_term: true } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "ip1" type: "InnerProduct" bottom: "conv" top: "ip1"
  inner_product_param { num_output: 16 weight_filler { type: "xavier" } } }
layer { name: "drop" type: "Dropout" bottom: "ip1" top: "ip1" }
layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" }
layer { name: "accuracy" type: "Accuracy" bottom: "ip2" bottom: "label" top: "accuracy"
  include { phase: TEST } }
)";
}

class TinyTraining : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto source = data::SynthSource::Create({.count = 90, .size = 14});
    ASSERT_TRUE(source.ok());
    ASSERT_TRUE(data::Import(*source, {.path = database_}).ok());
  }

  virtual std::string NetText() const { return TinyNet(database_); }

  caffe::Network Network(nn::Phase phase) {
    const auto file = caffe::NetFile::Parse("tiny.prototxt", NetText());
    EXPECT_TRUE(file.ok()) << file.status().ToString();
    return *file->Build({.phase = phase});
  }

  std::unique_ptr<Trainer> Make(const nn::SolverDef& solver, const TrainerOptions& options = {}) {
    TrainerSetup setup{.solver = solver, .train = Network(nn::Phase::kTrain)};
    for (std::size_t i = 0; i < solver.test_iter.size(); ++i) {
      setup.tests.push_back(Network(nn::Phase::kTest));
    }
    nn::FirstSupported chooser;
    auto trainer = Trainer::Create(std::move(setup), options, NoFiles, chooser, serial_);
    EXPECT_TRUE(trainer.ok()) << trainer.status().ToString();
    return *std::move(trainer);
  }

  static void Steps(int count, Trainer& trainer) {
    for (int i = 0; i < count; ++i) {
      const Status status = trainer.Step();
      ASSERT_TRUE(status.ok()) << status.ToString();
    }
  }

  data::TempDirectory directory_;
  const std::string database_ = directory_ / "tiny_lmdb";
  Serial serial_;
};

}  // namespace shoal::train
