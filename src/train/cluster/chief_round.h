// ChiefRound: where the head stands in the round that is under way, and what follows from that. A
// plain value: it knows no network and no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/node_id.h"
#include "base/time.h"
#include "train/cluster/learner.h"
#include "wire/control.h"

namespace shoal::train {

// A round that everybody has whole.
struct Committed {
  std::uint64_t round = 0;
  double loss = 0;        // If it was a STEP.
  std::string note = {};  // If it was a SYNC.
};

struct ChiefRound {
  std::uint64_t number = 0;
  wire::pb::TrainRound::Kind kind = wire::pb::TrainRound::STEP;
  std::int64_t iteration = 0;      // Updates that were done before it.
  Committed before = {};           // The last one.
  std::set<NodeId> nodes = {};     // Who must say that it has it.
  std::vector<NodeId> group = {};  // Who works together, by rank; the head itself may be in it.
  std::map<NodeId, std::vector<Sample>> samples = {};  // Of a STEP.
  std::map<NodeId, std::vector<Sample>> next = {};     // And probably of the one after it.
  std::map<NodeId, wire::pb::TrainDone> done = {};
  bool head_done = true;  // The head's own part in a SYNC.
  Instant begin = {};     // Of the first try.
  std::size_t tries = 0;
  std::map<NodeId, std::size_t> accused = {};  // Of having been lost, by neighbours.
  std::set<NodeId> waiting = {};  // In this try: have done their part and hear nothing.
  Instant heard = {};             // When it last went on, as far as the head sees.

  std::size_t Samples() const;

  // What everybody was told counts no more: it is told anew.
  void BeginTry(Instant now);
  // `node` is lost, and `in_step` are those who still have the weights: if it was to give them, the
  // first of these does; if there is none, nobody is left in the round. What it was to compute.
  std::vector<Sample> Remove(NodeId node, const std::vector<NodeId>& in_step);

  // All of it is done, by everybody.
  bool IsDone() const { return head_done && done.size() >= nodes.size(); }
  // Of a STEP that is done: who has added up something else than most.
  std::vector<NodeId> Dissenters() const;

  // The head's part has not gone on for too long, or somebody who works together with others has
  // all of it and these have not.
  bool StandsStill(NodeId head, Instant now) const;
  // Who has neither done its part nor waits.
  std::vector<NodeId> Slow() const;
};

}  // namespace shoal::train
