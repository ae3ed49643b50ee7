#include "shoal/membership.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "os/cluster/cluster_testing.h"
#include "os/cluster/head_directory.h"
#include "os/net/enrol_server.h"

namespace shoal {
namespace {

constexpr os::UnixTime kHour = 3600;

// A head that serves in a thread of its own, as on another machine.
class Head {
 public:
  Head() {
    EXPECT_TRUE(os::HeadDirectory::Create(scratch_.path, "attic", os::UnixNow()).ok());
    directory_.emplace(*os::HeadDirectory::Open(scratch_.path));
    server_.emplace(
        loop_, *directory_,
        os::EnrolServer::Options{.cluster_port = 7400, .program_version = "1", .log = {}});
    address = *server_->Listen("127.0.0.1:0");
    thread_ = std::thread([this] { loop_.Run(); });
  }
  ~Head() {
    loop_.Stop();
    thread_.join();
  }
  Head(const Head&) = delete;
  Head& operator=(const Head&) = delete;

  // As `shoal token` does it: in another process.
  std::string Token() const {
    os::HeadDirectory beside = *os::HeadDirectory::Open(scratch_.path);
    return wire::EncodeJoinToken(*beside.MakeToken(1, kHour, os::UnixNow()));
  }
  std::string address;

 private:
  os::ScratchDirectory scratch_;
  os::Loop loop_;
  std::optional<os::HeadDirectory> directory_;
  std::optional<os::EnrolServer> server_;
  std::thread thread_;
};

class MembershipTest : public testing::Test {
 protected:
  Result<Membership> Become(const std::string& head, const std::string& token) {
    os::Loop loop;
    return BecomeMember(loop, scratch_.path + "/home",
                        {.head = head, .token = token, .device_name = "phone"});
  }
  os::ScratchDirectory scratch_;
};

TEST_F(MembershipTest, IsKept) {
  const Head head;
  const std::string token = head.Token();
  const Result<Membership> first = Become(head.address, token);
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  EXPECT_TRUE(first->is_new);
  EXPECT_EQ(first->files.node, NodeId{2});
  // The same line again, and none at all, as after a reboot. The head is not asked.
  for (const std::string& line : {token, std::string()}) {
    const Result<Membership> again = Become(line.empty() ? "" : "127.0.0.1:1", line);
    ASSERT_TRUE(again.ok()) << again.status().ToString();
    EXPECT_FALSE(again->is_new);
    EXPECT_EQ(again->files.certificate_pem, first->files.certificate_pem);
  }
}

TEST_F(MembershipTest, ADeviceThatLostItsFilesIsANewMember) {
  const Head head;
  ASSERT_TRUE(Become(head.address, head.Token()).ok());
  std::filesystem::remove_all(scratch_.path + "/home");
  const Result<Membership> again = Become(head.address, head.Token());
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(again->files.node, NodeId{3});
}

TEST_F(MembershipTest, IsOfOneCluster) {
  const Head attic;
  const Head cellar;
  ASSERT_TRUE(Become(attic.address, attic.Token()).ok());
  const Result<Membership> second = Become(cellar.address, cellar.Token());
  EXPECT_EQ(second.status().message(),
            scratch_.path +
                "/home makes this device node 2 of another cluster; name another directory with "
                "--dir");
}

TEST_F(MembershipTest, NeedsAnInvitation) {
  EXPECT_NE(Become("", "").status().message().find("has not joined a cluster"), std::string::npos);
  EXPECT_NE(Become("127.0.0.1:1", "SHOAL1-").status().message().find("not a whole join token"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(scratch_.path + "/home"));
}

}  // namespace
}  // namespace shoal
