// Goal: no joule is counted twice, invented for a gap, or given to the wrong answer; and what is
// not known is not zero.
#include "coordinator/energy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <vector>

namespace shoal::coordinator {
namespace {

using pipeline::AnswerEnergy;
using pipeline::SequenceRows;

constexpr NodeId kA{2};
constexpr NodeId kB{3};
constexpr std::int64_t kMonday = 20'000;

Instant At(double seconds) {
  return {std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds))};
}

class EnergyTest : public testing::Test {
 protected:
  void Power(NodeId node, double watts, double at, bool estimated = false,
             std::int64_t day = kMonday) {
    ledger_.OnPower(node, coordinator::Power{watts, estimated}, At(at), day);
  }
  void Unknown(NodeId node, double at) { ledger_.OnPower(node, std::nullopt, At(at), kMonday); }
  void Sent(NodeId node, std::uint64_t answer, std::size_t rows, double at) {
    const std::vector<SequenceRows> run = {{answer, rows}};
    ledger_.OnSent(node, run, At(at));
  }
  void Back(NodeId node, std::uint64_t answer, std::size_t rows, double at,
            std::size_t layers = 4) {
    const std::vector<SequenceRows> run = {{answer, rows}};
    ledger_.OnBack(node, run, layers, At(at), kMonday);
  }
  NodeEnergy Node(NodeId node, std::int64_t today = kMonday) { return ledger_.OfNode(node, today); }
  EnergyLedger ledger_;
};

TEST_F(EnergyTest, IrregularReadingsAreTrapezoids) {
  Power(kA, 2, 10);
  EXPECT_EQ(Node(kA).total.joules, 0);
  Power(kA, 4, 10.5);   // 1.5
  Power(kA, 4, 12.25);  // 7
  Power(kA, 0, 12.75);  // 1
  EXPECT_NEAR(Node(kA).total.joules, 9.5, 1e-9);
  EXPECT_NEAR(Node(kA).total.idle, 9.5, 1e-9);
  EXPECT_EQ(Node(kB).total.joules, 0);
  EXPECT_FALSE(Node(kB).power);
}

TEST_F(EnergyTest, SilenceIsNotFilled) {
  Power(kA, 5, 0);
  Power(kA, 5, 1);  // 5
  Power(kA, 5, 1 + ToSeconds(EnergyLedger::kGapMax) + 0.1);
  Power(kA, 5, 8);
  EXPECT_NEAR(Node(kA).total.joules, 5 + 5 * 1.9, 1e-9);
  Unknown(kA, 9);
  EXPECT_FALSE(Node(kA).power);
  Power(kA, 5, 10);
  EXPECT_NEAR(Node(kA).total.joules, 5 + 5 * 1.9, 1e-9);
}

TEST_F(EnergyTest, WattsThatCannotBeDoNotCount) {
  Power(kA, 3, 0);
  Power(kA, 3, 1);
  double at = 1;
  for (const double watts : {-1.0, 1001.0, std::nan(""), std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity()}) {
    Power(kA, watts, at += 1);
    EXPECT_FALSE(Node(kA).power) << watts;
    Power(kA, 3, at += 1);
  }
  EXPECT_NEAR(Node(kA).total.joules, 3, 1e-9);
}

TEST_F(EnergyTest, TimeThatStandsStillOrGoesBackTakesNothing) {
  Power(kA, 3, 5);
  Power(kA, 3, 5);
  Power(kA, 3, 4);
  EXPECT_EQ(Node(kA).total.joules, 0);
  Power(kA, 3, 5);
  EXPECT_NEAR(Node(kA).total.joules, 3, 1e-9);
}

TEST_F(EnergyTest, AnAnswerTakesWhatItsNodesTakeMeanwhile) {
  ledger_.Open(7, {});
  Power(kA, 2, 0);
  Power(kB, 4, 0);
  Sent(kA, 7, 1, 0.25);
  Sent(kB, 7, 1, 0.25);
  EXPECT_NEAR(ledger_.Of(7, At(0.5)).joules, 1.5, 1e-9);
  Back(kA, 7, 1, 0.75, 4);
  Back(kB, 7, 1, 0.75, 12);
  // Not settled yet, and known all the same.
  EXPECT_NEAR(ledger_.Of(7, At(0.9)).joules, 3, 1e-9);
  Power(kA, 2, 1);
  Power(kB, 4, 1);
  const AnswerEnergy energy = ledger_.Of(7, At(1.5));
  EXPECT_NEAR(energy.joules, 3, 1e-9);
  EXPECT_EQ(energy.covered(), 1);
  EXPECT_FALSE(energy.estimated);
  EXPECT_NEAR(Node(kA).total.joules, 2, 1e-9);
  EXPECT_NEAR(Node(kA).total.idle, 1, 1e-9);
  EXPECT_NEAR(Node(kB).total.idle, 2, 1e-9);
}

