#include "contract/thread_harness.h"

#include <map>
#include <utility>

#include "base/check.h"
#include "os/loop.h"
#include "os/net/thread_network.h"

namespace shoal {
namespace {

class ThreadHarness final : public NetworkHarness {
 public:
  Network& node(NodeId id) override { return *NodeOf(id).network; }
  Clock& clock() override { return loop_; }
  std::string AddressOf(NodeId /*from*/, NodeId to) override {
    NodeOf(to);
    return os::ThreadNetworks::AddressOf(to);
  }

  bool RunUntil(const std::function<bool()>& done, Duration limit) override {
    const Instant deadline = loop_.Now() + limit;
    while (!done()) {
      if (loop_.Now() >= deadline) return false;
      bool idle = true;
      for (auto& [id, node] : nodes_) {
        if (done()) return true;
        if (!node.frozen && node.loop->RunOne(Duration(0))) idle = false;
      }
      if (idle) loop_.RunOne(std::chrono::microseconds(100));
    }
    return true;
  }

  void Freeze(NodeId id) override { NodeOf(id).frozen = true; }
  void Thaw(NodeId id) override { NodeOf(id).frozen = false; }

  // There is no cable between threads: tests of cables do not run here.
  void CutCable(NodeId /*a*/, NodeId /*b*/) override { SHOAL_CHECK(false); }
  void RepairCable(NodeId /*a*/, NodeId /*b*/) override { SHOAL_CHECK(false); }
  void LimitCable(NodeId /*a*/, NodeId /*b*/, double /*rate*/) override { SHOAL_CHECK(false); }

 private:
  struct Node {
    std::unique_ptr<os::Loop> loop;
    std::unique_ptr<Network> network;
    bool frozen = false;
  };

  Node& NodeOf(NodeId id) {
    Node& node = nodes_[id];
    if (node.network == nullptr) {
      node.loop = std::make_unique<os::Loop>();
      node.network = networks_.Join(*node.loop, id);
    }
    return node;
  }

  os::Loop loop_;  // The harness's own, for its clock.
  os::ThreadNetworks networks_;
  std::map<NodeId, Node> nodes_;
};

}  // namespace

NetworkUnderTest ThreadUnderTest() {
  return {"thread", [] { return std::make_unique<ThreadHarness>(); }};
}

}  // namespace shoal
