// Goal: what an operator says of a node holds until it is taken back. Answers and faults are
// sim_cluster_test's.
#include "coordinator/coordinator.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/parallel.h"
#include "base/random.h"
#include "kernels/revision.h"
#include "llm/model_config_text.h"
#include "sim/fake_network_for_test.h"
#include "sim/manual_clock_for_test.h"
#include "sim/toy_model.h"
#include "sim/toy_store.h"

namespace shoal::coordinator {
namespace {

constexpr NodeId kA{2};
constexpr NodeId kB{3};

class NoExecutor final : public Executor {
 public:
  Status Submit(Job) override { return {Code::kUnavailable, "nobody asks anything"}; }
};

class CoordinatorTest : public testing::Test {
 protected:
  CoordinatorTest() {
    CoordinatorOptions options;
    options.model.id = "toy";
    options.model.config = llm::SerializeConfig(toy_.config());
    for (const sim::ToyModel::File& file : toy_.files()) options.model.layers.push_back(file.name);
    options.model.positions = 100;
    options.model.dim = 64;
    auto head = llm::ModelHead::Load(toy_.weights(), toy_.config(), serial_);
    SHOAL_CHECK(head.ok());
    coordinator_ = std::make_unique<Coordinator>(
        seams_, std::move(options),
        std::make_shared<pipeline::HeadModel>(*std::move(head), serial_), layers_, answers_);
  }

  void Come(NodeId node) {
    coordinator_->OnPeerUp(node);
    wire::pb::ToHead message;
    wire::pb::NodeHello& hello = *message.mutable_hello();
    hello.set_arithmetic(kernels::kKernelRevision);
    hello.set_memory_bytes(1 << 30);
    coordinator_->OnFrame(node, Traffic::kControl, wire::Encode(message));
  }
  void Go(NodeId node) { coordinator_->OnPeerDown(node, {Code::kUnavailable, "unplugged"}); }

  // Who may be given layers.
  std::vector<NodeId> Candidates() {
    std::vector<NodeId> nodes;
    for (const pipeline::PlanNode& node :
         coordinator_->roster().Candidates(clock_.clock().Now()).nodes) {
      nodes.push_back(node.id);
    }
    return nodes;
  }

  const sim::ToyModel toy_{2, 64, 1};
  Serial serial_;
  sim::ManualClock clock_;
  sim::FakeNetwork network_;
  NoExecutor executor_;
  Random random_{1};
  const Seams seams_{clock_.clock(), network_, executor_, random_};
  sim::Flash flash_;
  sim::ToyStore layers_{
      toy_, flash_, {network_.self(), clock_.clock(), network_, executor_, random_}};
  sim::MemoryStore answers_;
  std::unique_ptr<Coordinator> coordinator_;
};

TEST_F(CoordinatorTest, ADrainOutlivesTheLink) {
  Come(kA);
  Come(kB);
  ASSERT_TRUE(coordinator_->Drain(kA, true).ok());
  EXPECT_EQ(Candidates(), std::vector<NodeId>{kB});
  Go(kA);
  Come(kA);
  EXPECT_TRUE(coordinator_->roster().Find(kA)->draining);
  EXPECT_EQ(Candidates(), std::vector<NodeId>{kB});
  ASSERT_TRUE(coordinator_->Drain(kA, false).ok());
  EXPECT_EQ(Candidates(), (std::vector<NodeId>{kA, kB}));
  Go(kA);
  Come(kA);
  EXPECT_FALSE(coordinator_->roster().Find(kA)->draining);
}

TEST_F(CoordinatorTest, ADrainIsTakenBackWhileTheNodeIsAway) {
  EXPECT_EQ(coordinator_->Drain(kA, true).code(), Code::kNotFound);
  Come(kA);
  ASSERT_TRUE(coordinator_->Drain(kA, true).ok());
  Go(kA);
  EXPECT_TRUE(coordinator_->Drain(kA, false).ok());
  EXPECT_EQ(coordinator_->Drain(kA, false).code(), Code::kNotFound);
  Come(kA);
  EXPECT_EQ(Candidates(), std::vector<NodeId>{kA});
}

}  // namespace
}  // namespace shoal::coordinator
