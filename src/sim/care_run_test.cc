// Goal: phones whose batteries empty, heat up or lie are spared by the production code of head and
// nodes, and every answer has the tokens of one device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/cluster_run.h"

namespace shoal::sim {
namespace {

using wire::pb::Telemetry;

constexpr std::uint64_t kSeeds = SHOAL_CLUSTER_SEEDS / 5;

// What a node's sensors say so many seconds after its start.
using Sensors = std::function<void(double seconds, Telemetry& telemetry)>;

class StoryProbe final : public agent::Probe {
 public:
  StoryProbe(const Clock& clock, Sensors sensors)
      : clock_(clock), begin_(clock.Now()), sensors_(std::move(sensors)) {}
  void Read(Telemetry& telemetry) override {
    sensors_(ToSeconds(clock_.Now() - begin_), telemetry);
  }

 private:
  const Clock& clock_;
  const Instant begin_;
  const Sensors sensors_;
};

// Well, and wavering in the last digit: 1 A off the charger, 35 °C.
void Healthy(double seconds, Telemetry& telemetry) {
  const double noise = std::sin(seconds * 12.9898);
  telemetry.set_battery_level(std::ceil(90 - seconds / 144) / 100);
  telemetry.set_battery_amperes(-1 + 0.02 * noise);
  telemetry.set_battery_celsius(std::round(350 + 3 * noise) / 10);
  telemetry.set_charging(false);
}

class CareRun : public testing::Test {
 protected:
  // Four phones, all of which have layers; those in `sensors_` have sensors.
  CareRun() {
    options_.nodes = 4;
    options_.stages = 4;
    options_.questions = 4;
    options_.make_probe = [this](const Surroundings& around) {
      const auto found = sensors_.find(around.self);
      return std::make_unique<StoryProbe>(around.clock,
                                          found != sensors_.end() ? found->second : Healthy);
    };
  }

  ClusterRunResult Run(std::int64_t layers = 8) {
    const ToyModel model(layers, 64, 1);
    const std::vector<ClusterQuestion> questions = MakeQuestions(model, options_.questions, 1);
    lines_.clear();
    ClusterRunResult result = RunCluster(
        options_, model, questions, [this](std::string_view line) { lines_.emplace_back(line); });
    EXPECT_EQ(result.failure, "");
    return result;
  }

  // The lines with `text`, without their times.
  std::vector<std::string> Lines(const std::string& text) const {
    std::vector<std::string> found;
    for (const std::string& line : lines_) {
      if (line.find(text) != std::string::npos) found.push_back(line.substr(line.find("] ") + 2));
    }
    return found;
  }
  // Whether a route with `node` was made between the lines with `begin` and `end`.
  bool IsUsedBetween(const std::string& node, const std::string& begin,
                     const std::string& end) const {
    bool between = false;
    bool used = false;
    for (const std::string& line : lines_) {
      if (line.find(begin) != std::string::npos) between = true;
      if (line.find(end) != std::string::npos) between = false;
      used = used || (between && line.find(node + " [") != std::string::npos);
    }
    return used;
  }
  std::string Transcript() const {
    std::string all;
    for (const std::string& line : lines_) all += line + "\n";
    return all;
  }

