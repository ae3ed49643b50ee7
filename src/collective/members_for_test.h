// Communicators in a simulated world: ranks 0 … N - 1 are nodes 1 … N, all connected.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "collective/communicator.h"
#include "sim/world.h"

namespace shoal::collective {

// What the owner of a communicator does.
class Member final : public NetworkEvents {
 public:
  void OnPeerUp(NodeId peer) override {
    if (communicator) communicator->OnPeerUp(peer);
  }
  void OnPeerDown(NodeId /*peer*/, const Status& /*why*/) override { ++downs; }
  void OnFrame(NodeId from, Traffic traffic, Frame frame) override {
    if (traffic != Traffic::kActivations || !communicator ||
        FrameEpoch(frame) != communicator->epoch()) {
      ++strange_frames;
      return;
    }
    const Status status = communicator->OnFrame(from, std::move(frame));
    if (!status.ok()) refused.push_back(status);
  }
  void OnWritable(NodeId peer, Traffic /*traffic*/) override {
    if (communicator) communicator->OnWritable(peer);
  }

  std::unique_ptr<Communicator> communicator;
  std::vector<Status> refused;
  int downs = 0;
  int strange_frames = 0;
};

class Members {
 public:
  explicit Members(std::size_t size, const sim::WorldOptions& options = {})
      : members_(size), world_(options) {
    for (std::size_t rank = 0; rank < size; ++rank) {
      world_.AddNode(Id(rank), [this, rank](const sim::Surroundings& around) {
        around.network.Attach(&members_[rank]);
        return std::make_unique<sim::Program>();
      });
    }
    std::vector<std::size_t> all;
    for (std::size_t rank = 0; rank < size; ++rank) all.push_back(rank);
    MakeEpoch(1, all);
  }

  static NodeId Id(std::size_t member) { return NodeId{member + 1}; }
  sim::World& world() { return world_; }
  std::size_t size() const { return members_.size(); }
  Member& member(std::size_t i) { return members_[i]; }
  Communicator& at(std::size_t i) { return *members_[i].communicator; }

  // New communicators for some of the members, in the order of their ranks.
  void MakeEpoch(std::uint64_t epoch, const std::vector<std::size_t>& who,
                 const std::vector<std::vector<std::uint32_t>>& switches = {}) {
    Group group = {.epoch = epoch, .members = {}, .rank = 0, .switches = switches};
    for (const std::size_t i : who) group.members.push_back(Id(i));
    for (group.rank = 0; group.rank < who.size(); ++group.rank) {
      const sim::Surroundings around = world_.SurroundingsOf(Id(who[group.rank]));
      members_[who[group.rank]].communicator =
          std::make_unique<Communicator>(around.clock, around.network, group);
    }
  }

  // Dials whom the all-reduce needs, and the ring.
  void Dial(const AllReduceOptions& options = {}) {
    for (std::size_t i = 0; i < size(); ++i) {
      for (const NodeId peer : at(i).Peers(options)) {
        world_.SurroundingsOf(Id(i)).network.Connect(peer, "sim:" + std::to_string(ToNumber(peer)));
      }
    }
  }

  template <class Done>
  bool RunUntil(const Done& done, Duration limit = std::chrono::minutes(10)) {
    return world_.RunUntil(done, limit);
  }

 private:
  std::vector<Member> members_;
  sim::World world_;
};

using Numbers = std::vector<std::vector<float>>;

inline Numbers RandomNumbers(std::size_t ranks, std::size_t elements, std::uint64_t seed) {
  Numbers data(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    Random random(seed, rank);
    for (std::size_t i = 0; i < elements; ++i) {
      data[rank].push_back(static_cast<float>(random.Normal()));
    }
  }
  return data;
}

inline void ExpectBits(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(a[i]), std::bit_cast<std::uint32_t>(b[i])) << i;
  }
}

// The outcomes of one collective on all ranks.
class Outcomes {
 public:
  explicit Outcomes(std::size_t size) : outcomes_(size) {}
  Communicator::Done Of(std::size_t rank) {
    return [this, rank](Status status) {
      EXPECT_FALSE(outcomes_[rank].has_value()) << "done twice";
      outcomes_[rank] = std::move(status);
    };
  }
  bool AllDone() const {
    return std::all_of(outcomes_.begin(), outcomes_.end(), [](auto& o) { return o.has_value(); });
  }
  bool AllOk() const {
    return std::all_of(outcomes_.begin(), outcomes_.end(), [](auto& o) { return o && o->ok(); });
  }
  const std::optional<Status>& operator[](std::size_t rank) const { return outcomes_[rank]; }

 private:
  std::vector<std::optional<Status>> outcomes_;
};

inline void ExpectNothingRefused(Members& members) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    EXPECT_TRUE(members.member(i).refused.empty()) << members.member(i).refused[0].ToString();
    EXPECT_EQ(members.member(i).strange_frames, 0);
  }
}

// Things come late, and in another order at each rank.
inline sim::WorldOptions Unkind(std::uint64_t seed) {
  return {.seed = seed,
          .faults = {.frame_loss = 0.01, .delay_jitter_mean = std::chrono::milliseconds(2)},
          .link = {}};
}

}  // namespace shoal::collective
