// Goal: what a phone's battery files say over time is what the head's ledger counts, to 1 %: files,
// probe, telemetry, ledger. The integral to compare with is computed here, from the trace itself.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "agent/agent.h"
#include "base/random.h"
#include "coordinator/accounts.h"
#include "coordinator/energy.h"
#include "os/machine/fake_machines.h"
#include "os/machine/fake_tree.h"
#include "shoal/machine_probe.h"
#include "wire/control.h"

namespace shoal {
namespace {

constexpr NodeId kPhone{7};
constexpr const char* kBattery = "/sys/class/power_supply/battery/";

// A phone that idles, answers in bursts, gets hot and is throttled: what its gauge showed, and
// when. Between two entries the gauge moves straight from one to the other.
struct Shown {
  double seconds;
  double amperes;  // Out of the battery.
  double volts;
};
constexpr std::array<Shown, 17> kTrace = {{{0, 0.18, 4.21},
                                           {11.3, 0.19, 4.21},
                                           {12.1, 1.42, 4.06},
                                           {20.7, 1.51, 4.03},
                                           {21.2, 0.66, 4.11},
                                           {24.0, 0.61, 4.12},
                                           {24.4, 1.78, 3.98},
                                           {55.9, 1.69, 3.93},
                                           {58.2, 1.13, 3.97},  // Throttled.
                                           {97.0, 1.08, 3.94},
                                           {98.4, 0.21, 4.05},
                                           {131.0, 0.17, 4.06},
                                           {131.5, 2.31, 3.79},
                                           {140.2, 2.04, 3.80},
                                           {141.0, 0.95, 3.91},
                                           {172.8, 0.93, 3.88},
                                           {180.0, 0.20, 4.01}}};

Shown At(double seconds) {
  for (std::size_t i = 1; i < kTrace.size(); ++i) {
    const Shown& a = kTrace[i - 1];
    const Shown& b = kTrace[i];
    if (seconds > b.seconds) continue;
    const double part = (seconds - a.seconds) / (b.seconds - a.seconds);
    return {seconds, a.amperes + part * (b.amperes - a.amperes),
            a.volts + part * (b.volts - a.volts)};
  }
  return kTrace.back();
}

// Exact: a product of two straight lines is a parabola, for which Simpson's rule has no error.
double JoulesOfTrace() {
  double joules = 0;
  for (std::size_t i = 1; i < kTrace.size(); ++i) {
    const Shown& a = kTrace[i - 1];
    const Shown& b = kTrace[i];
    const double middle = (a.amperes + b.amperes) / 2 * (a.volts + b.volts) / 2;
    joules +=
        (b.seconds - a.seconds) / 6 * (a.amperes * a.volts + 4 * middle + b.amperes * b.volts);
  }
  return joules;
}

// A gauge that tells time with the ledger's clock.
class TraceClock final : public Clock {
 public:
  Instant Now() const override { return now; }
  TimerId CallAt(Instant, UniqueFunction<void()>) override { return {}; }
  void Cancel(TimerId) override {}
  Instant now;
};

class EnergyTraceTest : public testing::Test {
 protected:
  void SetUp() override { os::MakePixel(tree_); }

  // As the kernel of `vendor` writes it.
  void Show(const Shown& shown, const char* status, double unit, double sign) {
    const auto write = [&](const char* file, double value) {
      tree_.Write(std::string(kBattery) + file, std::to_string(std::llround(value)) + "\n");
    };
    tree_.Write(std::string(kBattery) + "status", std::string(status) + "\n");
    write("current_now", sign * unit * shown.amperes);
    write("voltage_now", 1e6 * shown.volts);
  }

  // Runs the trace past the probe, every `interval` or so.
  void Run(double watts, const char* status, double unit, double sign) {
    MachineProbe probe(tree_.root(), {}, watts);
    Random random(1);
    for (double at = 0; at < kTrace.back().seconds + 0.5;) {
      clock_.now = {std::chrono::nanoseconds(std::llround(at * 1e9))};
      Show(At(at), status, unit, sign);
      wire::pb::Telemetry telemetry;
      probe.Read(telemetry);
      accounts_.OnTelemetry(kPhone, telemetry);
      // Frames come when they come.
      at += ToSeconds(agent::kTelemetryInterval) * (0.9 + 0.2 * random.Unit());
    }
  }
  coordinator::NodeEnergy Counted() const { return accounts_.Of(kPhone).energy; }

  os::FakeTree tree_;
  TraceClock clock_;
  coordinator::Accounts accounts_{clock_, {}};
};

TEST_F(EnergyTraceTest, WithinAPercent) {
  Run(0, "Discharging", 1e6, -1);
  EXPECT_NEAR(Counted().total.joules / JoulesOfTrace(), 1, 0.01);
  EXPECT_FALSE(Counted().total.estimated);
  RecordProperty("joules", std::to_string(Counted().total.joules));
  RecordProperty("trace", std::to_string(JoulesOfTrace()));
}

TEST_F(EnergyTraceTest, VendorsWithMilliamperesAndTheOtherSign) {
  Run(0, "Discharging", 1e3, 1);
  EXPECT_NEAR(Counted().total.joules / JoulesOfTrace(), 1, 0.01);
}

TEST_F(EnergyTraceTest, MeasuredPowerIsBetterThanTheOwnersFigure) {
  Run(5, "Discharging", 1e6, -1);
  EXPECT_NEAR(Counted().total.joules / JoulesOfTrace(), 1, 0.01);
  EXPECT_FALSE(Counted().total.estimated);
}

TEST_F(EnergyTraceTest, OnAChargerTheBatteryDoesNotTell) {
  Run(0, "Charging", 1e6, 1);
  EXPECT_EQ(Counted().total.joules, 0);
  EXPECT_FALSE(Counted().power);  // Unknown, and neither zero nor negative.
}

TEST_F(EnergyTraceTest, OnAChargerTheOwnersFigureCounts) {
  Run(5, "Charging", 1e6, 1);
  EXPECT_NEAR(Counted().total.joules / (5 * kTrace.back().seconds), 1, 0.01);
  EXPECT_TRUE(Counted().total.estimated);
  EXPECT_TRUE(Counted().power->estimated);
}

TEST_F(EnergyTraceTest, ADeviceWithoutSensorsIsAnEstimate) {
  const os::FakeTree bare;
  MachineProbe told(bare.root(), {}, 5);
  MachineProbe unknown(bare.root(), {}, 0);
  for (int i = 0; i <= 10; ++i) {
    clock_.now = {agent::kTelemetryInterval * i};
    wire::pb::Telemetry telemetry;
    told.Read(telemetry);
    accounts_.OnTelemetry(kPhone, telemetry);
    wire::pb::Telemetry nothing;
    unknown.Read(nothing);
    accounts_.OnTelemetry(NodeId{8}, nothing);
  }
  EXPECT_NEAR(Counted().total.joules, 25, 0.1);
  EXPECT_TRUE(Counted().total.estimated);
  EXPECT_FALSE(accounts_.Of(NodeId{8}).energy.power);
}

}  // namespace
}  // namespace shoal
