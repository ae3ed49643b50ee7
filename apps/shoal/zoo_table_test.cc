#include "shoal/zoo_table.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>

namespace shoal {
namespace {

struct Counts {
  std::uint64_t elements;
  std::size_t blobs;
  const char* mib;
  const char* gmac;
};

std::string Text(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

TEST(ZooTable, CountsOfTheTenNetworks) {
  const std::map<std::string_view, Counts> want = {
      {"alexnet", {60'965'224, 16, "232.5639", "0.724"}},
      {"googlenet", {6'998'552, 116, "26.6974", "1.583"}},
      {"inception_v3", {23'869'094, 566, "91.0534", "5.713"}},
      {"mobilenet_v1", {4'253'891, 164, "16.2273", "0.569"}},
      {"mobilenet_v2", {3'540'189, 320, "13.5047", "0.429"}},
      {"resnet50", {25'610'269, 321, "97.6954", "3.858"}},
      {"resnet101", {44'654'608, 626, "170.3438", "7.570"}},
      {"resnet152", {60'344'387, 932, "230.1956", "11.282"}},
      {"squeezenet_v1.0", {1'248'424, 52, "4.7624", "0.861"}},
      {"squeezenet_v1.1", {1'235'496, 52, "4.7130", "0.388"}},
  };
  const Result<std::vector<ZooRow>> rows = CountZoo();
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  ASSERT_EQ(rows->size(), want.size());
  for (const ZooRow& row : *rows) {
    ASSERT_TRUE(want.contains(row.paper.zoo)) << row.paper.zoo;
    const Counts& counts = want.at(row.paper.zoo);
    EXPECT_EQ(row.elements, counts.elements) << row.paper.zoo;
    EXPECT_EQ(row.blobs, counts.blobs) << row.paper.zoo;
    EXPECT_EQ(Text("%.4f", row.mib()), counts.mib) << row.paper.zoo;
    EXPECT_EQ(Text("%.3f", row.gmac()), counts.gmac) << row.paper.zoo;
    EXPECT_EQ(row.batch, row.paper.batch) << row.paper.zoo;
  }
}

TEST(ZooTable, WhatDiffersFromThePaperIsExplainedAndNothingElse) {
  const Result<std::vector<ZooRow>> rows = CountZoo();
  ASSERT_TRUE(rows.ok());
  for (const nlohmann::ordered_json& net : ToJson(*rows)["nets"]) {
    const bool same = net["same_chunks"] && net["same_mib"];
    EXPECT_EQ(net.contains("deviation"), !same) << net.dump();
  }
  EXPECT_NE(ToText(*rows).find("* Inception-v3: 94 convolutions"), std::string::npos);
}

}  // namespace
}  // namespace shoal
