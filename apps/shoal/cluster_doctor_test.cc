// Goal: the sick phone is named, with the reason and what to do; a healthy one is left alone.
#include "shoal/cluster_doctor.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

using Json = nlohmann::json;

Json Well(int id) {
  return {{"id", id},
          {"label", "phone-" + std::to_string(id)},
          {"state", "up"},
          {"reason", nullptr},
          {"throttle", 1.05},
          {"slowness", 1.1},
          {"battery_percent", 81},
          {"temperature_c", 33},
          {"charging", false},
          {"memory_free_bytes", 900'000'000},
          {"memory_pressure", 0.01},
          {"round_trip_ms", 3.0},
          {"heard_seconds", 0.2},
          {"arrivals", 1},
          {"doubts", Json::array()}};
}

// A cluster of three in which the second differs.
std::vector<Finding> With(const Json& change) {
  Json node = Well(3);
  node.update(change);
  return Diagnose({{"health", {{"waiting", nullptr}}}, {"nodes", {Well(2), node, Well(4)}}});
}

void ExpectOne(const Json& change, const std::string& words) {
  const std::vector<Finding> findings = With(change);
  ASSERT_EQ(findings.size(), 1U) << change;
  EXPECT_EQ(findings[0].who, "node 3 (phone-3)");
  EXPECT_NE(findings[0].problem.find(words), std::string::npos) << findings[0].problem;
  EXPECT_FALSE(findings[0].advice.empty());
}

TEST(ClusterDoctorTest, AllIsWell) {
  EXPECT_TRUE(With(Json::object()).empty());
  EXPECT_TRUE(With({{"state", "draining"}}).empty());
  EXPECT_TRUE(With({{"state", "free"}}).empty());
  EXPECT_TRUE(With({{"battery_percent", 5}, {"charging", true}}).empty());
  // A device that tells nothing is not sick.
  EXPECT_TRUE(Diagnose({{"nodes", {{{"id", 2}, {"state", "up"}}}}}).empty());
}

TEST(ClusterDoctorTest, FindsTheSickPhone) {
  ExpectOne({{"throttle", 2.04}}, "takes 2.0 times as long as at its best");
  ExpectOne({{"slowness", 3.3}}, "takes 3.3 times as long as it promised");
  ExpectOne({{"temperature_c", 46}}, "battery of 46 °C");
  ExpectOne({{"battery_percent", 12}}, "12 % of its battery left and does not charge");
  ExpectOne({{"battery_percent", 12}, {"charging", nullptr}}, "does not say whether");
  ExpectOne({{"memory_free_bytes", 50'000'000}}, "only 50 MB of memory left");
  ExpectOne({{"memory_pressure", 0.4}, {"memory_free_bytes", 1}}, "waits for memory 40 %");
  ExpectOne({{"round_trip_ms", 48}}, "48 ms away from the head and back; others are 3.0");
  ExpectOne({{"arrivals", 5}}, "came 5 times");
  ExpectOne({{"doubts", {"battery current: frozen"}}}, "battery current: frozen");
  ExpectOne({{"state", "paused"}, {"reason", "battery at 45 °C"}}, "is paused: battery at 45 °C");
  ExpectOne({{"state", "quarantined"}, {"reason", "2 audits failed"}}, "quarantined: 2 audits");
  ExpectOne({{"state", "down"}, {"heard_seconds", 12.3}, {"reason", "silent for too long"}},
            "has been down for 12 s: silent for too long");
  ExpectOne({{"state", "down"}, {"heard_seconds", nullptr}}, "has not been here since");
}

TEST(ClusterDoctorTest, OnePhoneCanHaveManyProblems) {
  EXPECT_EQ(With({{"temperature_c", 51}, {"throttle", 3}, {"battery_percent", 3}}).size(), 3U);
  // What a phone that is gone said last is not news.
  EXPECT_EQ(With({{"state", "down"}, {"temperature_c", 51}, {"throttle", 3}}).size(), 1U);
}

TEST(ClusterDoctorTest, SlowLinksAreSlowAgainstOthers) {
  Json far = Well(2);
  far["round_trip_ms"] = 40;
  // All are far away: that is the place, not a phone.
  EXPECT_TRUE(Diagnose({{"nodes", {far, far, far}}}).empty());
  Json near = Well(2);
  near["round_trip_ms"] = 0.2;
  Json other = Well(3);
  other["round_trip_ms"] = 2;  // Ten times as far, and near enough.
  EXPECT_TRUE(Diagnose({{"nodes", {near, near, other}}}).empty());
}

TEST(ClusterDoctorTest, AClusterThatWaitsIsSick) {
  const auto findings = Diagnose({{"health", {{"waiting", "no node has joined yet"}}}});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(ToText(findings[0]).substr(0, 55),
            "the cluster does not answer: no node has joined yet. St");
}

TEST(ClusterDoctorTest, AnyJsonWillDo) {
  for (const char* text : {"{}", "[]", "7", R"({"nodes":7})", R"({"nodes":[7,{}],"health":[]})",
                           R"({"nodes":[{"id":"x","state":7,"throttle":"hot","doubts":[7]}]})"}) {
    EXPECT_TRUE(Diagnose(Json::parse(text)).empty()) << text;
  }
}

}  // namespace
}  // namespace shoal
