#include "os/cluster/node_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "os/cluster/cluster_testing.h"
#include "os/cluster/head_directory.h"
#include "os/file.h"

namespace shoal::os {
namespace {

NodeFiles ExampleFiles() {
  const Authority authority = *MakeAuthority("attic");
  NodeFiles files{.node = NodeId{7},
                  .authority_pem = authority.certificate_pem,
                  .certificate_pem = {},
                  .key_pem = *MakePrivateKey(),
                  .heads = {"192.168.1.5:7400", "[fe80::1]:7400"}};
  files.certificate_pem =
      IssueCertificate(authority, NodeId{7}, *PublicKeyOf(files.key_pem))->certificate_pem;
  return files;
}

TEST(NodeDirectory, KeepsWhatAMemberNeeds) {
  const ScratchDirectory scratch;
  const NodeFiles files = ExampleFiles();
  ASSERT_TRUE(SaveNodeFiles(scratch.path + "/a/b", files).ok());
  const Result<NodeFiles> loaded = LoadNodeFiles(scratch.path + "/a/b");
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  EXPECT_EQ(loaded->node, NodeId{7});
  EXPECT_EQ(loaded->key_pem, files.key_pem);
  EXPECT_EQ(loaded->certificate_pem, files.certificate_pem);
  EXPECT_EQ(loaded->authority_pem, files.authority_pem);
  EXPECT_EQ(loaded->heads, files.heads);
  struct stat info {};
  for (const std::string& name : *ListDirectory(scratch.path + "/a/b")) {
    ASSERT_EQ(::stat((scratch.path + "/a/b/" + name).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U) << name;
  }
}

TEST(NodeDirectory, WhoHasNotJoinedIsTold) {
  const ScratchDirectory scratch;
  const Result<NodeFiles> loaded = LoadNodeFiles(scratch.path);
  EXPECT_EQ(loaded.status().code(), Code::kNotFound);
  EXPECT_NE(loaded.status().message().find("has not joined a cluster"), std::string::npos);
}

TEST(NodeDirectory, DoesNotBecomeAHead) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(SaveNodeFiles(scratch.path, ExampleFiles()).ok());
  EXPECT_EQ(HeadDirectory::Create(scratch.path, "attic", 0).code(), Code::kInvalidArgument);
}

TEST(NodeDirectory, IsUsedByOneAtATime) {
  const ScratchDirectory scratch;
  {
    const Result<FileLock> first = LockNodeDirectory(scratch.path + "/new");
    ASSERT_TRUE(first.ok()) << first.status().ToString();
    EXPECT_EQ(LockNodeDirectory(scratch.path + "/new").status().code(), Code::kUnavailable);
  }
  EXPECT_TRUE(LockNodeDirectory(scratch.path + "/new").ok());
}

TEST(NodeDirectory, ADamagedFileIsNamed) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(SaveNodeFiles(scratch.path, ExampleFiles()).ok());
  const std::pair<const char*, std::string> damages[] = {
      {"/node.json", ""},
      {"/node.json", R"({"version":1,"node":7})"},
      {"/node.json", R"({"version":1,"node":8,"heads":["10.0.0.1:1"]})"},
      {"/node.json", R"({"version":1,"node":7,"heads":[1]})"},
      {"/node.crt", ""},
  };
  for (const auto& [file, text] : damages) {
    const std::string before = *ReadFile(scratch.path + file, 1 << 20);
    std::ofstream(scratch.path + file) << text;
    const Result<NodeFiles> loaded = LoadNodeFiles(scratch.path);
    EXPECT_EQ(loaded.status().code(), Code::kCorruption);
    EXPECT_TRUE(loaded.status().message().starts_with(scratch.path + file + " is damaged ("))
        << loaded.status().ToString();
    std::ofstream(scratch.path + file) << before;
  }
  std::filesystem::remove(scratch.path + "/node.key");
  EXPECT_EQ(LoadNodeFiles(scratch.path).status().code(), Code::kCorruption);
}

}  // namespace
}  // namespace shoal::os
