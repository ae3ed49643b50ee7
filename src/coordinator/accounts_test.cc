#include "coordinator/accounts.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "sim/manual_clock_for_test.h"

namespace shoal::coordinator {
namespace {

constexpr NodeId kA{2};
constexpr NodeId kB{3};

class AccountsTest : public testing::Test {
 protected:
  void Start(AccountsOptions options = {}) {
    accounts_.emplace(clock_.clock(), std::move(options));
  }
  void Tell(NodeId node, std::optional<double> watts) {
    wire::pb::Telemetry telemetry;
    if (watts) telemetry.set_watts(*watts);
    accounts_->OnTelemetry(node, telemetry);
  }
  void Wait(int milliseconds) { clock_.Pass(std::chrono::milliseconds(milliseconds)); }

  const std::vector<pipeline::RouteStage> route_ = {{kA, {0, 2}}, {kB, {2, 8}}};
  const std::vector<pipeline::SequenceRows> rows_ = {{7, 10}};
  sim::ManualClock clock_;
  std::optional<Accounts> accounts_;
};

TEST_F(AccountsTest, RowsAndEnergyOfAPipeline) {
  Start();
  accounts_->Open(7, {});
  for (int i = 0; i < 20; ++i) {
    Tell(kA, 3);
    Tell(kB, std::nullopt);
    accounts_->OnSent(route_, rows_);
    Wait(250);
    accounts_->OnBack(route_, rows_);
    accounts_->OnToken(7);
  }
  EXPECT_NEAR(accounts_->Of(kA).rows_per_second, 40, 6);
  EXPECT_EQ(accounts_->Of(kB).rows_per_second, accounts_->Of(kA).rows_per_second);
  EXPECT_EQ(accounts_->Of(NodeId{9}).rows_per_second, 0);
  const pipeline::AnswerEnergy energy = accounts_->EnergyOf(7);
  EXPECT_NEAR(energy.joules, 15, 1e-6);
  EXPECT_NEAR(energy.covered(), 0.25, 1e-9);
  EXPECT_FALSE(accounts_->counts_head());
}

TEST_F(AccountsTest, TheHeadCountsIfSomebodySaysWhatItTakes) {
  Start({.local_day = [] { return 5; }, .head_watts = 20});
  accounts_->Open(7, {});
  accounts_->OnSent(route_, rows_);
  for (int i = 0; i < 20; ++i) {
    Wait(50);
    accounts_->Tick();
  }
  accounts_->OnBack(route_, rows_);
  EXPECT_NEAR(accounts_->EnergyOf(7).joules, 20, 1e-6);
  EXPECT_EQ(accounts_->EnergyOf(7).covered(), 0);  // It has no layers.
  EXPECT_TRUE(accounts_->EnergyOf(7).estimated);
  EXPECT_NEAR(accounts_->Days().at(5).joules, 20, 1e-6);
  EXPECT_TRUE(accounts_->Of(kHeadNode).energy.total.estimated);
}

TEST_F(AccountsTest, ComingAndGoing) {
  Start();
  EXPECT_EQ(accounts_->Of(kA).arrivals, 0U);
  for (int i = 0; i < 3; ++i) {
    accounts_->OnArrived(kA);
    EXPECT_FALSE(accounts_->Of(kA).left);
    Wait(1000);
    accounts_->OnLeft(kA, "silent for too long");
    Wait(1000);
  }
  EXPECT_EQ(accounts_->Of(kA).arrivals, 3U);
  EXPECT_EQ(accounts_->Of(kA).why_left, "silent for too long");
  EXPECT_EQ(*accounts_->Of(kA).left, clock_.clock().Now() - std::chrono::seconds(1));
  Wait(10 * 60 * 1000);
  EXPECT_EQ(accounts_->Of(kA).arrivals, 0U);
}

}  // namespace
}  // namespace shoal::coordinator
