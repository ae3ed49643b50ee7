// Cable: what lies between two nodes in tests over real sockets. Nodes dial the cable,
// which dials on; so it can be cut, and be as slow as an access point.
//
// Each direction is one queue that all connections of the pair share, in order of
// arrival. When it is full the cable stops reading, and TCP slows its senders down.
// Belongs to one loop.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "os/loop.h"

namespace shoal {

class Cable {
 public:
  // `first_end` and `second_end` tell where the two nodes listen.
  Cable(os::Loop& loop, const std::string& first_end, const std::string& second_end);
  ~Cable();
  Cable(const Cable&) = delete;
  Cable& operator=(const Cable&) = delete;

  // Where the second node is reached through the cable, and where the first.
  std::string AddressOfSecond() const;
  std::string AddressOfFirst() const;

  // Swallows everything from now on, and everything of today's connections for ever:
  // a stream with a hole in it cannot go on.
  void Cut();
  void Repair();
  // 0: as fast as it goes.
  void Limit(double bits_per_second);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  // Shared with what Asio waits for.
};

}  // namespace shoal
