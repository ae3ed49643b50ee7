#include "contract/socket_harness.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/check.h"
#include "contract/cable.h"
#include "os/loop.h"
#include "os/net/certificates.h"
#include "os/net/tcp_network.h"
#include "os/net/tls.h"

namespace shoal {
namespace {

// Shorter than for phones, so that tests of silence take seconds; longer than any
// pause that a loaded machine makes.
constexpr Duration kPingInterval = std::chrono::milliseconds(250);
constexpr Duration kSilenceMax = std::chrono::seconds(2);
constexpr Duration kHandshakeMax = std::chrono::seconds(3);

// How long the thread sleeps when no loop has anything to do: the nodes' loops are
// looked at this often.
constexpr Duration kNap = std::chrono::microseconds(300);

std::shared_ptr<const os::TlsIdentity> MakeIdentity(const os::Authority& authority, NodeId id) {
  const std::string key = *os::MakePrivateKey();
  const os::NodeCertificate certificate =
      *os::IssueCertificate(authority, id, *os::PublicKeyOf(key));
  return *os::TlsIdentity::Make(authority.certificate_pem, certificate.certificate_pem, key);
}

class SocketHarness final : public NetworkHarness {
 public:
  explicit SocketHarness(bool tls) {
    if (tls) authority_ = *os::MakeAuthority("contract");
  }

  Network& node(NodeId id) override { return *NodeOf(id).network; }
  Clock& clock() override { return loop_; }

  std::string AddressOf(NodeId from, NodeId to) override {
    Cable& cable = CableOf(from, to);
    return from < to ? cable.AddressOfSecond() : cable.AddressOfFirst();
  }

  bool RunUntil(const std::function<bool()>& done, Duration limit) override {
    const Instant deadline = loop_.Now() + limit;
    while (!done()) {
      if (loop_.Now() >= deadline) return false;
      bool idle = !loop_.RunOne(Duration(0));
      for (auto& [id, node] : nodes_) {
        if (done()) return true;
        if (!node.frozen && node.loop->RunOne(Duration(0))) idle = false;
      }
      if (idle && !done()) loop_.RunOne(kNap);
    }
    return true;
  }

  void CutCable(NodeId a, NodeId b) override { CableOf(a, b).Cut(); }
  void RepairCable(NodeId a, NodeId b) override { CableOf(a, b).Repair(); }
  void Freeze(NodeId id) override { NodeOf(id).frozen = true; }
  void Thaw(NodeId id) override { NodeOf(id).frozen = false; }
  void LimitCable(NodeId a, NodeId b, double bits_per_second) override {
    CableOf(a, b).Limit(bits_per_second);
  }

 private:
  struct Node {
    std::unique_ptr<os::Loop> loop;
    std::unique_ptr<os::TcpNetwork> network;
    std::string address;
    bool frozen = false;
  };

  Node& NodeOf(NodeId id) {
    const auto found = nodes_.find(id);
    if (found != nodes_.end()) return found->second;
    Node node;
    node.loop = std::make_unique<os::Loop>();
    os::TcpNetwork::Options options;
    if (authority_) options.tls = MakeIdentity(*authority_, id);
    options.ping_interval = kPingInterval;
    options.silence_max = kSilenceMax;
    options.handshake_max = kHandshakeMax;
    node.network = std::make_unique<os::TcpNetwork>(*node.loop, id, options);
    node.address = *node.network->Listen("127.0.0.1:0");
    return nodes_.emplace(id, std::move(node)).first->second;
  }

  Cable& CableOf(NodeId a, NodeId b) {
    SHOAL_CHECK(a != b);
    const std::pair pair = std::minmax(a, b);
    std::unique_ptr<Cable>& cable = cables_[{pair.first, pair.second}];
    if (cable == nullptr) {
      cable =
          std::make_unique<Cable>(loop_, NodeOf(pair.first).address, NodeOf(pair.second).address);
    }
    return *cable;
  }

  std::optional<os::Authority> authority_;
  os::Loop loop_;  // The cables'.
  std::map<NodeId, Node> nodes_;
  std::map<std::pair<NodeId, NodeId>, std::unique_ptr<Cable>> cables_;
};

}  // namespace

NetworkUnderTest TcpUnderTest() {
  return {"tcp", [] { return std::make_unique<SocketHarness>(false); }};
}
NetworkUnderTest TlsUnderTest() {
  return {"tls", [] { return std::make_unique<SocketHarness>(true); }};
}

}  // namespace shoal
