// TcpNetwork: the Network between real machines, over TCP or over TLS 1.3. A pair of
// nodes has two connections, one for control and activations and one for bulk
// (docs/protocol.md has the bytes); control goes before activations, and bulk yields
// to both.
//
// Belongs to one Loop: made, called and destroyed on it, but not destroyed inside an
// event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "base/network.h"
#include "base/status.h"
#include "base/time.h"
#include "os/loop.h"
#include "os/net/tls.h"

namespace shoal::os {

class TcpNetwork final : public Network {
 public:
  struct Options {
    // Who this node is and whom it believes. Null: nothing is encrypted and everybody is
    // believed, for tests and for a cable between two machines.
    std::shared_ptr<const TlsIdentity> tls;

    // Whether the dates in certificates count. On the head, by its own clock; a phone's may be
    // wrong by years.
    bool judge_dates = false;
    // Says who was refused, each address at most once a minute, and when two devices seem to
    // use one identity. Called on the loop; may be empty.
    std::function<void(const std::string& line)> log;

    // A connection with nothing to say says that it is alive, this often. Twice a second
    // does not keep a phone's radio awake more than telemetry does.
    Duration ping_interval = std::chrono::milliseconds(500);
    // A peer silent for this long is down. Longer than a Wi-Fi scan or a roaming phone
    // takes; a pipeline that must fail over sooner asks for less.
    Duration silence_max = std::chrono::seconds(3);
    // From dialling, or from the first packet of somebody else's, until the link is up.
    Duration handshake_max = std::chrono::seconds(5);

    // Connections from outside that have not come up. Each costs a file descriptor and,
    // with TLS, some 40 KiB; more than these are closed when they come.
    std::size_t handshakes_max = 64;
    // Peers that dialled here. A phone's soft limit of 32,768 descriptors is far away; a
    // shell's 1,024 is not, and then accepting waits until some are free.
    std::size_t peers_max = 4096;
  };

  // REQUIRES: with TLS, the certificate is self's.
  TcpNetwork(Loop& loop, NodeId self, Options options);
  ~TcpNetwork() override;
  TcpNetwork(const TcpNetwork&) = delete;
  TcpNetwork& operator=(const TcpNetwork&) = delete;

  // Accepts peers at "0.0.0.0:7400" or, at a port of the system's choice, "[::]:0".
  // Returns the address with the port it got. kInvalidArgument: not an address.
  // kUnavailable: the system refuses, most likely because the port is in use.
  Result<std::string> Listen(const std::string& address);

  // The serial numbers of certificates that are void from now on, all of them. Who shows one
  // is refused; links with one are down (kInvalidArgument).
  void SetRevoked(std::set<std::uint64_t> serials);

  NodeId self() const override;
  void Attach(NetworkEvents* events) override;
  void Connect(NodeId peer, const std::string& address) override;
  void Disconnect(NodeId peer) override;
  Status Send(NodeId to, Traffic traffic, Frame frame) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;  // Keeps Asio out of this header.
};

}  // namespace shoal::os
