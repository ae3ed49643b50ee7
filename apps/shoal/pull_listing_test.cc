#include "shoal/pull_listing.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

TEST(PullIdTest, ReadsIds) {
  const auto id = ParseRepositoryId("Qwen/Qwen2.5-0.5B_x:sub/q4_k_m.gguf");
  ASSERT_TRUE(id.ok()) << id.status().ToString();
  EXPECT_EQ(id->ToString(), "Qwen/Qwen2.5-0.5B_x");
  EXPECT_EQ(id->file, "sub/q4_k_m.gguf");
  EXPECT_EQ(ParseRepositoryId("o/n")->file, "");
  for (const char* text :
       {"", "name", "/n", "o/", "o/n/x", "o/..", "o/n:", "o /n", "o/n?x", ":f"}) {
    EXPECT_FALSE(ParseRepositoryId(text).ok()) << text;
  }
}

TEST(PullListingTest, ReadsFiles) {
  const auto files = ParseListing(R"([
    {"type":"directory","oid":"1","size":0,"path":"sub"},
    {"type":"file","oid":"2","size":120,"path":"a.gguf",
     "lfs":{"oid":"abc","size":5000000000,"pointerSize":120}},
    {"type":"file","oid":"3","size":7,"path":"sub/config.json"}])");
  ASSERT_TRUE(files.ok()) << files.status().ToString();
  ASSERT_EQ(files->size(), 2U);
  EXPECT_EQ((*files)[0], (RemoteFile{.path = "a.gguf", .size = 5'000'000'000, .sha256 = "abc"}));
  EXPECT_EQ((*files)[1], (RemoteFile{.path = "sub/config.json", .size = 7, .sha256 = {}}));
  for (const char* text : {"", "{}", "[1]", "[{}]", "<html>", R"([{"type":"file","path":"a"}])",
                           R"([{"type":"file","path":"a","size":-1}])", R"([{"path":5}])"}) {
    EXPECT_EQ(ParseListing(text).status().code(), Code::kCorruption) << text;
  }
}

TEST(PullListingTest, KnowsWhereItGoesOn) {
  EXPECT_EQ(NextPage("<https://h/x?cursor=1>; rel=\"next\""), "https://h/x?cursor=1");
  EXPECT_EQ(NextPage("<https://h/x>; rel=\"prev\""), "");
  EXPECT_EQ(NextPage(""), "");
  EXPECT_EQ(NextPage("><"), "");
}

}  // namespace
}  // namespace shoal
