#include "api/admin.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/door_testing.h"

namespace shoal::api {
namespace {

class FewNodes final : public AdminSource {
 public:
  std::vector<NodeSummary> Nodes() const override {
    return {{.id = NodeId{7},
             .label = "kitchen",
             .state = "up",
             .replica = 2,
             .layer_end = 4,
             .battery_percent = 81}};
  }
  Status Drain(NodeId node, bool draining) override {
    return Note(draining ? "drain" : "undrain", node);
  }
  ClusterReport Report() const override {
    ClusterReport report{.model = "bard", .layers = 5, .unix_time = 1000, .nodes = Nodes()};
    report.nodes[0].reason = "battery at 12 %";
    report.nodes[0].watts = 1.23456789;
    report.replicas = {{.number = 2,
                        .stages = {{.node = NodeId{7}, .layer_begin = 0, .layer_end = 4}},
                        .tokens_per_second = 12.5}};
    report.nodes[0].today = {.wh = 2.5, .gco2e = 1.25, .estimated = true};
    report.nodes[0].total = {.wh = 3.5, .joules_per_token = 0.5};
    report.energy = {
        .watts = 4,
        .watts_estimated = true,
        .total = {.joules_per_token = 0.25, .joules_per_token_estimated = true, .covered = 0.75},
        .days = {{"2026-11-18", {.wh = 3.5, .gco2e = 1.75}}},
        .currency = "EUR"};
    report.events = {{.unix_time = 999, .text = "node 7 is \xff here"}};
    return report;
  }
  Status Evict(NodeId node) override { return Note("evict", node); }
  Status Pardon(NodeId node) override { return Note("pardon", node); }
  Status Label(NodeId node, const std::string& label) override { return Note(label, node); }
  Result<WorkRules> Rules(NodeId node) const override {
    if (ToNumber(node) != 7) return Status(Code::kNotFound, "no such node");
    return rules;
  }
  Status SetRules(NodeId node, const WorkRules& set) override {
    rules = set;
    return Note("set", node);
  }

  std::vector<std::string> done;
  WorkRules rules;

 private:
  Status Note(const std::string& what, NodeId node) {
    if (ToNumber(node) != 7) return {Code::kNotFound, "no such node"};
    done.push_back(what);
    return {};
  }
};

class AdminTest : public testing::Test {
 protected:
  Collected Send(const std::string& method, const std::string& target, const std::string& body = {},
                 const std::string& key = "Bearer secret") {
    Collected collected;
    CollectingResponder responder(collected);
    Request request{.method = method, .target = target, .headers = {}, .body = body};
    if (!key.empty()) request.headers.emplace_back("authorization", key);
    door_.Handle(request, responder);
    return collected;
  }
  FewNodes nodes_;
  AdminDoor door_{nodes_, "secret"};
};

TEST_F(AdminTest, ListsNodes) {
  const auto nodes = Send("GET", "/shoal/nodes").json().at("nodes");
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0]["id"], 7);
  EXPECT_EQ(nodes[0]["label"], "kitchen");
  EXPECT_EQ(nodes[0]["replica"], 2);
  EXPECT_EQ(nodes[0]["battery_percent"], 81);
  EXPECT_EQ(nodes[0]["temperature_c"], nullptr);
}

TEST_F(AdminTest, ReportsTheCluster) {
  const auto report = Send("GET", "/shoal/status").json();
  EXPECT_EQ(report["model"], "bard");
  EXPECT_EQ(report["nodes"][0]["reason"], "battery at 12 %");
  EXPECT_EQ(report["nodes"][0]["watts"], 1.23457);  // Not seventeen digits.
  EXPECT_EQ(report["nodes"][0]["throttle"], nullptr);
  EXPECT_EQ(report["replicas"][0]["stages"][0]["node"], 7);
  EXPECT_EQ(report["replicas"][0]["tokens_per_second"], 12.5);
  EXPECT_EQ(report["energy"]["covered"], 0.75);
  EXPECT_EQ(report["energy"]["cost_today"], nullptr);  // Nobody said what a kWh costs.
  const auto day = report["energy"]["days"][0];
  EXPECT_EQ(day["date"], "2026-11-18");
  EXPECT_EQ(day["wh"], 3.5);
  EXPECT_EQ(day["gco2e"], 1.75);
  EXPECT_EQ(day["joules_per_token"], nullptr);
  EXPECT_EQ(report["events"][0]["text"], "node 7 is \xEF\xBF\xBD here");
  EXPECT_EQ(report["health"]["waiting"], nullptr);
  EXPECT_EQ(Send("POST", "/shoal/status").status, 405);
  EXPECT_EQ(Send("GET", "/shoal/status", "", "Bearer no").status, 401);
}

TEST_F(AdminTest, EstimatesAreMarked) {
  const auto report = Send("GET", "/shoal/status").json();
  const auto& node = report["nodes"][0];
  EXPECT_EQ(node["wh_today"], 2.5);
  EXPECT_EQ(node["gco2e_today"], 1.25);
  EXPECT_EQ(node["wh_today_estimated"], true);
  EXPECT_EQ(node["wh_total"], 3.5);
  EXPECT_EQ(node["gco2e_total"], nullptr);  // Nobody said what the grid emits.
  EXPECT_EQ(node["wh_total_estimated"], false);
  EXPECT_EQ(node["joules_per_token"], 0.5);
  EXPECT_EQ(node["joules_per_token_estimated"], false);
  EXPECT_EQ(report["energy"]["watts_estimated"], true);
  EXPECT_EQ(report["energy"]["wh_today_estimated"], false);
  EXPECT_EQ(report["energy"]["joules_per_token_estimated"], true);
  EXPECT_EQ(report["energy"]["days"][0]["estimated"], false);
}

