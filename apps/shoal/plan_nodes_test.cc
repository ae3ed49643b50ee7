#include "shoal/plan_nodes.h"

#include <gtest/gtest.h>

#include <string>

namespace shoal {
namespace {

std::string Failure(const std::string& text) {
  const Result<NamedCluster> nodes = ParsePlanNodes("f.json", text);
  return nodes.ok() ? "" : std::string(nodes.status().message());
}

std::string OneNode(const std::string& fields) {
  return R"({"nodes": [{"name": "a", "memory": "1G", "weights_gb_per_s": 10, )" + fields + "}]}";
}

TEST(PlanNodes, ReadsWhatNodesAre) {
  const Result<NamedCluster> named = ParsePlanNodes("f.json", R"({
    "nodes": [{"name": "a", "memory": "2.5G", "weights_gb_per_s": 11, "gops": 120,
               "latency_ms": 3, "mbit_per_s": 300},
              {"name": "b", "memory": "512M", "weights_gb_per_s": 4.5, "gops": 200}],
    "links": [{"a": "b", "b": "a", "latency_ms": 1}]})");
  ASSERT_TRUE(named.ok()) << named.status().ToString();
  EXPECT_EQ(named->names, (std::vector<std::string>{"a", "b"}));
  const pipeline::PlanCluster& cluster = named->cluster;
  ASSERT_EQ(cluster.nodes.size(), 2U);
  EXPECT_EQ(cluster.nodes[0].id, NodeId{2});
  EXPECT_EQ(cluster.nodes[0].memory_bytes, 5ULL << 29U);
  EXPECT_EQ(cluster.nodes[0].speeds.weight_bytes_per_second, 11e9);
  EXPECT_EQ(cluster.nodes[0].speeds.operations_per_second, 120e9);
  EXPECT_DOUBLE_EQ(cluster.nodes[0].latency, 0.003);
  EXPECT_DOUBLE_EQ(cluster.nodes[0].link_bytes_per_second, 37.5e6);
  EXPECT_EQ(cluster.nodes[1].latency, 0);
  EXPECT_EQ(cluster.nodes[1].link_bytes_per_second, 0);
  ASSERT_EQ(cluster.links.size(), 1U);
  EXPECT_EQ(cluster.links[0].a, NodeId{3});
  EXPECT_EQ(cluster.links[0].b, NodeId{2});
  EXPECT_DOUBLE_EQ(cluster.links[0].latency, 0.001);
  // As the fastest in each.
  EXPECT_EQ(cluster.head.weight_bytes_per_second, 11e9);
  EXPECT_EQ(cluster.head.operations_per_second, 200e9);
}

TEST(PlanNodes, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(Failure("{"), "f.json: is not JSON");
  EXPECT_EQ(Failure("[]"), "f.json: is not an object");
  EXPECT_EQ(Failure("{}"), "f.json: nodes: must be a list of 1 to 100000 nodes");
  EXPECT_EQ(Failure(R"({"nodes": [], "links": []})"),
            "f.json: nodes: must be a list of 1 to 100000 nodes");
  EXPECT_EQ(Failure(R"({"nodes": [3]})"), "f.json: nodes[0]: is not an object");
  EXPECT_EQ(Failure(R"({"nodes": [{"name": "a"}]})"), "f.json: nodes[0].memory: is missing");
  EXPECT_EQ(Failure(R"({"nodes": [{"memory": "much"}]})"),
            "f.json: nodes[0].memory: 'much' is no amount of memory: write 512M or 2.8G");
  EXPECT_EQ(Failure(OneNode(R"("gops": 0)")), "f.json: nodes[0].gops: must be a number above 0");
  EXPECT_EQ(Failure(OneNode(R"("gops": "9")")), "f.json: nodes[0].gops: must be a number above 0");
  EXPECT_EQ(Failure(OneNode(R"("gops": 9, "latency_ms": -1)")),
            "f.json: nodes[0].latency_ms: must be a number, 0 or more");
  EXPECT_EQ(Failure(OneNode(R"("gosp": 9)")),
            "f.json: nodes[0].gosp: there is no such field; there are name, memory, "
            "weights_gb_per_s, gops, latency_ms, mbit_per_s");
}

TEST(PlanNodes, NamesTheLinkThatIsWrong) {
  const std::string nodes = R"({"nodes": [
    {"name": "a", "memory": "1G", "weights_gb_per_s": 10, "gops": 9},
    {"name": "b", "memory": "1G", "weights_gb_per_s": 10, "gops": 9}], )";
  EXPECT_EQ(Failure(nodes + R"("links": 1})"), "f.json: links: must be a list");
  EXPECT_EQ(Failure(nodes + R"("links": [{"a": "a", "b": "c", "latency_ms": 1}]})"),
            "f.json: links[0].b: no node is called 'c'");
  EXPECT_EQ(Failure(nodes + R"("links": [{"a": "a", "b": "b"}]})"),
            "f.json: links[0].latency_ms: is missing");
  EXPECT_EQ(Failure(nodes + R"("head": {"gops": 1}})"),
            "f.json: head.weights_gb_per_s: is missing");
  EXPECT_EQ(Failure(R"({"nodes": [
    {"name": "a", "memory": "1G", "weights_gb_per_s": 10, "gops": 9},
    {"name": "a", "memory": "1G", "weights_gb_per_s": 10, "gops": 9}]})"),
            "f.json: nodes[1].name: another node is called 'a', too");
}

}  // namespace
}  // namespace shoal
