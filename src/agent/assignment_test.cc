// Goal: what the head assigns is read as it is meant or refused, and costs what its layers cost.
#include "agent/assignment.h"

#include <gtest/gtest.h>

#include <functional>

#include "llm/model_config_text.h"
#include "sim/toy_model.h"

namespace shoal::agent {
namespace {

class AssignmentTest : public testing::Test {
 protected:
  // Layers 1 and 2 of three.
  wire::pb::Assign Assign() const {
    wire::pb::Assign assign;
    assign.set_epoch(7);
    assign.set_stage(1);
    assign.set_stages(2);
    assign.set_first(1);
    assign.set_end(3);
    assign.set_config(llm::SerializeConfig(model_.config()));
    for (std::size_t i = 1; i < 3; ++i) *assign.add_layers() = model_.files()[i].name;
    assign.set_previous(3);
    assign.mutable_next()->set_node(5);
    assign.mutable_next()->set_address("there");
    return assign;
  }

  const sim::ToyModel model_{3, 64, 1};
};

TEST_F(AssignmentTest, SaysWhatToHoldAndWhereItGoes) {
  const wire::pb::Assign assign = Assign();
  Result<pipeline::StageSpec> spec = ReadStageSpec(assign);
  ASSERT_TRUE(spec.ok()) << spec.status().ToString();
  EXPECT_EQ(spec->range.first, 1);
  EXPECT_EQ(spec->range.end, 3);
  const Assignment assignment = ReadAssignment(assign, *std::move(spec));
  EXPECT_EQ(assignment.epoch, 7U);
  EXPECT_EQ(assignment.stage, 1U);
  EXPECT_EQ(assignment.previous, NodeId{3});
  EXPECT_EQ(assignment.next, NodeId{5});
  EXPECT_EQ(assignment.next_address, "there");
  EXPECT_EQ(assignment.costs.size(), 2U);
  EXPECT_FALSE(assignment.ready);
}

TEST_F(AssignmentTest, WhatMakesNoSenseIsRefused) {
  const std::vector<std::function<void(wire::pb::Assign&)>> mistakes = {
      [](auto& assign) { assign.set_config("no model"); },
      [](auto& assign) { assign.set_first(3); },
      [](auto& assign) { assign.set_end(4); },
      [](auto& assign) { assign.mutable_layers()->RemoveLast(); },
      [](auto& assign) { assign.set_stage(2); },
      [](auto& assign) { assign.set_kv(2); },
  };
  for (const auto& mistake : mistakes) {
    wire::pb::Assign assign = Assign();
    mistake(assign);
    EXPECT_FALSE(ReadStageSpec(assign).ok()) << assign.ShortDebugString();
  }
}

TEST_F(AssignmentTest, CostsAndPromisesGrowWithRows) {
  const wire::pb::Assign assign = Assign();
  const Assignment assignment = ReadAssignment(assign, *ReadStageSpec(assign));
  const double bytes = static_cast<double>(assign.layers(0).bytes() + assign.layers(1).bytes());
  EXPECT_EQ(assignment.Price(1).bytes_moved, bytes);
  EXPECT_EQ(assignment.Price(8).bytes_moved, bytes) << "weights are read once for all rows";
  EXPECT_EQ(assignment.Price(8).operations, 8 * assignment.Price(1).operations);
  wire::pb::Profile profile;
  EXPECT_EQ(assignment.PromisedSeconds(profile, 1), 0) << "it says nothing";
  profile.set_weight_bytes_per_second(1e9);
  profile.set_operations_per_second(1e9);
  EXPECT_GT(assignment.PromisedSeconds(profile, 1), 0);
  EXPECT_GT(assignment.PromisedSeconds(profile, 512), assignment.PromisedSeconds(profile, 1));
}

}  // namespace
}  // namespace shoal::agent
