// TrialHead: the head of a cluster whose members only try out their links and collectives
// (TrainTrial in proto/train.proto), for `shoal bench link` and `shoal bench allreduce`.
//
// Belongs to one loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/network.h"
#include "base/status.h"
#include "collective/communicator.h"
#include "os/loop.h"
#include "wire/control.h"

namespace shoal {

// One trial of some members, by rank.
struct TrialCall {
  wire::pb::TrainTrial::Kind kind = wire::pb::TrainTrial::ECHO;
  std::vector<NodeId> members;
  std::vector<std::uint64_t> elements;  // Of each turn.
  collective::AllReduceOptions options = {};
  std::vector<std::vector<std::uint32_t>> switches = {};
};

class TrialHead final : public NetworkEvents {
 public:
  // Both outlive it. `look` is asked now and then: a failure ends what is under way.
  TrialHead(os::Loop& loop, Network& network, std::function<Status()> look);
  ~TrialHead() override;
  TrialHead(const TrialHead&) = delete;
  TrialHead& operator=(const TrialHead&) = delete;

  // Waits until so many are there; their names, in the order of their numbers.
  Result<std::vector<NodeId>> Members(std::size_t count, Duration limit);
  std::string NameOf(NodeId node) const;

  // All of them at once; no node is in two. For each call the seconds of its turns: of an echo
  // those of rank 0, else those of the rank that took longest.
  Result<std::vector<std::vector<double>>> Try(const std::vector<TrialCall>& calls);

  void OnPeerUp(NodeId peer) override;
  void OnPeerDown(NodeId peer, const Status& why) override;
  void OnFrame(NodeId from, Traffic traffic, Frame frame) override;
  void OnWritable(NodeId peer, Traffic traffic) override;

 private:
  struct Member {
    std::string name;
    std::string address;
  };

  void OnTried(NodeId from, const wire::pb::TrainTried& tried);
  wire::pb::TrainTrial Message(const TrialCall& call) const;
  Status Await(const std::function<bool()>& done, Duration limit, const std::string& late);

  os::Loop& loop_;
  Network& network_;
  const std::function<Status()> look_;
  std::map<NodeId, Member> members_;
  std::uint64_t epoch_;                      // Of the last trial.
  std::map<NodeId, std::uint64_t> waiting_;  // For whom, and for which epoch.
  std::map<NodeId, std::vector<double>> seconds_;
  Status failure_;
};

}  // namespace shoal
