// Trace: what a run of a World did, as one number and, for people, as lines.
//
// The hash covers everything a node can notice, in order, with its time: the same seed
// gives the same hash on every compiler and instruction set, and a run that differs
// anywhere differs here. The lines are for reading and do not enter the hash.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/hash.h"
#include "base/node_id.h"
#include "base/time.h"

namespace shoal::sim {

// What is counted and hashed. The order is part of the hash.
enum class Happening : std::uint8_t {
  kTimer,
  kJobDone,
  kPeerUp,
  kPeerDown,
  kFrame,
  kWritable,
  kStart,
  kCrash,
  kFreeze,
  kThaw,
  kSlow,
  kPartition,
  kPartitionOver,
  kDisconnect,
  kFrameLost,
  kBitFlip,
  kHeal,
};
inline constexpr std::size_t kHappenings = static_cast<std::size_t>(Happening::kHeal) + 1;

class Trace {
 public:
  using Line = std::function<void(std::string_view line)>;

  // `detail` is what tells two happenings of one kind apart: a code, a peer, a hash.
  void Add(Duration at, NodeId node, Happening what, std::uint64_t detail = 0) {
    ++counts_[static_cast<std::size_t>(what)];
    hash_.Add(static_cast<std::uint64_t>(at.count()));
    hash_.Add(ToNumber(node) << 8U | static_cast<std::uint64_t>(what));
    hash_.Add(detail);
  }

  // Lines go to `line` from now on; an empty function: nowhere.
  void SetTranscript(Line line) { line_ = std::move(line); }
  // "[  1.204s] node 7: crashed". A NodeId of 0 names no node: "[  1.204s] healed".
  void Say(Duration at, NodeId node, std::string_view text) const;

  std::uint64_t count(Happening what) const { return counts_[static_cast<std::size_t>(what)]; }
  std::uint64_t hash() const { return hash_.value(); }

 private:
  Fingerprint hash_;
  std::array<std::uint64_t, kHappenings> counts_{};
  Line line_;
};

}  // namespace shoal::sim
