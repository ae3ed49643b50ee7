// Trial: a node's part in a collective that the head only wants to know the time of (TrainTrial in
// proto/train.proto): what links are like, and what sums take on them.
//
// All ranks meet, do a turn, and meet again, turn after turn; the results are checked. A turn's
// time on a node is from the first meeting to the node's own end. Of an ECHO only the time of rank
// 0 means something: there and back.
//
// Belongs to one event loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/network.h"
#include "base/status.h"
#include "base/unique_function.h"
#include "collective/communicator.h"
#include "train/cluster/group_message.h"
#include "wire/control.h"

namespace shoal::train {

// 256 MiB of floats, held twice while the trial runs.
inline constexpr std::uint64_t kTrialElementsMax = std::uint64_t{64} << 20U;
inline constexpr int kTrialTurnsMax = 64;

class Trial {
 public:
  // The seconds of each turn, or why there are none.
  using Done = UniqueFunction<void(const Result<std::vector<double>>&)>;

  // `clock` and `network` outlive it. `up`: who is connected. `done` is called once, on the loop,
  // and must not destroy it. kInvalidArgument: the message makes no sense.
  static Result<std::unique_ptr<Trial>> Start(const wire::pb::TrainTrial& message, Clock& clock,
                                              Network& network, const std::set<NodeId>& up,
                                              Done done);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  std::uint64_t epoch() const { return communicator_.epoch(); }
  void OnPeerUp(NodeId peer);
  void OnPeerDown(NodeId peer);
  void OnFrame(NodeId from, Frame frame);
  void OnWritable(NodeId peer) { communicator_.OnWritable(peer); }

 private:
  Trial(const wire::pb::TrainTrial& message, GroupMessage group, Clock& clock, Network& network,
        Done done);

  void Dial(NodeId peer);
  void Meet(UniqueFunction<void()> then);
  void Turn();
  void OnTurnDone();
  bool IsRight() const;
  void End(const Result<std::vector<double>>& result);
  // Of a collective: goes on, or ends the trial.
  collective::Communicator::Done Then(UniqueFunction<void()> then);

  Clock& clock_;
  Network& network_;
  const wire::pb::TrainTrial::Kind kind_;
  const std::vector<std::size_t> turns_;
  const std::map<NodeId, std::string> addresses_;
  const collective::AllReduceOptions options_;
  collective::Communicator communicator_;
  Done done_;
  std::set<NodeId> up_;
  Instant dialled_;
  Instant begin_;  // Of the turn.
  std::vector<float> input_;
  std::vector<float> output_;
  std::vector<double> seconds_;
  bool over_ = false;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace shoal::train