  ClusterRunOptions options_;
  std::map<NodeId, Sensors> sensors_;
  std::vector<std::string> lines_;
};

TEST_F(CareRun, ABatteryThatEmptiesIsSparedAndComesBack) {
  // From 22 % it loses one a minute; after twenty minutes somebody plugs it in.
  sensors_[NodeId{3}] = [](double seconds, Telemetry& telemetry) {
    Healthy(seconds, telemetry);
    const bool charging = seconds > 1200;
    const double percent = charging ? 2 + (seconds - 1200) / 30 : 22 - seconds / 60;
    telemetry.set_battery_level(std::floor(percent) / 100);
    telemetry.set_charging(charging);
    telemetry.clear_battery_amperes();
  };
  options_.duration = std::chrono::minutes(40);
  const ClusterRunResult result = Run();
  EXPECT_EQ(result.answers_before_healing, 4U);
  EXPECT_EQ(Lines("node 1: node 3"),
            (std::vector<std::string>{
                "node 1: node 3 works half of the time: battery 19 %, below 20 %, and not charging",
                "node 1: node 3 rests: battery 10 %, floor 10 %",
                "node 1: node 3 works again: battery 15 %"}))
      << Transcript();
  EXPECT_EQ(Lines("node 3 must rest; epoch").size(), 1U) << Transcript();
  EXPECT_FALSE(IsUsedBetween("node 3", "node 3 rests", "node 3 works again")) << Transcript();
}

TEST_F(CareRun, APhoneThatGetsHotPausesAndOneThatGetsTooHotStops) {
  const auto heat = [](double peak) {
    return [peak](double seconds, Telemetry& telemetry) {
      Healthy(seconds, telemetry);
      const double noise = telemetry.battery_celsius() - 35;
      const double rise = 36 + std::min(seconds, 600 - std::min(seconds, 600.0)) / 10;
      telemetry.set_battery_celsius(std::min(rise, peak) + noise);
    };
  };
  sensors_[NodeId{3}] = heat(47);
  sensors_[NodeId{4}] = heat(52);
  options_.duration = std::chrono::minutes(20);
  Run();
  EXPECT_EQ(Lines("node 1: node 3 ").size(), 2U) << Transcript();
  EXPECT_EQ(Lines("node 1: node 3 pauses: battery 45.").size(), 1U) << Transcript();
  EXPECT_EQ(Lines("node 1: node 4 pauses: battery 45.").size(), 1U);
  EXPECT_EQ(Lines("node 1: node 4 stops: battery 50.").size(), 1U);
  EXPECT_EQ(Lines("node 1: node 4 works again: battery 3").size(), 1U) << Transcript();
  EXPECT_FALSE(IsUsedBetween("node 3", "node 3 pauses", "node 3 works again")) << Transcript();
  EXPECT_FALSE(IsUsedBetween("node 4", "node 4 pauses", "node 4 works again")) << Transcript();
}

TEST_F(CareRun, WhenAllPhonesRestAnswersWait) {
  options_.nodes = 2;
  options_.stages = 2;
  for (const NodeId node : {NodeId{2}, NodeId{3}}) {
    // Hot enough from the second minute until the tenth.
    sensors_[node] = [](double seconds, Telemetry& telemetry) {
      Healthy(seconds, telemetry);
      const double more = seconds < 120 ? seconds / 10 : seconds < 600 ? 12 : 0;
      telemetry.set_battery_celsius(telemetry.battery_celsius() + more);
    };
  }
  options_.duration = std::chrono::minutes(15);
  const ClusterRunResult result = Run();
  const auto told = std::find_if(result.waits.begin(), result.waits.end(), [](const auto& why) {
    return why.find("all phones rest: node 2: battery 4") == 0 &&
           why.find("; node 3: battery 4") != std::string::npos;
  });
  EXPECT_NE(told, result.waits.end()) << Transcript();
  EXPECT_EQ(Lines("works again").size(), 2U) << Transcript();
}

// Up to every other phone is hot when it starts, some of them too hot, while phones and the head
// crash, hang and are cut off.
TEST_F(CareRun, PhonesRestWhileEverythingBreaks) {
  std::size_t pauses = 0;
  std::size_t stops = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto make_probe = options_.make_probe;
    options_ = RandomCluster(seed);
    options_.make_probe = make_probe;
    sensors_.clear();
    Random random(seed, 0xCA4E);
    for (std::uint64_t node = 2; node <= options_.nodes; node += 2) {
      const double until = random.Unit() * 8;
      const double from = random.Unit() * until;
      const double celsius = random.Chance(0.5) ? 46 : 51;
      sensors_[NodeId{node}] = [=](double seconds, Telemetry& telemetry) {
        Healthy(seconds, telemetry);
        const double cooled = std::max(36.0, celsius - 2 * (seconds - until));
        telemetry.set_battery_celsius(seconds < from    ? celsius - 7
                                      : seconds < until ? celsius
                                                        : cooled);
      };
    }
    Run(48);
    pauses += Lines(" pauses: ").size();
    stops += Lines(" stops: ").size();
    ASSERT_FALSE(HasFailure()) << "seed " << seed << "\n" << Transcript();
  }
  EXPECT_GE(pauses, kSeeds);
  EXPECT_GE(stops, 1U);
}

// Each phone is well, and its sensors are not: something new every few minutes.
TEST_F(CareRun, SensorsThatLieMoveNothing) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    auto faults = std::make_shared<std::size_t>(0);
    for (std::uint64_t node = 2; node <= 5; ++node) {
      struct Fault {
        Random random;
        double begin = 60;
        double end = 60;
        std::uint64_t kind = 0;
      };
      auto fault = std::make_shared<Fault>(Fault{Random(seed, node)});
      sensors_[NodeId{node}] = [fault, faults](double seconds, Telemetry& telemetry) {
        Healthy(seconds, telemetry);
        Random& random = fault->random;
        if (seconds > fault->end) {
          ++*faults;
          fault->kind = random.Below(8);
          fault->begin = seconds + static_cast<double>(random.Between(10, 300));
          fault->end = fault->begin + static_cast<double>(random.Between(1, 900));
        }
        if (seconds < fault->begin) return;
        switch (fault->kind) {
          case 0:
            return telemetry.set_battery_celsius(
                random.Chance(0.5) ? 3276.7 : std::numeric_limits<double>::quiet_NaN());
          case 1:
            return telemetry.set_battery_level(random.Unit());
          case 2:
            return telemetry.set_battery_amperes(-telemetry.battery_amperes());
          case 3:
            return telemetry.set_battery_amperes(telemetry.battery_amperes() / 1000);
          case 4:
            return telemetry.set_battery_amperes(random.Chance(0.5) ? -1000 : -1);
          case 5:
            return telemetry.set_battery_celsius(35.1);
          case 6:
            telemetry.clear_battery_celsius();
            return telemetry.clear_battery_level();
          default:
            if (random.Chance(0.5)) telemetry.Clear();
            return;
        }
      };
    }
    options_.seed = seed;
    options_.duration = std::chrono::hours(2);
    Run();
    for (const char* change : {" rests: ", " pauses: ", " stops: ", " works "}) {
      EXPECT_TRUE(Lines(change).empty()) << "seed " << seed << "\n" << Transcript();
    }
    EXPECT_LE(Lines("has a sensor out of order").size(), *faults) << "seed " << seed;
    EXPECT_GE(Lines("has a sensor out of order").size(), *faults / 4) << "seed " << seed;
  }
}

}  // namespace
}  // namespace shoal::sim
