// The network as a dependency: whole, bounded frames between node ids, in three
// traffic classes that do not delay each other. os/ implements it with TCP and
// TLS, sim/ with a seeded event queue; one contract suite holds both to this page.
//
// Between OnPeerUp and OnPeerDown of a peer, the frames of one class arrive
// whole, in order, once. There is no order between classes. When the link
// breaks, frames queued or in flight are lost and OnPeerDown says why: after it,
// the caller assumes nothing about what arrived, and starts over. A peer that
// stays silent for longer than the implementation's limit (keep-alives are the
// implementation's business) is down like one that hung up.
//
// Belongs to one event loop: all calls are made on it, and all events come on it,
// never from inside a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/node_id.h"
#include "base/status.h"

namespace shoal {

using Frame = std::vector<std::byte>;

// In order of urgency: a class waits only for those before it.
enum class Traffic : std::uint8_t {
  kControl,      // Heartbeats, plans, tokens. Small and urgent.
  kActivations,  // Hidden states between stages, gradient buckets.
  kBulk,         // Weights and data. Travels on a connection of its own and yields to the others.
};
inline constexpr std::size_t kTrafficClasses = 3;

// Frames above these sizes are refused by Send, and end the connection of a peer
// that sends them. An activation frame holds a prefill chunk of 512 rows of 16,384
// F16 values. Bulk is cut by its sender into pieces that a weight store can verify,
// resend and map one by one.
inline constexpr std::size_t kControlFrameBytesMax = std::size_t{256} << 10;
inline constexpr std::size_t kActivationsFrameBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kBulkFrameBytesMax = std::size_t{256} << 10;

constexpr std::size_t FrameBytesMax(Traffic traffic) {
  switch (traffic) {
    case Traffic::kControl:
      return kControlFrameBytesMax;
    case Traffic::kActivations:
      return kActivationsFrameBytesMax;
    case Traffic::kBulk:
      return kBulkFrameBytesMax;
  }
  return 0;
}

// Bytes that may wait in the sender for one peer and class before Send refuses.
// Control: thousands of messages, more than a healthy peer ever has outstanding.
// Activations: four chunks. Bulk: enough pieces to keep a fast link busy.
constexpr std::size_t QueueBytesMax(Traffic traffic) {
  switch (traffic) {
    case Traffic::kControl:
      return std::size_t{1} << 20;
    case Traffic::kActivations:
      return 4 * kActivationsFrameBytesMax;
    case Traffic::kBulk:
      return 16 * kBulkFrameBytesMax;
  }
  return 0;
}

class NetworkEvents {
 public:
  virtual ~NetworkEvents() = default;

  virtual void OnPeerUp(NodeId peer) = 0;

  // The link to `peer` is gone, or Connect to it failed. kUnavailable: refused,
  // reset or hung up; kDeadlineExceeded: silent for too long; kCorruption: it sent
  // what no correct peer sends; kInvalidArgument: it is not who it should be, or
  // the address is not one; kCancelled: replaced by a newer link of the same peer.
  virtual void OnPeerDown(NodeId peer, const Status& why) = 0;

  virtual void OnFrame(NodeId from, Traffic traffic, Frame frame) = 0;

  // A Send in this class was refused with kResourceExhausted; by now the queue has
  // drained to half of its limit.
  virtual void OnWritable(NodeId peer, Traffic traffic) = 0;
};

class Network {
 public:
  virtual ~Network() = default;

  virtual NodeId self() const = 0;

  // Events go to `events` from now on. nullptr: they are dropped. Not owned.
  virtual void Attach(NetworkEvents* events) = 0;

  // Dials `peer` at `address` ("192.168.1.7:7400", "[fe80::1]:7400"; no names).
  // Ends in OnPeerUp or OnPeerDown. Does nothing if the peer is up or being dialled.
  virtual void Connect(NodeId peer, const std::string& address) = 0;

  // Closes the link to `peer` and drops what is queued. No event follows here; the
  // other side sees OnPeerDown. Does nothing if there is no link.
  virtual void Disconnect(NodeId peer) = 0;

  // Queues `frame`. OK means queued, not delivered. kInvalidArgument: larger than
  // FrameBytesMax. kUnavailable: `to` is not up. kResourceExhausted: the queue is full
  // and the frame was dropped; OnWritable will say when to try again.
  virtual Status Send(NodeId to, Traffic traffic, Frame frame) = 0;
};

}  // namespace shoal
