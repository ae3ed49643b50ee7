// LiarProgram: a member of a training that makes everything up: answers that nobody asked for,
// messages with numbers from nowhere, frames that are cut off, too long or no frames at all. What
// cannot be told from the truth it does not do: sums that look right and are not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/world.h"
#include "wire/control.h"

namespace shoal::sim {

class LiarProgram final : public Program, private NetworkEvents {
 public:
  // Does something every `interval`, on average.
  LiarProgram(const Surroundings& around, NodeId head, Duration interval);

 private:
  void OnPeerUp(NodeId peer) override;
  void OnPeerDown(NodeId peer, const Status& why) override;
  void OnFrame(NodeId from, Traffic traffic, Frame frame) override;
  void OnWritable(NodeId /*peer*/, Traffic /*traffic*/) override {}

  void Lie();
  void TellHead(const wire::pb::ToHead& message);
  void SayHello();
  wire::pb::TrainToHead Message();
  Frame Sums();
  NodeId AnyMember();

  const Surroundings around_;
  const NodeId head_;
  const Duration interval_;
  const std::uint64_t habits_;   // Which lies it tells: a bit each.
  std::string job_;              // That was offered.
  wire::pb::TrainRound round_;   // The last that it was told of.
  std::vector<Frame> received_;  // Some of the sums that came.
};

// So many bytes from nowhere.
Frame Noise(Random& random, std::size_t bytes_max);
// A number as liars like them: small, huge, or one of `likely`.
std::uint64_t Wild(Random& random, const std::vector<std::uint64_t>& likely);

}  // namespace shoal::sim
