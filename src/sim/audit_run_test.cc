#include "sim/audit_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string>

namespace shoal::sim {
namespace {

constexpr std::int64_t kLayers = 8;

std::uint64_t Number(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return text == nullptr ? otherwise : std::stoull(text);
}

// SHOAL_SEEDS=200: so many instead; SHOAL_SEED=17: one, and what happens in it.
std::uint64_t Seeds() { return Number("SHOAL_SEEDS", SHOAL_AUDIT_SEEDS); }
std::uint64_t FirstSeed() { return Number("SHOAL_SEED", 1); }
std::uint64_t LastSeed() { return Number("SHOAL_SEED", Seeds()); }

class AuditRunTest : public testing::Test {
 protected:
  AuditRunResult Run(const AuditRunOptions& options) {
    const bool show = std::getenv("SHOAL_SEED") != nullptr;  // NOLINT(concurrency-mt-unsafe)
    return RunAudits(
        options, model_, questions_,
        show ? [](std::string_view line) { std::cout << line << "\n"; } : Trace::Line());
  }

  ToyModel model_{kLayers, 32, 7};
  std::vector<ClusterQuestion> questions_ = MakeQuestions(model_, 12, 3);
};

TEST_F(AuditRunTest, HonestNodesAreNeverBlamed) {
  std::uint64_t audits = 0;
  for (std::uint64_t seed = 1; seed <= Seeds() / 4 + 1; ++seed) {
    const AuditRunResult result = Run({.seed = seed, .audit = 1});
    EXPECT_EQ(result.failure, "") << seed;
    EXPECT_TRUE(result.quarantined.empty()) << seed;
    EXPECT_EQ(result.failed, 0U);
    EXPECT_GT(result.right, 20U);
    audits += result.right;
  }
  std::cout << audits << " audits, no false alarm\n";
}

TEST_F(AuditRunTest, TheBudgetIsKept) {
  if (Seeds() < 10) GTEST_SKIP() << "too few seeds for a mean";
  double share = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    share += Run({.seed = seed, .audit = 0.05, .tokens_max = 4000}).share / 5;
  }
  EXPECT_GT(share, 0.02);
  EXPECT_LT(share, 0.08);
}

// The promise of the documents: within 2,000 tokens, in 95 of 100 clusters, for a fifth of the
// work.
TEST_F(AuditRunTest, APhoneThatFlipsABitInAHundredRowsIsFoundOut) {
  std::uint64_t caught = 0;
  double share = 0;
  for (std::uint64_t seed = FirstSeed(); seed <= LastSeed(); ++seed) {
    const auto liar = static_cast<std::uint32_t>(seed % 4);
    const AuditRunResult result = Run({.seed = seed, .audit = 0.2, .liar = liar});
    EXPECT_EQ(result.failure, "") << seed;
    share += result.share / static_cast<double>(Seeds());
    for (const NodeId node : result.quarantined) {
      EXPECT_EQ(ToNumber(node), liar + 2) << "seed " << seed << ": an honest one is blamed";
    }
    caught += result.quarantined.empty() ? 0 : 1;
    if (result.quarantined.empty()) {
      std::cout << "seed " << seed << ": " << result.lies << " lies in " << result.tokens
                << " tokens, " << result.right << " audits right, " << result.voided << " void\n";
    }
  }
  std::cout << caught << " of " << Seeds() << " found out, " << 100 * share
            << " % of the work computed again\n";
  EXPECT_GE(static_cast<double>(caught), 0.95 * static_cast<double>(Seeds()));
}

// What docs/security.md says of lies that are so rare that each must be found by itself: with the
// probability of an audit. About one in each cluster; wrong guesses of tokens do no harm, and do
// not count.
TEST_F(AuditRunTest, ARareLieIsFoundWithTheProbabilityOfAnAudit) {
  if (Seeds() < 10) GTEST_SKIP() << "too few seeds for a probability";
  constexpr double kAudit = 0.4;
  std::size_t caught = 0;
  std::size_t spoiled = 0;
  for (std::uint64_t seed = 1; seed <= Seeds(); ++seed) {
    const auto liar = static_cast<std::uint32_t>(seed % 4);
    // One by one, so that no others are spoiled while the first is examined.
    const AuditRunResult result =
        Run({.seed = seed, .audit = kAudit, .at_once = 1, .liar = liar, .chance = 5e-4});
    EXPECT_EQ(result.failure, "") << seed;
    spoiled += result.spoiled;
    caught += result.quarantined.size();
  }
  std::cout << caught << " found out, " << spoiled << " answers spoiled until then, at " << kAudit
            << "\n";
  ASSERT_GT(spoiled, 10U);
  const double spread = std::sqrt(kAudit * (1 - kAudit) / static_cast<double>(spoiled));
  EXPECT_NEAR(static_cast<double>(caught) / static_cast<double>(spoiled), kAudit, 3 * spread);
}

// Nobody who stands behind a liar is taken for it, however it lies.
TEST_F(AuditRunTest, ALiarIsNeverTakenForItsNeighbour) {
  for (const Lie lie : {Lie::kLink, Lie::kReceipts, Lie::kSilence, Lie::kEvasion}) {
    std::uint64_t caught = 0;
    const std::uint64_t seeds = Seeds() / 8 + 1;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const auto liar = static_cast<std::uint32_t>(seed % 4);
      const AuditRunResult result =
          Run({.seed = seed, .audit = 0.2, .liar = liar, .lie = lie, .chance = 0.05});
      EXPECT_EQ(result.failure, "") << seed;
      for (const NodeId node : result.quarantined) {
        EXPECT_EQ(ToNumber(node), liar + 2)
            << "seed " << seed << ", lie " << static_cast<int>(lie) << ": an honest one is blamed";
      }
      caught += result.quarantined.empty() ? 0 : 1;
    }
    std::cout << "lie " << static_cast<int>(lie) << ": " << caught << " of " << seeds
              << " found out\n";
    EXPECT_GE(10 * caught, 9 * seeds);
  }
}

// Batches count if they come from where they must come from.
TEST_F(AuditRunTest, WhoForgesBatchesMakesNobodyLookGuilty) {
  for (const Lie lie : {Lie::kForgery, Lie::kTamper}) {
    std::uint64_t caught = 0;
    for (std::uint64_t seed = 1; seed <= Seeds() / 8 + 1; ++seed) {
      const auto forger = static_cast<std::uint32_t>(seed % 4);
      const AuditRunResult result =
          Run({.seed = seed, .audit = 0.2, .liar = forger, .lie = lie, .chance = 0.05});
      EXPECT_EQ(result.failure, "") << seed;
      // Of its own stage it may have sent two different batches over the head.
      for (const NodeId node : result.quarantined) {
        EXPECT_EQ(ToNumber(node), forger + 2) << "seed " << seed << ": an honest one is blamed";
      }
      EXPECT_TRUE(result.tokens >= 2000 || !result.quarantined.empty()) << seed;
      caught += result.quarantined.empty() ? 0 : 1;
    }
    std::cout << "lie " << static_cast<int>(lie) << ": " << caught << " found out\n";
  }
}

}  // namespace
}  // namespace shoal::sim
