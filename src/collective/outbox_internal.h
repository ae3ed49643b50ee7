// Outbox: the way to each member, and how far each has come.
//
// A member that has not begun a collective must keep what it is sent of it, so others send it no
// more than kEagerBytes of such. It says what it has begun when it has begun to expect a good deal
// since it last said so, or when it holds something early. So a sender always goes on once its
// receiver has begun: either all that it sent is of collectives begun there, and then it is enough
// to be told, or some of it came early.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/network.h"
#include "collective/communicator.h"

namespace shoal::collective {

class Outbox {
 public:
  static constexpr std::size_t kEagerBytes = std::size_t{8} << 20U;
  static constexpr std::size_t kTellBytes = std::size_t{2} << 20U;

  // Both outlive it.
  Outbox(Network& network, const Group& group);

  // Whether a message of collective `number` may be sent to `rank` now. If not, ask again after
  // OnOpen or Heard of that rank.
  bool IsOpen(std::size_t rank, std::uint32_t number, std::size_t bytes) const;
  // kUnavailable, kResourceExhausted: not now; the frame is gone. Other failures stay.
  Status Send(std::size_t rank, std::uint32_t number, Frame frame);

  // `rank` is up, or its queue has room again.
  void OnOpen(std::size_t rank);
  // `rank` has begun collective `number`. True: that is news.
  bool Heard(std::size_t rank, std::uint32_t number);
  // This node has begun all before `begun`, …
  void Began(std::uint32_t begun) { begun_ = begun; }
  // … with so many bytes to come from `rank` in the last of them.
  void Expect(std::size_t rank, std::size_t bytes);
  // Says so to `rank`, if it has not been told.
  void Tell(std::size_t rank);

  std::uint64_t bytes_sent() const { return bytes_sent_; }

 private:
  struct Peer {
    bool refused = false;     // The last frame. OnOpen is due.
    bool tell = false;        // As soon as it is open.
    std::uint64_t begun = 0;  // There: all before this one.
    std::uint64_t told = 0;   // The same, of this node.
    std::size_t untold_bytes = 0;
    std::size_t eager_bytes = 0;
    std::map<std::uint32_t, std::size_t> eager;  // By collective.
  };

  Network& network_;
  const Group& group_;
  std::vector<Peer> peers_;
  std::uint32_t begun_ = 0;
  std::uint64_t bytes_sent_ = 0;
};

}  // namespace shoal::collective
