// Goal: the two halves of the link test understand each other over real sockets, and the
// answering half survives what a stranger may send.
#include "shoal/link_speed.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "os/net/tcp_network.h"

namespace shoal {
namespace {

// A responder on a thread of its own.
class Responder {
 public:
  Responder() {
    Result<std::string> address = network_.Listen("127.0.0.1:0");
    EXPECT_TRUE(address.ok());
    address_ = *address;
    thread_ = std::thread([this] { loop_.Run(); });
  }
  ~Responder() {
    loop_.Stop();
    thread_.join();
  }
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;

  const std::string& address() const { return address_; }

 private:
  os::Loop loop_;
  os::TcpNetwork network_{loop_, kLinkResponder, {}};
  LinkResponder responder_{network_};
  std::string address_;
  std::thread thread_;
};

TEST(LinkSpeedTest, MeasuresALoopbackLink) {
  Responder responder;
  os::Loop loop;
  const Result<LinkSpeeds> speeds = MeasureLink(loop, responder.address());
  ASSERT_TRUE(speeds.ok()) << speeds.status().ToString();
  EXPECT_GT(speeds->round_trip_ms_best, 0);
  EXPECT_GE(speeds->round_trip_ms_median, speeds->round_trip_ms_best);
  EXPECT_GT(speeds->receive_mbit_per_s, 1);
  EXPECT_GT(speeds->send_mbit_per_s, 1);
}

TEST(LinkSpeedTest, NobodyThereIsAnErrorThatNamesTheAddress) {
  os::Loop loop;
  const Result<LinkSpeeds> speeds = MeasureLink(loop, "127.0.0.1:1");
  ASSERT_FALSE(speeds.ok());
  EXPECT_NE(speeds.status().message().find("127.0.0.1:1"), std::string::npos);
}

TEST(LinkSpeedTest, NonsenseIsIgnored) {
  Responder responder;
  os::Loop loop;
  os::TcpNetwork network(loop, NodeId{7}, {});
  struct Stranger final : NetworkEvents {
    void OnPeerUp(NodeId) override { up = true; }
    void OnPeerDown(NodeId, const Status&) override { down = true; }
    void OnFrame(NodeId, Traffic, Frame) override { ++answers; }
    void OnWritable(NodeId, Traffic) override {}
    bool up = false;
    bool down = false;
    int answers = 0;
  } stranger;
  network.Attach(&stranger);
  network.Connect(kLinkResponder, responder.address());
  ASSERT_TRUE(loop.RunUntil([&] { return stranger.up; }, std::chrono::seconds(20)));
  for (const std::size_t bytes : {0U, 1U, 8U, 9U, 10U, 1000U}) {
    EXPECT_TRUE(network.Send(kLinkResponder, Traffic::kControl, Frame(bytes)).ok());
  }
  EXPECT_TRUE(network.Send(kLinkResponder, Traffic::kBulk, Frame(1)).ok());
  // Still there: it echoes the byte that ends a transfer, and has said nothing else.
  EXPECT_TRUE(network.Send(kLinkResponder, Traffic::kActivations, Frame(1)).ok());
  EXPECT_TRUE(loop.RunUntil([&] { return stranger.answers > 0; }, std::chrono::seconds(20)));
  EXPECT_EQ(stranger.answers, 1);
  EXPECT_FALSE(stranger.down);
}

}  // namespace
}  // namespace shoal
