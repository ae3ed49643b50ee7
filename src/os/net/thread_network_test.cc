// With real threads, for the thread sanitizer above all: the promises themselves are in
// tests/contract/network_contract_test.cc.
#include "os/net/thread_network.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

namespace shoal::os {
namespace {

using std::chrono::seconds;

constexpr NodeId NodeOf(std::size_t rank) { return NodeId{rank + 1}; }

// A thread that sends `frames` frames to the next and receives as many from the one before.
class Runner final : public NetworkEvents {
 public:
  Runner(ThreadNetworks& networks, std::size_t rank, std::size_t size, std::size_t frames)
      : network_(networks.Join(loop_, NodeOf(rank))),
        next_(NodeOf((rank + 1) % size)),
        before_(NodeOf((rank + size - 1) % size)),
        frames_(frames) {
    network_->Attach(this);
  }

  void Run() {
    network_->Connect(next_, ThreadNetworks::AddressOf(next_));
    ok = loop_.RunUntil([this] { return received_ == frames_ && ended_; }, seconds(60));
    network_.reset();
  }

  void OnPeerUp(NodeId peer) override {
    if (peer == next_) SendMore();
  }
  // The next has received everything.
  void OnPeerDown(NodeId peer, const Status& /*why*/) override { ended_ = peer == next_; }
  void OnFrame(NodeId from, Traffic traffic, Frame frame) override {
    in_order = in_order && from == before_ && traffic == Traffic::kActivations &&
               frame.size() == 100'000 && frame[7] == static_cast<std::byte>(received_ & 0xffU);
    if (++received_ == frames_) network_->Disconnect(before_);
  }
  void OnWritable(NodeId /*peer*/, Traffic /*traffic*/) override { SendMore(); }

  bool ok = false;
  bool in_order = true;

 private:
  void SendMore() {
    while (sent_ < frames_) {
      Frame frame(100'000, static_cast<std::byte>(sent_ & 0xffU));
      if (!network_->Send(next_, Traffic::kActivations, std::move(frame)).ok()) return;
      ++sent_;
    }
  }

  Loop loop_;
  std::unique_ptr<Network> network_;
  const NodeId next_;
  const NodeId before_;
  const std::size_t frames_;
  std::size_t sent_ = 0;
  std::size_t received_ = 0;
  bool ended_ = false;
};

TEST(ThreadNetworksTest, ARingOfThreadsPassesFramesThatDoNotFitIntoItsQueues) {
  constexpr std::size_t kThreads = 5;
  ThreadNetworks networks;
  std::vector<std::unique_ptr<Runner>> runners;
  for (std::size_t rank = 0; rank < kThreads; ++rank) {
    runners.push_back(std::make_unique<Runner>(networks, rank, kThreads, 2000));
  }
  std::vector<std::thread> threads;
  for (const auto& runner : runners) threads.emplace_back([&runner] { runner->Run(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& runner : runners) {
    EXPECT_TRUE(runner->ok);
    EXPECT_TRUE(runner->in_order);
  }
}

TEST(ThreadNetworksTest, ThoseWhoComeAndGoAtAnyTimeAreNotMissed) {
  struct Quiet final : NetworkEvents {
    void OnPeerUp(NodeId /*peer*/) override { ++ups; }
    void OnPeerDown(NodeId /*peer*/, const Status& /*why*/) override { ++downs; }
    void OnFrame(NodeId /*from*/, Traffic /*traffic*/, Frame /*frame*/) override {}
    void OnWritable(NodeId /*peer*/, Traffic /*traffic*/) override {}
    int ups = 0;
    int downs = 0;
  };
  constexpr NodeId kStays{1};
  constexpr NodeId kComes{2};
  ThreadNetworks networks;
  Loop loop;
  Quiet staying;
  const std::unique_ptr<Network> stays = networks.Join(loop, kStays);
  stays->Attach(&staying);
  std::atomic<bool> over = false;
  std::atomic<int> met = 0;
  std::thread other([&] {
    for (int round = 0; round < 200; ++round) {
      Loop its_loop;
      Quiet coming;
      const std::unique_ptr<Network> comes = networks.Join(its_loop, kComes);
      comes->Attach(&coming);
      comes->Connect(kStays, ThreadNetworks::AddressOf(kStays));
      its_loop.RunUntil([&] { return coming.ups > 0; }, seconds(30));
      (void)comes->Send(kStays, Traffic::kControl, Frame(10)).ok();
      met += coming.ups;
    }
    over = true;
    loop.Post([] {});
  });
  EXPECT_TRUE(loop.RunUntil([&] { return over && staying.downs == 200; }, seconds(60)));
  other.join();
  EXPECT_EQ(met, 200);
  EXPECT_EQ(staying.ups, 200);
}

TEST(ThreadNetworksTest, SomebodyWhoHasNotJoinedIsNotThere) {
  struct Log final : NetworkEvents {
    void OnPeerUp(NodeId /*peer*/) override {}
    void OnPeerDown(NodeId /*peer*/, const Status& why) override { code = why.code(); }
    void OnFrame(NodeId /*from*/, Traffic /*traffic*/, Frame /*frame*/) override {}
    void OnWritable(NodeId /*peer*/, Traffic /*traffic*/) override {}
    Code code = Code::kOk;
  };
  ThreadNetworks networks;
  Loop loop;
  Log log;
  const std::unique_ptr<Network> network = networks.Join(loop, NodeId{1});
  network->Attach(&log);
  network->Connect(NodeId{2}, ThreadNetworks::AddressOf(NodeId{2}));
  EXPECT_TRUE(loop.RunUntil([&] { return log.code != Code::kOk; }, seconds(10)));
  EXPECT_EQ(log.code, Code::kUnavailable);
}

}  // namespace
}  // namespace shoal::os
