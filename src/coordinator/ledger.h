// Ledger: who said what about the rows of which answer. The head tells it what it sent and got
// back, nodes send receipts; from both follows whose work can be computed again, and which two ends
// of a link contradict each other.
//
// Pure; belongs to one event loop. All of it is what nodes say, so nothing here trusts a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/node_id.h"
#include "pipeline/replica.h"
#include "wire/batch.h"
#include "wire/control.h"

namespace shoal::coordinator {

// A stage's work on one sequence, from its first position on.
struct StageWork {
  std::uint64_t sequence = 0;
  NodeId node{};
  pipeline::LayerRange range;
  NodeId upstream{};                 // Who made what it was given; the head's own: of tokens.
  std::vector<std::uint64_t> given;  // The hash of every row, as the node says, …
  std::vector<std::uint64_t> made;   // … and of what it made of it.
  // What `upstream` says that it made, if it says so of as many rows; of the head's, nothing.
  std::vector<std::uint64_t> upstream_made;
  std::size_t rows_beside = 0;  // The most that there were of all sequences in its time.
};

// The two ends of a link say different things of one row: one of them is wrong.
struct Dispute {
  NodeId sender{};
  NodeId receiver{};
  std::uint64_t sequence = 0;
  bool operator==(const Dispute&) const = default;
};

class Ledger {
 public:
  explicit Ledger(NodeId head) : head_(head) {}

  // The head sent a batch: its tokens, and the hashes of their rows.
  void Sent(const pipeline::Route& route, const wire::Batch& batch,
            std::span<const std::int32_t> tokens, std::vector<std::uint64_t> hashes);
  // What came back to the head, after the last stage of a batch: the rows that were wanted.
  // REQUIRES: from that stage.
  std::vector<Dispute> Returned(const wire::Batch& batch);
  // A node's receipts: those of batches that it had no part in are ignored. A node accounts for its
  // batches in the order in which it computes them: one that is left out it has not had.
  std::vector<Dispute> Add(NodeId from, const wire::pb::Receipts& receipts);
  // What the head itself saw of a batch that it is to pass on: whoever contradicts it is known as
  // soon as it does. False: it is not to be passed on, because it comes again or is not what the
  // head had made. REQUIRES: from the stage before `batch.stage`.
  bool Relayed(const wire::Batch& batch);
  // Its link is down, and with it may be all that it knew: it has not said anything.
  void Lost(NodeId node);
  // Nodes that said something else of rows than what the head had seen.
  std::vector<NodeId> TakeContradicted();
  // Nodes that were given something else to do than the head had meant, or say so: what they keep
  // may be of that, and what they said before does not count any more.
  std::vector<NodeId> TakeMisled() { return std::exchange(misled_, {}); }

  // Whether every node has accounted for every batch of the sequence.
  bool Complete(std::uint64_t sequence) const;
  // What the nodes of its last route did for a sequence, as far as it can be computed again: from
  // the first position on, by the same node with the same layers, and accounted for to the last
  // batch, as the node before did: what was made again later counts, and nobody is blamed for a
  // receipt that was lost.
  std::vector<StageWork> WorkOn(std::uint64_t sequence) const;
  // Those that have not accounted for batches of it that came back, which they must have had; and
  // the last of these: its epoch and step.
  using BatchName = std::pair<std::uint64_t, std::uint64_t>;
  std::map<NodeId, BatchName> Evasive(std::uint64_t sequence) const;
  // Tokens of its positions, as they were fed.
  std::vector<std::int32_t> Tokens(std::uint64_t sequence) const;
  void Forget(std::uint64_t sequence);

  // Rows that the head has sent at all: no node has made more of them.
  std::uint64_t rows_sent() const { return rows_sent_; }
  // Rows times layers that nodes have accounted for.
  double accounted() const { return accounted_; }

 private:
  // What one node said of the rows at one boundary between layers, at one end of a link.
  struct Column {
    NodeId by{};
    std::size_t first = 0;  // Before it, somebody else said.
    std::vector<std::uint64_t> hashes;

    void Put(NodeId node, std::size_t begin, std::span<const std::uint64_t> hashes);
  };
  struct Account {
    std::vector<std::int32_t> tokens;
    std::vector<pipeline::RouteStage> stages;  // Of the last route.
    std::map<NodeId, std::size_t> owed;        // Batches that it may still account for.
    std::map<NodeId, BatchName> evasive;       // Will not, of one that came back.
    std::map<std::int64_t, Column> given;      // By boundary.
    std::map<std::int64_t, Column> made;
    std::size_t rows_beside = 0;
  };
  // What a stage has said of a batch, or will say.
  enum class Word : std::uint8_t { kOwed, kSaid, kSkipped, kLost };
  // A batch that not everybody has accounted for.
  struct Open {
    std::uint64_t epoch = 0;
    std::uint64_t step = 0;
    std::vector<pipeline::RouteStage> stages;  // Those that it passes.
    std::uint64_t plan = 0;                    // wire::PlanHash
    std::vector<wire::Run> runs;
    std::vector<Word> words;  // Of each stage.
    bool back = false;        // So all of them have had it.
    // At each boundary, that before the first stage first: what was sent, what arrived, what the
    // head saw of it. Empty: not known.
    std::vector<std::vector<std::uint64_t>> sent;
    std::vector<std::vector<std::uint64_t>> got;
    std::vector<std::vector<std::uint64_t>> seen;
    // Whether it was another batch that the head was to pass on there.
    std::vector<bool> altered;
  };

  Open* Find(std::uint64_t epoch, std::uint64_t step);
  void Compare(const Open& open, std::size_t boundary, std::vector<Dispute>& disputes);
  void Record(const Open& open, std::size_t stage);
  // Nothing will be said of it any more.
  void GiveUp(Open& open, std::size_t stage, Word word);
  void NoteEvasive(const Open& open, NodeId node);
  void ForgetWordsOf(NodeId node);
  void Mislead(Open& open, std::size_t stage, std::vector<Dispute>& disputes);

  const NodeId head_;
  std::map<std::uint64_t, Account> accounts_;
  std::deque<Open> open_;  // In the order in which they were sent.
  // The last batch that a node has accounted for: epochs and steps only grow.
  std::map<NodeId, BatchName> said_;
  std::vector<NodeId> contradicted_;
  std::vector<NodeId> misled_;
  std::size_t rows_now_ = 0;  // Of all accounts.
  std::uint64_t rows_sent_ = 0;
  double accounted_ = 0;
};

}  // namespace shoal::coordinator