TEST_F(AdminTest, TellsNodes) {
  EXPECT_EQ(Send("POST", "/shoal/nodes/7/drain").status, 200);
  EXPECT_EQ(Send("POST", "/shoal/nodes/7/undrain").status, 200);
  EXPECT_EQ(Send("POST", "/shoal/nodes/7/evict").status, 200);
  EXPECT_EQ(Send("POST", "/shoal/nodes/7/pardon").status, 200);
  EXPECT_EQ(Send("POST", "/shoal/nodes/7/label", R"({"label":"hall"})").status, 200);
  EXPECT_EQ(nodes_.done, (std::vector<std::string>{"drain", "undrain", "evict", "pardon", "hall"}));
}

TEST_F(AdminTest, SetsRulesOneByOne) {
  const char* path = "/shoal/nodes/7/set";
  EXPECT_EQ(Send("POST", path, R"({"duty":0.5,"hours":"22-7"})").status, 200);
  EXPECT_EQ(nodes_.rules, (WorkRules{.duty = 0.5, .hours = DayHours{22 * 60, 7 * 60}}));
  EXPECT_EQ(Send("POST", path, R"({"floor_percent":15,"only_charging":false})").status, 200);
  EXPECT_EQ(Send("POST", path, R"({"duty":null,"hours":"always"})").status, 200);
  EXPECT_EQ(nodes_.rules, (WorkRules{.only_charging = false, .hours = DayHours{}, .floor = 0.15}));
  EXPECT_EQ(nodes_.done, (std::vector<std::string>{"set", "set", "set"}));
}

TEST_F(AdminTest, SaysWhatIsWrongWithRules) {
  const std::pair<const char*, const char*> wrong[] = {
      {"", "parse error"},
      {"{}", "the body must be such as"},
      {"[1]", "the body must be such as"},
      {R"({"duty":"half"})", "duty: must be a number from 0.01 to 1 or null"},
      {R"({"duty":0})", "duty: from 0.01 to 1"},
      {R"({"duty":1e999})", ""},
      {R"({"only_charging":1})", "only_charging: must be true, false or null"},
      {R"({"hours":"22"})", "hours are written as 22-7"},
      {R"({"hours":7})", "hours: must be a text"},
      {R"({"floor_percent":95})", "floor_percent: from 0 to 90"},
      {R"({"floor":10})", "no such rule"},
  };
  for (const auto& [body, message] : wrong) {
    const Collected answer = Send("POST", "/shoal/nodes/7/set", body);
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_NE(answer.json()["error"]["message"].get<std::string>().find(message), std::string::npos)
        << answer.json().dump();
  }
  EXPECT_TRUE(nodes_.done.empty());
  EXPECT_EQ(Send("POST", "/shoal/nodes/8/set", R"({"duty":1})").status, 404);
}

TEST_F(AdminTest, OnlyTheKeyOpens) {
  for (const char* key : {"", "secret", "Bearer ", "Bearer secreT", "Bearer secret2", "Basic x"}) {
    const Collected answer = Send("POST", "/shoal/nodes/7/evict", "", key);
    EXPECT_EQ(answer.status, 401) << key;
    EXPECT_EQ(answer.json()["error"]["type"], "authentication_error");
  }
  EXPECT_TRUE(nodes_.done.empty());
  AdminDoor closed(nodes_, "");
  Collected collected;
  CollectingResponder responder(collected);
  closed.Handle({.method = "GET",
                 .target = "/shoal/nodes",
                 .headers = {{"Authorization", "Bearer "}},
                 .body = {}},
                responder);
  EXPECT_EQ(collected.status, 401);
}

TEST_F(AdminTest, SaysWhatIsWrong) {
  EXPECT_EQ(Send("POST", "/shoal/nodes").status, 405);
  EXPECT_EQ(Send("GET", "/shoal/nodes/7/drain").status, 405);
  EXPECT_EQ(Send("POST", "/shoal/nodes/8/drain").status, 404);
  for (const char* path : {"/shoal/", "/shoal/nodesx", "/shoal/nodes/", "/shoal/nodes/7",
                           "/shoal/nodes/7/", "/shoal/nodes/x/drain", "/shoal/nodes/-7/drain",
                           "/shoal/nodes/7/juggle", "/shoal/nodes/99999999999999999999/drain"}) {
    EXPECT_EQ(Send("POST", path).status, 404) << path;
  }
  for (const char* body : {"", "{}", "[]", R"({"label":7})", "{"}) {
    EXPECT_EQ(Send("POST", "/shoal/nodes/7/label", body).status, 400) << body;
  }
  EXPECT_EQ(
      Send("POST", "/shoal/nodes/7/label", R"({"label":")" + std::string(65, 'x') + "\"}").status,
      400);
  EXPECT_TRUE(nodes_.done.empty());
}

}  // namespace
}  // namespace shoal::api
