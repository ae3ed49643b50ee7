// Goal: the harness moves what the suite asks it to move. The contract itself is
// network_contract_test.cc.
#include "contract/sim_harness.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace shoal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr NodeId kOne{1};
constexpr NodeId kTwo{2};

class Counter final : public NetworkEvents {
 public:
  void OnPeerUp(NodeId) override { ++ups; }
  void OnPeerDown(NodeId, const Status& why) override { downs.push_back(why.code()); }
  void OnFrame(NodeId, Traffic, Frame) override { ++frames; }
  void OnWritable(NodeId, Traffic) override { ++writables; }

  int ups = 0;
  int frames = 0;
  int writables = 0;
  std::vector<Code> downs;
};

class SimHarnessTest : public testing::Test {
 protected:
  SimHarnessTest() {
    harness_->node(kOne).Attach(&one_);
    harness_->node(kTwo).Attach(&two_);
    harness_->node(kOne).Connect(kTwo, harness_->AddressOf(kOne, kTwo));
    EXPECT_TRUE(harness_->RunUntil([this] { return one_.ups == 1 && two_.ups == 1; }, seconds(1)));
  }
  Status SendToTwo(Traffic traffic, std::size_t bytes) {
    return harness_->node(kOne).Send(kTwo, traffic, Frame(bytes));
  }

  std::unique_ptr<NetworkHarness> harness_ = SimUnderTest().make();
  Counter one_;
  Counter two_;
};

TEST_F(SimHarnessTest, ClockAndNodesShareOneTime) {
  const Instant begin = harness_->clock().Now();
  bool rang = false;
  harness_->clock().CallAfter(seconds(3), [&] { rang = true; });
  EXPECT_TRUE(harness_->RunUntil([&] { return rang; }, seconds(10)));
  EXPECT_EQ(harness_->clock().Now() - begin, seconds(3));
  EXPECT_FALSE(harness_->RunUntil([] { return false; }, seconds(1)));
  EXPECT_EQ(harness_->clock().Now() - begin, seconds(4));
}

TEST_F(SimHarnessTest, ACutCableSwallowsAndARepairedOneCarries) {
  harness_->CutCable(kOne, kTwo);
  ASSERT_TRUE(SendToTwo(Traffic::kControl, 1).ok());
  EXPECT_FALSE(harness_->RunUntil([this] { return two_.frames > 0; }, seconds(1)));
  harness_->RepairCable(kOne, kTwo);
  EXPECT_TRUE(harness_->RunUntil([this] { return two_.frames == 1; }, seconds(2)));
  harness_->CutCable(kTwo, kOne);
  const auto both_down = [this] { return !one_.downs.empty() && !two_.downs.empty(); };
  EXPECT_TRUE(harness_->RunUntil(both_down, seconds(30)));
  EXPECT_EQ(one_.downs, std::vector<Code>{Code::kDeadlineExceeded});
  EXPECT_EQ(two_.downs, std::vector<Code>{Code::kDeadlineExceeded});
}

TEST_F(SimHarnessTest, AFrozenNodeReadsNothingUntilItThaws) {
  harness_->Freeze(kTwo);
  ASSERT_TRUE(SendToTwo(Traffic::kControl, 1).ok());
  EXPECT_FALSE(harness_->RunUntil([this] { return two_.frames > 0; }, seconds(1)));
  harness_->Thaw(kTwo);
  EXPECT_TRUE(harness_->RunUntil([this] { return two_.frames == 1; }, seconds(1)));
}

TEST_F(SimHarnessTest, ALimitedCableTakesItsTime) {
  harness_->LimitCable(kOne, kTwo, 1e6);
  ASSERT_TRUE(SendToTwo(Traffic::kActivations, 125'000).ok());  // A second at 1 Mb/s.
  EXPECT_FALSE(harness_->RunUntil([this] { return two_.frames > 0; }, milliseconds(990)));
  EXPECT_TRUE(harness_->RunUntil([this] { return two_.frames == 1; }, milliseconds(30)));
}

}  // namespace
}  // namespace shoal
