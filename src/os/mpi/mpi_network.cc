#include "os/mpi/mpi_network.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/check.h"
#include "os/mpi/mpi_endpoint_internal.h"
#include "os/mpi/mpi_transport_internal.h"

namespace shoal::os {
namespace {

// MPI has nothing to wait on but itself, spinning. Who computes needs the core more: without
// progress it is asked again after the first of these, then after twice as long, up to the second.
constexpr Duration kNapMin = std::chrono::microseconds(50);
constexpr Duration kNapMax = std::chrono::milliseconds(1);

// Who and what, in the tag of a message: kind, and whether either end is the head.
struct Label {
  MpiKind kind = MpiKind::kControl;
  bool from_head = false;
  bool to_head = false;
};
constexpr int kFromHead = 8;
constexpr int kToHead = 16;

int TagOf(const Label& label) {
  return static_cast<int>(label.kind) + (label.from_head ? kFromHead : 0) +
         (label.to_head ? kToHead : 0);
}
Label LabelOf(int tag) {
  return {.kind = static_cast<MpiKind>(tag & (kFromHead - 1)),
          .from_head = (tag & kFromHead) != 0,
          .to_head = (tag & kToHead) != 0};
}

int RankOf(NodeId node) { return node == kHeadNode ? 0 : static_cast<int>(ToNumber(node) - 2); }
NodeId NodeOf(int rank, bool head) {
  return head ? kHeadNode : MpiHub::WorkerOf(static_cast<std::size_t>(rank));
}

class Hub final : public MpiHub, private MpiRouter, private MpiTransportOwner {
 public:
  Hub(Loop& loop, std::unique_ptr<MpiTransport> transport)
      : loop_(loop), transport_(std::move(transport)) {
    AddEndpoint(WorkerOf(rank()));
    if (rank() == 0) AddEndpoint(kHeadNode);
    Wake();
  }

  ~Hub() override {
    loop_.Cancel(nap_timer_);
    // To all: who has dialled us in vain, because nothing was polled yet, must hear of it, too.
    for (auto& [node, endpoint] : endpoints_) {
      endpoint->Attach(nullptr);
      for (std::size_t peer = 1; peer < size() + 2; ++peer) {
        if (NodeId{peer} != node) Route(node, NodeId{peer}, MpiKind::kDown, {});
      }
    }
    transport_.reset();
  }

  std::size_t rank() const override { return static_cast<std::size_t>(transport_->rank()); }
  std::size_t size() const override { return static_cast<std::size_t>(transport_->size()); }

  Network& Endpoint(NodeId node) override {
    const auto found = endpoints_.find(node);
    SHOAL_CHECK(found != endpoints_.end());
    return *found->second;
  }

  Status AllReduceSum(std::span<const float> in, std::span<float> out) override {
    return transport_->AllReduceSum(in, out);
  }

 private:
  void AddEndpoint(NodeId node) {
    endpoints_[node] = std::make_unique<MpiEndpoint>(loop_, static_cast<MpiRouter&>(*this), node);
  }

  bool Knows(NodeId node) const override {
    return ToNumber(node) >= 1 && ToNumber(node) < size() + 2;
  }

  void Route(NodeId from, NodeId to, MpiKind kind, Frame frame) override {
    const Label label = {.kind = kind, .from_head = from == kHeadNode, .to_head = to == kHeadNode};
    transport_->Send(RankOf(to), TagOf(label), std::move(frame));
    Wake();
  }

  void OnSent(int to, int tag, std::size_t bytes) override {
    const Label label = LabelOf(tag);
    EndpointOf(transport_->rank(), label.from_head).OnSent(NodeOf(to, label.to_head), bytes);
  }

  void OnMessage(int from, int tag, Frame message) override {
    const Label label = LabelOf(tag);
    EndpointOf(transport_->rank(), label.to_head)
        .OnMessage(NodeOf(from, label.from_head), label.kind, std::move(message));
  }

  // Labels are believed: mpirun has started one program on all ranks.
  MpiEndpoint& EndpointOf(int rank, bool head) { return *endpoints_.at(NodeOf(rank, head)); }

  void Wake() override {
    nap_ = kNapMin;
    if (poll_posted_) return;
    poll_posted_ = true;
    loop_.Cancel(nap_timer_);
    loop_.Post([this, alive = std::weak_ptr<int>(alive_)] {
      if (!alive.expired()) Poll();
    });
  }

  void Poll() {
    poll_posted_ = false;
    for (auto& [node, endpoint] : endpoints_) endpoint->Pump();
    if (transport_->Poll(*this)) Wake();
    if (poll_posted_) return;
    nap_timer_ = loop_.CallAfter(nap_, [this] { Poll(); });
    nap_ = std::min(2 * nap_, kNapMax);
  }

  Loop& loop_;
  std::unique_ptr<MpiTransport> transport_;
  std::map<NodeId, std::unique_ptr<MpiEndpoint>> endpoints_;
  bool poll_posted_ = false;
  TimerId nap_timer_{};
  Duration nap_ = kNapMin;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace

Result<std::unique_ptr<MpiHub>> MpiHub::Make(Loop& loop) {
  SHOAL_ASSIGN_OR_RETURN(std::unique_ptr<MpiTransport> transport, MpiTransport::Start());
  return std::unique_ptr<MpiHub>(std::make_unique<Hub>(loop, std::move(transport)));
}

}  // namespace shoal::os
