// Run by mpirun, on every rank: the links of MpiHub, the collectives' contract over them, and
// MPI_Allreduce. Exits with 1 and says what was wrong, or with 77 if this build has no MPI.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "contract/collective_cases.h"
#include "os/loop.h"
#include "os/mpi/mpi_network.h"

namespace shoal {
namespace {

constexpr int kSkipped = 77;  // As ctest is told.
constexpr std::size_t kRounds = 5;
constexpr std::size_t kFrames = 100;
// So many that not all fit into a queue: OnWritable must come.
constexpr std::size_t kFrameBytes = 100'000;

int errors = 0;

void Expect(bool right, const os::MpiHub& hub, const std::string& what) {
  if (right) return;
  ++errors;
  std::fprintf(stderr, "rank %zu of %zu: %s\n", hub.rank(), hub.size(), what.c_str());
}

// The head's end: sends back the first byte of what comes.
class Echo final : public NetworkEvents {
 public:
  explicit Echo(Network& network) : network_(network) { network_.Attach(this); }
  ~Echo() override { network_.Attach(nullptr); }
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;

  void OnPeerUp(NodeId /*peer*/) override { ++ups; }
  void OnPeerDown(NodeId /*peer*/, const Status& /*why*/) override { ++downs; }
  void OnFrame(NodeId from, Traffic /*traffic*/, Frame frame) override {
    frame.resize(1);
    all_sent = all_sent && network_.Send(from, Traffic::kControl, std::move(frame)).ok();
  }
  void OnWritable(NodeId /*peer*/, Traffic /*traffic*/) override {}

  std::size_t ups = 0;
  std::size_t downs = 0;
  bool all_sent = true;

 private:
  Network& network_;
};

// A worker's end: rounds of Connect, frames, their echoes, Disconnect.
class Caller final : public NetworkEvents {
 public:
  explicit Caller(Network& network) : network_(network) {
    network_.Attach(this);
    Dial();
  }
  ~Caller() override { network_.Attach(nullptr); }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  void OnPeerUp(NodeId /*peer*/) override {
    sent_ = echoed_ = 0;
    SendMore();
  }
  void OnPeerDown(NodeId /*peer*/, const Status& /*why*/) override { down = true; }
  void OnFrame(NodeId /*from*/, Traffic traffic, Frame frame) override {
    in_order = in_order && traffic == Traffic::kControl && frame.size() == 1 &&
               frame[0] == static_cast<std::byte>(echoed_);
    if (++echoed_ < kFrames) return;
    network_.Disconnect(kHeadNode);
    if (++rounds == kRounds) return;
    Dial();
  }
  void OnWritable(NodeId /*peer*/, Traffic /*traffic*/) override {
    ++writable;
    SendMore();
  }

  std::size_t rounds = 0;
  std::size_t writable = 0;
  bool down = false;
  bool in_order = true;

 private:
  void Dial() {
    network_.Connect(kHeadNode, os::MpiHub::AddressOf(kHeadNode));
    // Not up before the event.
    in_order =
        in_order && network_.Send(kHeadNode, Traffic::kBulk, Frame(1)).code() == Code::kUnavailable;
  }
  void SendMore() {
    while (sent_ < kFrames) {
      Frame frame(kFrameBytes, static_cast<std::byte>(sent_));
      if (!network_.Send(kHeadNode, Traffic::kBulk, std::move(frame)).ok()) return;
      ++sent_;
    }
  }

