// ThreadNetworks: the Network (base/network.h) between nodes that are threads of one process, each
// with a Loop of its own. A frame is handed over, not copied.
//
// What is between threads does not break and is never silent: a link ends with Disconnect or with
// one of its networks. A frame waits in the sender's queue until the receiver's loop takes it, the
// most urgent class first.
//
// ThreadNetworks is thread-safe; each of its networks belongs to one loop, as every Network.
#pragma once

#include <memory>
#include <string>

#include "base/network.h"
#include "os/loop.h"

namespace shoal::os {

class ThreadNetworks {
 public:
  ThreadNetworks();
  ~ThreadNetworks();
  ThreadNetworks(const ThreadNetworks&) = delete;
  ThreadNetworks& operator=(const ThreadNetworks&) = delete;

  // Who can be dialled from now on. Made, called and destroyed on the thread of `loop`, which
  // outlives it, but not destroyed inside an event. REQUIRES: no other is `self`.
  std::unique_ptr<Network> Join(Loop& loop, NodeId self);

  // What Connect wants: "thread:7". Somebody who has not joined refuses (kUnavailable).
  static std::string AddressOf(NodeId node);

 private:
  class Hub;
  class Member;
  std::shared_ptr<Hub> hub_;  // Shared with what waits in the loops.
};

}  // namespace shoal::os
