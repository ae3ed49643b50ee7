// Goal: head and workers read the same out of a job.
#include "train/cluster/job.h"

#include <gtest/gtest.h>

namespace shoal::train {
namespace {

wire::pb::TrainJob Job() {
  wire::pb::TrainJob job;
  job.set_solver("net: \"net\" base_lr: 0.1 max_iter: 1000 lr_policy: \"fixed\"");
  job.set_net(R"(
    layer { name: "data" type: "Data" top: "data" top: "label"
            data_param { source: "nowhere" backend: LMDB batch_size: 4 } }
    layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
            inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" })");
  job.set_batch(64);
  job.set_records(100);
  return job;
}

TEST(JobTest, RatesFollowTheImagesOfAnUpdate) {
  wire::pb::TrainJob job = Job();
  job.set_scaled_from(32);
  auto setup = ReadJob(job);
  ASSERT_TRUE(setup.ok()) << setup.status().ToString();
  EXPECT_FLOAT_EQ(setup->solver.base_lr, 0.2F);
  EXPECT_EQ(setup->solver.max_iter, 500);
  // A step of five updates is no larger batch.
  job.set_mode(wire::pb::TrainJob::LOCAL);
  job.set_period(5);
  job.set_batch(5 * 64);
  setup = ReadJob(job);
  ASSERT_TRUE(setup.ok()) << setup.status().ToString();
  EXPECT_FLOAT_EQ(setup->solver.base_lr, 0.2F);
  EXPECT_EQ(setup->solver.max_iter, 500);
  EXPECT_EQ(setup->rule.period, 5);
}

TEST(JobTest, AStepHasALimit) {
  wire::pb::TrainJob job = Job();
  for (const std::uint64_t batch : {std::uint64_t{0}, std::uint64_t{kStepSamplesMax} + 1}) {
    job.set_batch(batch);
    EXPECT_EQ(ReadJob(job).status().code(), Code::kInvalidArgument) << batch;
  }
}

}  // namespace
}  // namespace shoal::train
