#include "os/cluster/head_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <optional>
#include <thread>

#include "os/cluster/cluster_testing.h"
#include "os/cluster/node_directory.h"
#include "os/file.h"

namespace shoal::os {
namespace {

constexpr UnixTime kNow = 1'700'000'000;
constexpr UnixTime kHour = 3600;

class HeadDirectoryTest : public testing::Test {
 protected:
  HeadDirectoryTest() : path_(scratch_.path + "/home/cluster") {
    const Status made = HeadDirectory::Create(path_, "attic", kNow);
    EXPECT_TRUE(made.ok()) << made.ToString();
    Result<HeadDirectory> opened = HeadDirectory::Open(path_);
    EXPECT_TRUE(opened.ok()) << opened.status().ToString();
    head_.emplace(*std::move(opened));
  }
  void Overwrite(const std::string& file, const std::string& text) {
    std::ofstream(path_ + file) << text;
  }

  ScratchDirectory scratch_;
  std::string path_;
  std::optional<HeadDirectory> head_;
};

TEST_F(HeadDirectoryTest, IsForItsOwnerOnly) {
  struct stat info {};
  for (const std::string& name : *ListDirectory(path_)) {
    ASSERT_EQ(::stat((path_ + "/" + name).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U) << name;
  }
  for (const std::string& directory : {path_, scratch_.path + "/home"}) {
    ASSERT_EQ(::stat(directory.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0700U) << directory;
  }
  EXPECT_EQ(head_->identity()->node(), kHeadNode);
  EXPECT_EQ(head_->admin_key().size(), 64U);
}

TEST_F(HeadDirectoryTest, IsNotMadeTwice) {
  const std::string key = *ReadFile(path_ + "/ca.key", 4096);
  const Status again = HeadDirectory::Create(path_, "cellar", kNow);
  EXPECT_EQ(again.message(), path_ + " already holds a cluster; name another with --dir");
  EXPECT_EQ(*ReadFile(path_ + "/ca.key", 4096), key);
  EXPECT_EQ(SaveNodeFiles(path_, {}).code(), Code::kInvalidArgument);
}

TEST_F(HeadDirectoryTest, ATokenAdmitsAsOftenAsItSays) {
  const wire::JoinToken token = *head_->MakeToken(2, kHour, kNow);
  EXPECT_EQ(token.authority, *HashOfAuthority(head_->authority().certificate_pem));
  for (const std::uint64_t id : {2U, 3U}) {
    const Result<Admission> admission = head_->Admit(RequestWith(token.secret), kNow);
    ASSERT_TRUE(admission.ok()) << admission.status().ToString();
    EXPECT_EQ(admission->verdict, wire::EnrolVerdict::kWelcome);
    EXPECT_EQ(admission->node, NodeId{id});
    EXPECT_EQ(*NodeOfCertificate(admission->certificate_pem), NodeId{id});
  }
  EXPECT_EQ(head_->Admit(RequestWith(token.secret), kNow)->verdict, wire::EnrolVerdict::kUsedToken);
  EXPECT_EQ(head_->Members()->size(), 3U);
}

TEST_F(HeadDirectoryTest, RulesOfANodeAreKept) {
  const wire::JoinToken token = *head_->MakeToken(2, kHour, kNow);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(head_->Admit(RequestWith(token.secret), kNow).ok());
  const WorkRules rules{
      .duty = 0.5, .only_charging = true, .hours = DayHours{22 * 60, 7 * 60}, .floor = 0.15};
  ASSERT_TRUE(head_->SetRules(NodeId{2}, rules).ok());
  EXPECT_EQ(HeadDirectory::Open(path_)->Members()->at(1).rules, rules);
  EXPECT_EQ(head_->Members()->at(2).rules, WorkRules{}) << "as in lists that know of no rules";
  ASSERT_TRUE(head_->SetRules(NodeId{2}, {}).ok());
  EXPECT_EQ(head_->Members()->at(1).rules, WorkRules{});
  EXPECT_EQ(head_->SetRules(NodeId{9}, rules).code(), Code::kNotFound);
  EXPECT_EQ(head_->SetRules(kHeadNode, rules).code(), Code::kInvalidArgument);
  const WorkRules wrong{.duty = 2};
  EXPECT_EQ(head_->SetRules(NodeId{2}, wrong).code(), Code::kInvalidArgument);
}

TEST_F(HeadDirectoryTest, TokensEndByTheHeadsClock) {
  const wire::JoinToken token = *head_->MakeToken(1, kHour, kNow);
  EXPECT_EQ(head_->Admit(RequestWith(token.secret), kNow + kHour)->verdict,
            wire::EnrolVerdict::kExpiredToken);
  EXPECT_EQ(head_->Admit(RequestWith(token.secret), kNow + kHour - 1)->verdict,
            wire::EnrolVerdict::kWelcome);
}

TEST_F(HeadDirectoryTest, AnUnknownSecretIsRefused) {
  ASSERT_TRUE(head_->MakeToken(1, kHour, kNow).ok());
  EXPECT_EQ(head_->Admit(RequestWith({}), kNow)->verdict, wire::EnrolVerdict::kUnknownToken);
  EXPECT_EQ(head_->Members()->size(), 1U);
}

TEST_F(HeadDirectoryTest, ARequestWithoutAKeyDoesNotUseTheToken) {
  const wire::JoinToken token = *head_->MakeToken(1, kHour, kNow);
  wire::EnrolRequest request = RequestWith(token.secret);
  const std::string key = std::exchange(request.public_key_pem, "no key");
  EXPECT_EQ(head_->Admit(request, kNow)->verdict, wire::EnrolVerdict::kMalformed);
  request.public_key_pem = key;
  EXPECT_EQ(head_->Admit(request, kNow)->verdict, wire::EnrolVerdict::kWelcome);
}

TEST_F(HeadDirectoryTest, KeepsNoSecretOfAToken) {
  const wire::JoinToken token = *head_->MakeToken(1, kHour, kNow);
  const std::string file = *ReadFile(path_ + "/tokens.json", 4096);
  EXPECT_EQ(file.find(reinterpret_cast<const char*>(token.secret.data()), 0, 4), std::string::npos);
  EXPECT_EQ(file.find(wire::EncodeJoinToken(token).substr(40, 8)), std::string::npos);
  EXPECT_NE(file.find("\"uses_left\": 1"), std::string::npos) << file;
}

TEST_F(HeadDirectoryTest, WhatOneProcessChangesAnotherSees) {
  HeadDirectory other = *HeadDirectory::Open(path_);
  const wire::JoinToken token = *other.MakeToken(1, kHour, kNow);
  EXPECT_EQ(head_->Admit(RequestWith(token.secret), kNow)->verdict, wire::EnrolVerdict::kWelcome);
  ASSERT_TRUE(other.Revoke(NodeId{2}).ok());
  EXPECT_EQ(head_->RevokedSerials()->size(), 1U);
}

TEST_F(HeadDirectoryTest, NoUpdateIsLost) {
  constexpr int kEach = 20;
  const auto make_tokens = [&] {
    HeadDirectory directory = *HeadDirectory::Open(path_);
    for (int i = 0; i < kEach; ++i) {
      const wire::JoinToken token = *directory.MakeToken(1, kHour, kNow);
      EXPECT_EQ(directory.Admit(RequestWith(token.secret), kNow)->verdict,
                wire::EnrolVerdict::kWelcome);
    }
  };
  std::thread beside(make_tokens);
  make_tokens();
  beside.join();
  const std::vector<MemberRecord> members = *head_->Members();
  ASSERT_EQ(members.size(), std::size_t{2 * kEach + 1});
  for (std::size_t i = 0; i < members.size(); ++i) EXPECT_EQ(ToNumber(members[i].id), i + 1);
}

TEST_F(HeadDirectoryTest, OneServesAtATime) {
  {
    const Result<FileLock> first = head_->LockForServing();
    ASSERT_TRUE(first.ok());
    const Result<FileLock> second = head_->LockForServing();
    EXPECT_EQ(second.status().code(), Code::kUnavailable);
    EXPECT_NE(second.status().message().find("another `shoal serve` uses " + path_),
              std::string::npos);
    EXPECT_TRUE(head_->MakeToken(1, kHour, kNow).ok());  // Which works beside it.
  }
  EXPECT_TRUE(head_->LockForServing().ok());
}

TEST_F(HeadDirectoryTest, MembersAreRevokedAndLabelled) {
  const wire::JoinToken token = *head_->MakeToken(1, kHour, kNow);
  ASSERT_TRUE(head_->Admit(RequestWith(token.secret, "Küche"), kNow).ok());
  ASSERT_TRUE(head_->SetLabels(NodeId{2}, {"wired"}).ok());
  ASSERT_TRUE(head_->Revoke(NodeId{2}).ok());
  const MemberRecord member = head_->Members()->at(1);
  EXPECT_EQ(member.name, "Küche");
  EXPECT_EQ(member.labels, std::vector<std::string>{"wired"});
  EXPECT_EQ(member.issued_at, kNow);
  EXPECT_TRUE(member.revoked);
  EXPECT_EQ(*head_->RevokedSerials(), std::set{member.serial});
  EXPECT_EQ(head_->Revoke(NodeId{9}).code(), Code::kNotFound);
  EXPECT_EQ(head_->Revoke(kHeadNode).code(), Code::kInvalidArgument);
  EXPECT_EQ(head_->SetLabels(NodeId{2}, {"\x1b[2J"}).code(), Code::kInvalidArgument);
}

TEST_F(HeadDirectoryTest, TokensDoNotPileUp) {
  for (std::size_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(head_->MakeToken(1, kHour, kNow).ok());
  }
  const std::size_t many = ReadFile(path_ + "/tokens.json", 1 << 20)->size();
  ASSERT_TRUE(head_->MakeToken(1, kHour, kNow + 30 * 24 * kHour).ok());
  EXPECT_LT(ReadFile(path_ + "/tokens.json", 1 << 20)->size(), many / 10);
  EXPECT_EQ(head_->MakeToken(0, kHour, kNow).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(head_->MakeToken(1, 0, kNow).status().code(), Code::kInvalidArgument);
}

TEST_F(HeadDirectoryTest, ADamagedFileIsNamed) {
  const Authority cellar = *MakeAuthority("cellar");
  const std::pair<const char*, std::string> damages[] = {
      {"/nodes.json", "{"},
      {"/nodes.json", "[]"},
      {"/nodes.json", R"({"version":2,"next_id":2,"nodes":[]})"},
      {"/nodes.json", R"({"version":1,"next_id":2,"nodes":[{"id":"x"}]})"},
      {"/nodes.json", R"({"version":1,"next_id":2,"nodes":[7]})"},
      {"/tokens.json", R"({"version":1,"tokens":[{"sha256":"12","expires_at":1,"uses_left":1}]})"},
      {"/tokens.json", ""},
      {"/admin.key", "open sesame"},
      {"/node.crt", "-----BEGIN CERTIFICATE-----"},
      {"/ca.crt", "nothing"},
      {"/ca.key", cellar.key_pem},
  };
  for (const auto& [file, text] : damages) {
    const std::string before = *ReadFile(path_ + file, 1 << 20);
    Overwrite(file, text);
    const Result<HeadDirectory> opened = HeadDirectory::Open(path_);
    EXPECT_EQ(opened.status().code(), Code::kCorruption) << file;
    EXPECT_TRUE(opened.status().message().starts_with(path_ + file + " is damaged ("))
        << opened.status().ToString();
    Overwrite(file, before);
    ASSERT_TRUE(HeadDirectory::Open(path_).ok());
  }
}

TEST_F(HeadDirectoryTest, AMissingFileIsNamed) {
  for (const char* file : {"/nodes.json", "/admin.key", "/node.crt", "/node.key", "/ca.crt"}) {
    std::filesystem::rename(path_ + file, path_ + "/away");
    const Result<HeadDirectory> opened = HeadDirectory::Open(path_);
    EXPECT_NE(opened.status().message().find(path_ + file), std::string::npos)
        << opened.status().ToString();
    std::filesystem::rename(path_ + "/away", path_ + file);
  }
  EXPECT_EQ(HeadDirectory::Open(scratch_.path + "/none").status().message(),
            "there is no cluster in " + scratch_.path +
                "/none; make one with `shoal init`, or name its directory with --dir");
}

}  // namespace
}  // namespace shoal::os
