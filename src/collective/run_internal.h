// Run: one collective under way on one rank. Takes messages as they come and goes through its
// schedule as far as they, and the outbox, allow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "collective/collective_frame.h"
#include "collective/communicator.h"
#include "collective/numbers_internal.h"
#include "collective/outbox_internal.h"
#include "collective/range_set_internal.h"

namespace shoal::collective {

// Numbers that a collective is about. Without an input they are in `output` from the start.
struct Operands {
  std::span<const float> input;
  std::span<float> output;
  float scale = 1;
  bool in_place = false;
};

class Communicator::Run {
 public:
  // `stamp`: what all its messages say. Actions of more than kMessageElementsMax elements become
  // several messages. `done` may be empty.
  Run(const FrameHeader& stamp, const Operands& operands, const Encoding& encoding,
      Schedule schedule, Done done);

  std::uint32_t number() const { return stamp_.number; }
  // Whom it exchanges messages with.
  std::set<std::size_t> Ranks() const;
  // Bytes to come, by rank.
  std::map<std::size_t, std::size_t> Due() const;

  // A message from `rank`, which is `node`. One that does not fit fails the collective.
  // kCorruption: it is one too many.
  Status Accept(std::size_t rank, NodeId node, const FrameHeader& header, Frame frame);
  void Advance(Outbox& outbox);

  // Waits with sending and adding until Release.
  void Hold() { held_ = true; }
  void Release(float up) {
    encoding_.up = up;
    held_ = false;
  }
  // Another run that waits for the outcome of this one, and what has to live until then.
  struct Unlocks {
    std::uint32_t number = 0;
    std::shared_ptr<float[]> numbers;
  };
  void SetUnlocks(Unlocks unlocks) { unlocks_ = std::move(unlocks); }
  const Unlocks& unlocks() const { return unlocks_; }

  void Fail(Status status);
  bool over() const { return over_; }
  const Status& status() const { return status_; }
  Done TakeDone() { return std::move(done_); }

 private:
  struct Inbox {
    std::vector<std::size_t> due;  // Indices of its actions.
    std::size_t arrived = 0;
    std::deque<Frame> waiting;
  };

  Status Misfit(NodeId node, const FrameHeader& header, const Action& due) const;
  bool Send(const Action& action, Outbox& outbox);
  Frame Make(const Action& action);
  bool Receive(const Action& action);
  bool IsPassedOn(const Action& received) const;
  // Whether nothing of it has been written; a part that has not been is, if others have.
  bool IsUntouched(Range range);
  void CopyInput(Range range);

  FrameHeader Header(const Action& action) const;
  std::span<const float> Input(Range range) const {
    return operands_.input.subspan(range.begin, range.size());
  }
  std::span<float> Output(Range range) const {
    return operands_.output.subspan(range.begin, range.size());
  }

  const FrameHeader stamp_;
  const Operands operands_;
  Encoding encoding_;
  const Schedule schedule_;
  Done done_;
  Unlocks unlocks_;
  std::size_t at_ = 0;
  std::map<std::size_t, Inbox> inboxes_;  // By rank.
  RangeSet written_;                      // What `output` holds; of the rest, `input` does.
  Frame in_hand_;                         // For the next action, if not empty.
  bool held_ = false;
  bool over_ = false;
  Status status_;
};

}  // namespace shoal::collective
