// The link between two machines, measured with the cluster's own network code:
// `shoal doctor --listen` on one, `shoal doctor --link ADDRESS` on the other. Nothing is
// encrypted and nobody is authenticated; nothing but zeros is sent.
//
// One side answers (LinkResponder), the other asks (MeasureLink). Requests are control
// frames: one byte that says what, then a number.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/network.h"
#include "base/status.h"
#include "os/loop.h"

namespace shoal {

// Who answers, in a network of two.
inline constexpr NodeId kLinkResponder{1};

// Answers every peer: echoes, and sends or counts as many frames as it is asked to.
// Bounded: a peer has one transfer at a time, of at most kLinkTransferBytesMax.
class LinkResponder final : public NetworkEvents {
 public:
  explicit LinkResponder(Network& network);

  void OnPeerUp(NodeId peer) override;
  void OnPeerDown(NodeId peer, const Status& why) override;
  void OnFrame(NodeId from, Traffic traffic, Frame frame) override;
  void OnWritable(NodeId peer, Traffic traffic) override;

 private:
  void SendMore();

  Network& network_;
  NodeId sending_to_{};              // Of the transfer under way.
  std::uint64_t bytes_to_send_ = 0;  // Left of it; 0: none.
};

struct LinkSpeeds {
  double round_trip_ms_best = 0;
  double round_trip_ms_median = 0;
  double receive_mbit_per_s = 0;  // From the other machine to this one.
  double send_mbit_per_s = 0;
};

// Dials the responder and measures for some seconds. Fails as the network does, and with
// kDeadlineExceeded if the link is so bad that a step takes longer than 20 s.
Result<LinkSpeeds> MeasureLink(os::Loop& loop, const std::string& address);

// Two seconds of a 1 Gb/s link.
inline constexpr std::uint64_t kLinkTransferBytesMax = std::uint64_t{256} << 20;

}  // namespace shoal
