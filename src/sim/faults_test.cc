// Goal: every fault has a flag, and a replay line says exactly what was run.
#include "sim/faults.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <sstream>

namespace shoal::sim {
namespace {

// Reads flags as `shoal sim` does.
Faults Parse(const std::string& flags) {
  Faults faults;
  std::istringstream in(flags);
  std::string name;
  double value = 0;
  while (in >> name >> value) {
    bool known = false;
    for (const FaultField& field : FaultFields()) {
      if ("--" + std::string(field.name) != name) continue;
      field.Set(faults, value);
      known = true;
    }
    EXPECT_TRUE(known) << name;
  }
  return faults;
}

TEST(FaultsTest, EveryFaultHasAFlagOfItsOwn) {
  // All members are eight bytes long: one that is added and not listed shows here.
  EXPECT_EQ(FaultFields().size() * 8, sizeof(Faults));
  std::set<std::string_view> names;
  Faults faults;
  for (const FaultField& field : FaultFields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_FALSE(field.help.empty());
    field.Set(faults, 0.25);
  }
  for (const FaultField& field : FaultFields()) EXPECT_EQ(field.Get(faults), 0.25) << field.name;
}

TEST(FaultsTest, FlagsReadBackAsTheSameFaults) {
  EXPECT_EQ(FaultFlags({}), "");
  EXPECT_EQ(FaultFlags({.frame_loss = 0.01, .partition_mean = std::chrono::seconds(2)}),
            " --frame-loss 0.01 --partition-ms 2000");
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Faults faults = RandomFaults(seed);
    const Faults again = Parse(FaultFlags(faults));
    for (const FaultField& field : FaultFields()) {
      EXPECT_EQ(field.Get(again), field.Get(faults)) << field.name << " of seed " << seed;
    }
  }
}

TEST(FaultsTest, ValuesThatMeanNothingBecomeTheNearestThatDo) {
  Faults faults;
  for (const FaultField& field : FaultFields()) {
    for (const double value : {-1.0, 1e300, std::nan(""), -HUGE_VAL, HUGE_VAL}) {
      field.Set(faults, value);
      EXPECT_GE(field.Get(faults), 0.0);
      EXPECT_LE(field.Get(faults), 1e9);
    }
  }
  EXPECT_EQ(faults.frame_loss, 1.0);
}

}  // namespace
}  // namespace shoal::sim
