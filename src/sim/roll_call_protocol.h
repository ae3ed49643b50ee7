// Roll call: the smallest protocol that needs everything a World offers. One caller
// keeps a roll of who is present; members dial it, say that they are alive, compute,
// report what they computed, and dial again for ever when the link is gone.
//
// It is written against base/ alone, as the cluster's own protocols are. Both programs
// check the promises of base/network.h and base/executor.h as they use them, and tell
// an observer, which is not part of the protocol, what they see.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/network.h"
#include "base/time.h"
#include "sim/world.h"

namespace shoal::sim {

class RollCallObserver {
 public:
  virtual ~RollCallObserver() = default;

  // A caller has started, with an empty roll.
  virtual void OnRollOpened() = 0;
  virtual void OnPresence(NodeId member, bool present) = 0;
  // `who` was given something that base/ rules out.
  virtual void OnBrokenPromise(NodeId who, const std::string& what) = 0;
};

// A member says that it is alive this often …
inline constexpr Duration kHeartbeatInterval = std::chrono::milliseconds(500);
// … and is absent when nothing came for four times as long: one lost packet, sent again
// after 200 ms, is no reason, and neither is a second one.
inline constexpr Duration kHeartbeatDeadline = 4 * kHeartbeatInterval;
// A member dials again after this long, twice as long each time up to the maximum, and
// up to half of it more, so that a thousand members do not come back in one instant.
inline constexpr Duration kBackOffFirst = std::chrono::milliseconds(100);
inline constexpr Duration kBackOffMax = std::chrono::seconds(3);

// The sequence numbers of one link, each way and class: every frame carries the next.
struct Sequences {
  std::array<std::uint64_t, kTrafficClasses> sent{};
  std::array<std::uint64_t, kTrafficClasses> received{};
};

class RollCaller final : public Program, public NetworkEvents {
 public:
  // `observer` outlives it.
  RollCaller(const Surroundings& around, RollCallObserver& observer);

  void OnPeerUp(NodeId peer) override;
  void OnPeerDown(NodeId peer, const Status& why) override;
  void OnFrame(NodeId from, Traffic traffic, Frame frame) override;
  void OnWritable(NodeId, Traffic) override {}

 private:
  struct Member {
    Sequences sequences;
    TimerId deadline{};
    bool present = false;
  };
  void Heard(NodeId from, Member& member);
  void Drop(NodeId peer);

  const Surroundings around_;
  RollCallObserver& observer_;
  std::unordered_map<NodeId, Member> members_;  // Those that are up. Never iterated.
};

class RollMember final : public Program, public NetworkEvents {
 public:
  // `observer` outlives it.
  RollMember(const Surroundings& around, NodeId caller, std::string address,
             RollCallObserver& observer);

  void OnPeerUp(NodeId peer) override;
  void OnPeerDown(NodeId peer, const Status& why) override;
  void OnFrame(NodeId from, Traffic traffic, Frame frame) override;
  void OnWritable(NodeId, Traffic) override {}

 private:
  void DialLater();
  void Beat();
  void Compute();
  void OnComputed(JobTag tag);
  void Send(Traffic traffic, std::size_t padding_bytes);

  const Surroundings around_;
  const NodeId caller_;
  const std::string address_;
  RollCallObserver& observer_;
  bool up_ = false;
  Sequences sequences_;
  Duration back_off_ = kBackOffFirst;
  TimerId heartbeat_{};
  std::uint64_t jobs_submitted_ = 0;
  std::uint64_t jobs_done_ = 0;
};

}  // namespace shoal::sim