TEST_F(EnergyTest, AnswersShareByRows) {
  ledger_.Open(7, {});
  ledger_.Open(8, {});
  Power(kA, 10, 0);
  Sent(kA, 7, 3, 0);
  Sent(kA, 8, 1, 0);    // 7 and 8: three to one …
  Back(kA, 7, 3, 0.5);  // … and 8 alone.
  Back(kA, 8, 1, 1);
  Power(kA, 10, 1);
  EXPECT_NEAR(ledger_.Of(7, At(1)).joules, 10 * 0.5 * 0.75, 1e-9);
  EXPECT_NEAR(ledger_.Of(8, At(1)).joules, 10 * 0.5 * 0.25 + 5, 1e-9);
  EXPECT_NEAR(Node(kA).total.idle, 0, 1e-9);
}

TEST_F(EnergyTest, SharesAddUpOverManyReadings) {
  ledger_.Open(1, {});
  ledger_.Open(2, {});
  double at = 0;
  Power(kA, 3, at);
  for (int i = 0; i < 1000; ++i) {
    const double watts = 3 + std::sin(i);
    Sent(kA, 1 + i % 2, 1 + i % 5, at + 0.01);
    Sent(kA, 1, 2, at + 0.05);
    Back(kA, 1 + i % 2, 1 + i % 5, at + 0.11);
    at += 0.2 + 0.1 * (i % 3);
    Back(kA, 1, 2, at - 0.02);
    Power(kA, watts, at);
  }
  const NodeEnergy node = Node(kA);
  const double used = ledger_.Of(1, At(at)).joules + ledger_.Of(2, At(at)).joules;
  EXPECT_GT(node.total.idle, 0);
  EXPECT_NEAR(used + node.total.idle, node.total.joules, 1e-6 * node.total.joules);
}

TEST_F(EnergyTest, UnknownPowerIsSaidNotZero) {
  ledger_.Open(7, {});
  Power(kA, 2, 0);
  Sent(kA, 7, 10, 0);
  Sent(kB, 7, 10, 0);
  Back(kA, 7, 10, 1, 3);
  Back(kB, 7, 10, 1, 1);
  EXPECT_NEAR(ledger_.Of(7, At(1)).covered(), 0.75, 1e-9);
  EXPECT_NEAR(ledger_.OfAll().work_covered / ledger_.OfAll().work, 0.75, 1e-9);
  // What was said long ago is not known now.
  Sent(kA, 7, 10, 60);
  Back(kA, 7, 10, 61, 4);
  EXPECT_NEAR(ledger_.Of(7, At(61)).covered(), 30.0 / 80, 1e-9);
  EXPECT_EQ(AnswerEnergy().covered(), 0);
}

TEST_F(EnergyTest, EstimatesAreMarked) {
  ledger_.Open(7, {});
  Power(kA, 2, 0, /*estimated=*/true);
  Power(kA, 2, 1, /*estimated=*/true);
  EXPECT_TRUE(Node(kA).power->estimated);
  EXPECT_TRUE(Node(kA).total.estimated);
  EXPECT_FALSE(Node(kA).total.used_estimated);  // No answer took it.
  Sent(kA, 7, 1, 1);
  EXPECT_FALSE(ledger_.Of(7, At(1)).estimated);
  Back(kA, 7, 1, 1.5);
  EXPECT_TRUE(ledger_.Of(7, At(2)).estimated);
  Power(kA, 2, 2, /*estimated=*/true);
  EXPECT_TRUE(ledger_.Of(7, At(2)).estimated);
  EXPECT_TRUE(Node(kA).total.used_estimated);
  EXPECT_TRUE(ledger_.OfAll().estimated);
  EXPECT_TRUE(ledger_.OfAll().used_estimated);
  EXPECT_TRUE(ledger_.Days().at(kMonday).estimated);
  EXPECT_FALSE(Node(kB).total.estimated);
}

TEST_F(EnergyTest, WhatWasMeasuredIsNoEstimate) {
  ledger_.Open(7, {});
  ledger_.Open(8, {});
  Power(kA, 2, 0);
  Sent(kA, 7, 1, 0);
  Back(kA, 7, 1, 1);
  Power(kA, 2, 1);
  // On the charger; the half that its battery told ends there, and is none any more.
  Sent(kA, 8, 1, 1.25);
  Back(kA, 8, 1, 1.5);
  EXPECT_FALSE(ledger_.Of(8, At(1.5)).estimated);
  Power(kA, 4, 2, /*estimated=*/true, kMonday + 1);
  EXPECT_TRUE(ledger_.Of(8, At(2)).estimated);
  EXPECT_FALSE(ledger_.Of(7, At(2)).estimated);
  EXPECT_FALSE(Node(kA).today.estimated);
  EXPECT_TRUE(Node(kA, kMonday + 1).today.estimated);
  EXPECT_FALSE(ledger_.Days().at(kMonday).estimated);
}