  Network& network_;
  std::size_t sent_ = 0;
  std::size_t echoed_ = 0;
};

void CheckLinks(os::Loop& loop, os::MpiHub& hub) {
  std::unique_ptr<Echo> echo;
  if (hub.rank() == 0) echo = std::make_unique<Echo>(hub.Endpoint(kHeadNode));
  Caller caller(hub.Endpoint(os::MpiHub::WorkerOf(hub.rank())));
  const std::size_t meetings = kRounds * hub.size();
  const bool ended =
      loop.RunUntil([&] { return caller.rounds == kRounds && (!echo || echo->downs == meetings); },
                    CollectiveLimit());
  Expect(ended, hub, "links: not over in time");
  Expect(caller.in_order && !caller.down, hub, "links: echoes are not what was sent");
  Expect(caller.writable >= kRounds, hub, "links: full queues, or their ends, were not told");
  if (echo) Expect(echo->ups == meetings && echo->all_sent, hub, "links: the head saw others");
}

void CheckAllReduce(os::MpiHub& hub) {
  std::vector<float> in(1000, static_cast<float>(hub.rank() + 1));
  std::vector<float> out(in.size());
  Expect(hub.AllReduceSum(in, out).ok(), hub, "MPI_Allreduce failed");
  const auto sum = static_cast<float>(hub.size() * (hub.size() + 1) / 2);
  Expect(out == std::vector<float>(in.size(), sum), hub, "MPI_Allreduce: not the sum");
}

// The head's end: collects the fingerprints of all ranks, and hangs up when it has them.
class Collector final : public NetworkEvents {
 public:
  Collector(Network& network, std::size_t ranks) : network_(network), ranks_(ranks) {
    network_.Attach(this);
  }
  ~Collector() override { network_.Attach(nullptr); }
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  void OnPeerUp(NodeId /*peer*/) override {}
  void OnPeerDown(NodeId /*peer*/, const Status& /*why*/) override { same = false; }
  void OnFrame(NodeId /*from*/, Traffic /*traffic*/, Frame frame) override {
    if (first_.empty()) first_ = frame;
    same = same && frame == first_;
    if (++received_ < ranks_) return;
    for (std::size_t r = 0; r < ranks_; ++r) network_.Disconnect(os::MpiHub::WorkerOf(r));
  }
  void OnWritable(NodeId /*peer*/, Traffic /*traffic*/) override {}

  bool same = true;

 private:
  Network& network_;
  const std::size_t ranks_;
  std::size_t received_ = 0;
  Frame first_;
};

// A rank that is done tells the head, and goes on serving the others until the head hangs up.
class Farewell final : public NetworkEvents {
 public:
  Farewell(Network& network, CollectiveRank& rank) : network_(network), rank_(rank) {
    network_.Attach(this);
    network_.Connect(kHeadNode, os::MpiHub::AddressOf(kHeadNode));
  }
  ~Farewell() override { network_.Attach(nullptr); }
  Farewell(const Farewell&) = delete;
  Farewell& operator=(const Farewell&) = delete;

  void OnPeerUp(NodeId peer) override {
    if (peer != kHeadNode) return rank_.OnPeerUp(peer);
    const auto bytes = std::as_bytes(std::span(rank_.fingerprints()));
    told = network_.Send(peer, Traffic::kControl, {bytes.begin(), bytes.end()}).ok();
  }
  void OnPeerDown(NodeId peer, const Status& why) override {
    if (peer != kHeadNode) return rank_.OnPeerDown(peer, why);
    over = true;
  }
  void OnFrame(NodeId from, Traffic traffic, Frame frame) override {
    rank_.OnFrame(from, traffic, std::move(frame));
  }
  void OnWritable(NodeId peer, Traffic traffic) override { rank_.OnWritable(peer, traffic); }

  bool told = false;
  bool over = false;

 private:
  Network& network_;
  CollectiveRank& rank_;
};

void CheckCollectives(os::Loop& loop, os::MpiHub& hub) {
  collective::Group group{
      .epoch = 7, .members = {}, .rank = hub.rank(), .switches = SwitchesOf(hub.size())};
  for (std::size_t r = 0; r < hub.size(); ++r) group.members.push_back(os::MpiHub::WorkerOf(r));
  std::unique_ptr<Collector> collector;
  if (hub.rank() == 0) {
    collector = std::make_unique<Collector>(hub.Endpoint(kHeadNode), hub.size());
  }
  Network& network = hub.Endpoint(os::MpiHub::WorkerOf(hub.rank()));
  CollectiveRank rank(loop, network, group, CollectiveCases(hub.size(), /*large=*/hub.size() <= 4),
                      os::MpiHub::AddressOf);
  Expect(loop.RunUntil([&] { return rank.done(); }, CollectiveLimit()), hub,
         "collectives: not over in time");
  Farewell farewell(network, rank);
  Expect(loop.RunUntil([&] { return farewell.over; }, CollectiveLimit()) && farewell.told, hub,
         "collectives: not all ranks are done in time");
  for (const std::string& error : rank.errors()) Expect(false, hub, error);
  if (collector) Expect(collector->same, hub, "collectives: ranks differ");
}

int Main() {
  os::Loop loop;
  Result<std::unique_ptr<os::MpiHub>> hub = os::MpiHub::Make(loop);
  if (!hub.ok()) {
    std::fprintf(stderr, "%s\n", hub.status().ToString().c_str());
    return kSkipped;
  }
  CheckLinks(loop, **hub);
  CheckAllReduce(**hub);  // Also: nobody dials for the next before all are here.
  CheckCollectives(loop, **hub);
  return errors > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

}  // namespace
}  // namespace shoal

int main() { return shoal::Main(); }
