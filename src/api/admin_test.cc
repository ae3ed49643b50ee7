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
  Status Drain(NodeId node) override { return Note("drain", node); }
  Status Evict(NodeId node) override { return Note("evict", node); }
  Status Label(NodeId node, const std::string& label) override { return Note(label, node); }

  std::vector<std::string> done;

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

TEST_F(AdminTest, TellsNodes) {
  EXPECT_EQ(Send("POST", "/shoal/nodes/7/drain").status, 200);
  EXPECT_EQ(Send("POST", "/shoal/nodes/7/evict").status, 200);
  EXPECT_EQ(Send("POST", "/shoal/nodes/7/label", R"({"label":"hall"})").status, 200);
  EXPECT_EQ(nodes_.done, (std::vector<std::string>{"drain", "evict", "hall"}));
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