TEST_F(EnergyTest, AnAnswerGoesOnWithWhatItHad) {
  ledger_.Open(7, {.joules = 100, .work = 10, .work_covered = 5, .estimated = true});
  Power(kA, 2, 0);
  Sent(kA, 7, 1, 0);
  Back(kA, 7, 1, 1, 10);
  const AnswerEnergy energy = ledger_.Of(7, At(1));
  EXPECT_NEAR(energy.joules, 102, 1e-9);
  EXPECT_NEAR(energy.covered(), 0.75, 1e-9);
  EXPECT_TRUE(energy.estimated);
}

TEST_F(EnergyTest, WhatComesAfterTheEndIsNobodys) {
  ledger_.Open(7, {});
  Power(kA, 2, 0);
  Sent(kA, 7, 1, 0);
  ledger_.Close(7);
  Back(kA, 7, 1, 0.5);
  Power(kA, 2, 1);
  EXPECT_NEAR(Node(kA).total.joules, 2, 1e-9);
  EXPECT_NEAR(Node(kA).total.idle, 1, 1e-9);
  EXPECT_EQ(ledger_.OfAll().tokens, 0U);
}

TEST_F(EnergyTest, JoulesPerToken) {
  ledger_.Open(7, {});
  EXPECT_FALSE(Node(kA).total.PerToken());
  Power(kA, 2, 0);
  Sent(kA, 7, 1, 0);
  Sent(kB, 7, 1, 0);
  Back(kA, 7, 1, 1);
  Back(kB, 7, 1, 1);
  for (int i = 0; i < 4; ++i) ledger_.OnToken(7, kMonday);
  Power(kA, 2, 1);
  Power(kA, 2, 2);  // Idle: not the tokens' business.
  EXPECT_NEAR(*Node(kA).total.PerToken(), 0.5, 1e-9);
  EXPECT_FALSE(Node(kB).total.PerToken());  // Nobody knows.
  EXPECT_NEAR(*ledger_.OfAll().PerToken(), 0.5, 1e-9);
}

TEST_F(EnergyTest, DaysAreApart) {
  Power(kA, 1, 0);
  Power(kA, 1, 3);
  Power(kA, 1, 4, false, kMonday + 1);
  Power(kB, 2, 3, false, kMonday + 1);
  Power(kB, 2, 4, false, kMonday + 1);
  EXPECT_NEAR(Node(kA).today.joules, 3, 1e-9);
  EXPECT_NEAR(Node(kA, kMonday + 1).today.joules, 1, 1e-9);
  EXPECT_NEAR(ledger_.Days().at(kMonday + 1).joules, 3, 1e-9);
  EXPECT_NEAR(ledger_.OfAll().joules, 6, 1e-9);
  EXPECT_EQ(ledger_.Days().size(), 2U);
  for (int day = 0; day < 100; ++day) Power(kA, 1, 5 + day, false, kMonday + 2 + day);
  EXPECT_EQ(ledger_.Days().size(), EnergyLedger::kDaysKept);
  EXPECT_EQ(ledger_.Days().rbegin()->first, kMonday + 101);
}

TEST_F(EnergyTest, TokensAndWorkOfADay) {
  ledger_.Open(7, {});
  Power(kA, 2, 0);
  Sent(kA, 7, 1, 0);
  Sent(kB, 7, 1, 0);
  Back(kA, 7, 1, 1);
  Back(kB, 7, 1, 1);
  ledger_.OnToken(7, kMonday);
  Power(kA, 2, 1);
  Sent(kA, 7, 2, 1);
  ledger_.OnToken(7, kMonday + 1);
  ledger_.OnToken(7, kMonday + 1);
  Power(kA, 2, 2, false, kMonday + 1);
  const std::map<std::int64_t, Consumption> days = ledger_.Days();
  EXPECT_NEAR(*days.at(kMonday).PerToken(), 2, 1e-9);
  EXPECT_NEAR(*days.at(kMonday + 1).PerToken(), 1, 1e-9);
  EXPECT_NEAR(*Node(kA, kMonday + 1).today.PerToken(), 1, 1e-9);
  EXPECT_EQ(days.at(kMonday).work, 8);
  EXPECT_EQ(days.at(kMonday).work_covered, 4);
  EXPECT_EQ(days.at(kMonday + 1).tokens, 2U);
  EXPECT_EQ(ledger_.OfAll().tokens, 3U);
}

TEST(TariffTest, SaysOnlyWhatWasTold) {
  const Tariff none;
  EXPECT_FALSE(none.Grams(1));
  EXPECT_FALSE(none.Price(1));
  const Tariff tariff{.grams_per_kwh = 400, .price_per_kwh = 0.30, .currency = "EUR"};
  EXPECT_NEAR(*tariff.Grams(3.6e6), 400, 1e-9);
  EXPECT_NEAR(*tariff.Price(1.8e6), 0.15, 1e-9);
  EXPECT_NEAR(ToWattHours(7200), 2, 1e-12);
}

}  // namespace
}  // namespace shoal::coordinator
