#include "shoal/status_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace shoal {
namespace {

using Json = nlohmann::json;

Json Report() {
  return Json::parse(R"({
    "model": "bard", "layers": 5, "time": 1000,
    "health": {"nodes": 1, "answers_running": 1, "answers_waiting": 0, "waiting": null},
    "nodes": [
      {"id": 2, "label": "kitchen", "state": "up", "replica": 1, "layer_begin": 0, "layer_end": 5,
       "rows_per_second": 21.34, "throttle": 1.04, "battery_percent": 81, "charging": true,
       "temperature_c": 31.2, "memory_free_bytes": 3100000000, "watts": 2.5,
       "watts_estimated": true, "joules_per_token": 0.117, "heard_seconds": 0.2,
       "joules_per_token_estimated": true, "round_trip_ms": 1.5, "cpu_share": 0.5,
       "wh_today": 0.0123, "gco2e_today": 0.0049, "wh_today_estimated": true},
      {"id": 3, "label": "the phone with the broken glass", "state": "down",
       "reason": "silent for too long", "heard_seconds": 42, "layer_begin": 0, "layer_end": 0}],
    "replicas": [{"replica": 1, "waiting": null, "answers": 1, "tokens_per_second": 21.3,
                  "predicted_tokens_per_second": 25, "predicted_with_eight": 80,
                  "stages": [{"node": 2, "layer_begin": 0, "layer_end": 5}]}],
    "energy": {"watts": 2.5, "watts_estimated": true, "nodes_known": 1, "nodes_unknown": 0,
               "estimated": true, "covered": 1, "joules_per_token": 0.117,
               "joules_per_token_estimated": true, "wh_total": 3.0123,
               "cost_per_million_tokens": 0.0098, "currency": "EUR", "head_counted": true,
               "today": "2026-11-18",
               "days": [{"date": "2026-11-16", "wh": 1}, {"date": "2026-11-17", "wh": 2,
                         "wh_idle": 0, "estimated": false, "gco2e": 0.8, "cost": null},
                        {"date": "2026-11-18", "wh": 0.0123, "wh_idle": 0.01, "estimated": true,
                         "gco2e": 0.0049, "cost": 0.0000037, "joules_per_token": 0.117,
                         "joules_per_token_estimated": true}]},
    "events": [{"time": 990, "text": "replica 1: answers run"},
               {"time": 999, "text": "node 3 is gone\u001b[2J: silent"}]})");
}

std::string Show(const Json& report, std::size_t columns, std::size_t rows = 0) {
  return ShowStatus(report, {.columns = columns, .rows = rows, .time_of_day = [](std::int64_t t) {
                               return std::to_string(t);
                             }});
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t LongestLine(const std::string& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto width = std::count_if(line.begin(), line.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xc0U) != 0x80;
    });
    longest = std::max(longest, static_cast<std::size_t>(width));
  }
  return longest;
}

TEST(StatusViewTest, SaysWhoHoldsWhatAndWhatIsWrong) {
  const std::string text = Show(Report(), 80);
  EXPECT_TRUE(text.starts_with("bard, 5 layers   1 of 2 nodes here   1 answer running")) << text;
  EXPECT_TRUE(Has(text,
                  "replica 1: 21.3 tok/s (predicted 25.0 alone, 80.0 with 8 answers), 1 "
                  "answer:\n  kitchen[0-4]\n"))
      << text;
  EXPECT_TRUE(Has(text,
                  "   2 kitchen      up        1:0-4      21.3  1.0x  81%+  31°  3.1G ~2.50 "
                  "  ~0.12\n"))
      << text;
  EXPECT_TRUE(Has(text,
                  "   3 the phone w… down      -             -     -     -    -     -     - "
                  "      -\n"))
      << text;
  EXPECT_TRUE(
      Has(text, "! node 3 (the phone with the broken glass) has been down for 42 s: silent"))
      << text;
  EXPECT_TRUE(Has(text,
                  "energy: ~2.50 W, ~0.12 J a token, ~0.0098 EUR a million tokens\n"
                  "  today ~0.012 Wh (~0.01 idle), ~0.0049 g CO2e, ~<0.001 EUR, ~0.12 J a token\n"
                  "  2026-11-17 2.00 Wh (0 idle), 0.8 g CO2e\n"
                  "  2026-11-16 1.00 Wh (- idle)\n"
                  "  ~ is estimated; the head is counted\n"))
      << text;
  EXPECT_FALSE(Has(text, "audits")) << text;
  EXPECT_FALSE(Has(text, "\x1b")) << text;  // Nobody draws on a user's terminal.
}

TEST(StatusViewTest, WideScreensShowMore) {
  const std::string narrow = Show(Report(), 80);
  const std::string wide = Show(Report(), 120);
  EXPECT_FALSE(Has(narrow, "ping ms"));
  EXPECT_FALSE(Has(narrow, "Wh today"));
  EXPECT_TRUE(Has(Show(Report(), 100), " ~2.50   ~0.12   ~0.012 ~0.0049\n")) << wide;
  EXPECT_TRUE(Has(wide, "ping ms")) << wide;
  EXPECT_TRUE(Has(wide, "the phone wit…")) << wide;
  EXPECT_TRUE(Has(wide, "J/tok Wh today  g CO2e\n")) << wide;
}

TEST(StatusViewTest, SaysWhatAuditsFound) {
  Json report = Report();
  report["audits"] = {{"right", 124}, {"wrong", 1}, {"void", 3}, {"share", 0.198}};
  const std::string text = Show(report, 80);
  EXPECT_TRUE(
      Has(text, "audits: 124 right, 1 wrong, 3 void; 19.8% of the work was computed again\n"))
      << text;
}

TEST(StatusViewTest, FitsTheScreen) {
  Json report = Report();
  for (int i = 0; i < 40; ++i) report["events"].push_back({{"time", i}, {"text", "again"}});
  for (int i = 0; i < 30; ++i) {
    report["replicas"][0]["stages"].push_back(
        {{"node", 3}, {"layer_begin", i}, {"layer_end", i + 1}});
  }
  for (const std::size_t columns : {60, 80, 100, 120, 200}) {
    const std::string text = Show(report, columns, 40);
    EXPECT_LE(LongestLine(text), columns) << text;
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 40) << text;
  }
}

TEST(StatusViewTest, SaysWhatIsNotKnown) {
  Json report = Report();
  report["energy"]["covered"] = 0.4;
  report["energy"]["nodes_unknown"] = 2;
  report["energy"]["head_counted"] = false;
  const std::string text = Show(report, 200);
  EXPECT_TRUE(
      Has(text, "figures cover 40% of the work; 2 nodes do not tell; the head is not counted"))
      << text;
  report["energy"] = {{"watts", nullptr}, {"wh_total", 0}};
  EXPECT_TRUE(Has(Show(report, 200), "energy: unknown")) << Show(report, 200);
}

TEST(StatusViewTest, AllIsWell) {
  Json report = Report();
  report["nodes"].erase(1);
  EXPECT_TRUE(Has(Show(report, 80), "\nAll is well.\n"));
}

TEST(StatusViewTest, AnyJsonWillDo) {
  for (const char* text : {"{}", "[]", R"({"nodes":[{}],"replicas":[{}],"events":[{}]})"}) {
    EXPECT_FALSE(Show(Json::parse(text), 80).empty()) << text;
  }
}

}  // namespace
}  // namespace shoal
