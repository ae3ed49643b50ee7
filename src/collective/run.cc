#include <algorithm>
#include <string>

#include "base/check.h"
#include "collective/run_internal.h"

namespace shoal::collective {
namespace {

Range RangeOf(const Action& action) { return {action.begin, action.end}; }

// Both ends of a message cut it in the same way.
Schedule CutLong(const Schedule& schedule) {
  const Pieces pieces = {.elements = kMessageElementsMax, .ahead = 1};
  Schedule cut;
  cut.reserve(schedule.size());
  for (const Action& action : schedule) {
    const std::size_t count = PieceCount(action.end - action.begin, pieces);
    for (std::size_t i = 0; i < count; ++i) {
      const Range part = Part(RangeOf(action), count, i);
      cut.push_back({action.kind, action.peer, part.begin, part.end});
    }
  }
  return cut;
}

std::string NodeName(NodeId node) { return "node " + std::to_string(ToNumber(node)); }

std::string RangeName(std::uint64_t begin, std::uint64_t end) {
  return std::to_string(begin) + "…" + std::to_string(end);
}

}  // namespace

Communicator::Run::Run(const FrameHeader& stamp, const Operands& operands, const Encoding& encoding,
                       Schedule schedule, Done done)
    : stamp_(stamp),
      operands_(operands),
      encoding_(encoding),
      schedule_(CutLong(schedule)),
      done_(std::move(done)) {
  for (std::size_t i = 0; i < schedule_.size(); ++i) {
    if (schedule_[i].kind != ActionKind::kSend) inboxes_[schedule_[i].peer].due.push_back(i);
  }
  if (operands_.in_place) written_.Add({0, operands_.output.size()});
}

FrameHeader Communicator::Run::Header(const Action& action) const {
  FrameHeader header = stamp_;
  header.begin = action.begin;
  header.end = action.end;
  return header;
}

std::set<std::size_t> Communicator::Run::Ranks() const {
  std::set<std::size_t> ranks;
  for (const Action& action : schedule_) ranks.insert(action.peer);
  return ranks;
}

std::map<std::size_t, std::size_t> Communicator::Run::Due() const {
  std::map<std::size_t, std::size_t> bytes;
  for (const auto& [rank, inbox] : inboxes_) {
    for (const std::size_t i : inbox.due) bytes[rank] += FrameBytes(Header(schedule_[i]));
  }
  return bytes;
}

Status Communicator::Run::Accept(std::size_t rank, NodeId node, const FrameHeader& header,
                                 Frame frame) {
  if (over_) return {};
  const auto found = inboxes_.find(rank);
  Inbox* inbox = found == inboxes_.end() ? nullptr : &found->second;
  if (inbox != nullptr && inbox->arrived == inbox->due.size()) inbox = nullptr;
  const Action due = inbox != nullptr ? schedule_[inbox->due[inbox->arrived]] : Action{};
  if (header != Header({due.kind, due.peer, header.begin, header.end}) ||
      (inbox != nullptr && header != Header(due))) {
    Fail(Misfit(node, header, due));
    return {};
  }
  if (inbox == nullptr) {
    return {Code::kCorruption, "collective: a message too many of " + NodeName(node)};
  }
  ++inbox->arrived;
  inbox->waiting.push_back(std::move(frame));
  return {};
}

Status Communicator::Run::Misfit(NodeId node, const FrameHeader& header, const Action& due) const {
  const std::string who = NodeName(node);
  if (header.op != stamp_.op) {
    return {Code::kInvalidArgument, who + " is at " + std::string(OpName(header.op)) +
                                        " where this node is at " + std::string(OpName(stamp_.op)) +
                                        ": another program?"};
  }
  if (header.elements != stamp_.elements) {
    return {Code::kInvalidArgument, who + " has " + std::to_string(header.elements) +
                                        " elements where this node has " +
                                        std::to_string(stamp_.elements) + ": another model?"};
  }
  if (header.wire != stamp_.wire) {
    return {Code::kInvalidArgument, who + " sends another type of numbers: other options?"};
  }
  return {Code::kInvalidArgument, who + " sends elements " + RangeName(header.begin, header.end) +
                                      " where " + RangeName(due.begin, due.end) +
                                      " are due: other options?"};
}

void Communicator::Run::Advance(Outbox& outbox) {
  while (!held_ && !over_ && at_ < schedule_.size()) {
    const Action& action = schedule_[at_];
    if (!(action.kind == ActionKind::kSend ? Send(action, outbox) : Receive(action))) return;
    ++at_;
  }
  if (held_ || over_) return;
  for (const Range gap : written_.Gaps({0, operands_.output.size()})) CopyInput(gap);
  over_ = true;
}

bool Communicator::Run::Send(const Action& action, Outbox& outbox) {
  if (!outbox.IsOpen(action.peer, stamp_.number, FrameBytes(Header(action)))) return false;
  Frame frame = in_hand_.empty() ? Make(action) : std::exchange(in_hand_, {});
  WriteHeader(Header(action), frame);
  Status status = outbox.Send(action.peer, stamp_.number, std::move(frame));
  if (status.ok()) return true;
  if (status.code() != Code::kUnavailable && status.code() != Code::kResourceExhausted) {
    Fail(std::move(status));
  }
  return false;
}

Frame Communicator::Run::Make(const Action& action) {
  Frame frame(FrameBytes(Header(action)));
  const Range range = RangeOf(action);
  if (IsUntouched(range)) {
    WriteScaled(encoding_, operands_.scale, Input(range), PayloadOf(frame));
  } else {
    WriteRounded(encoding_, Output(range), PayloadOf(frame));
  }
  return frame;
}

bool Communicator::Run::Receive(const Action& action) {
  Inbox& inbox = inboxes_[action.peer];
  if (inbox.waiting.empty()) return false;
  Frame frame = std::move(inbox.waiting.front());
  inbox.waiting.pop_front();
  const Range range = RangeOf(action);
  const std::span<float> output = Output(range);
  const std::span<std::byte> payload = PayloadOf(frame);
  const bool passed_on = IsPassedOn(action);
  if (action.kind == ActionKind::kReceiveCopy) {
    ReadPayload(encoding_, payload, output);
  } else {
    if (IsUntouched(range)) {
      AddPayload(encoding_, payload, operands_.scale, Input(range), output);
    } else {
      AddPayload(encoding_, payload, 1, output, output);
    }
    if (passed_on) WriteRounded(encoding_, output, payload);
  }
  written_.Add(range);
  if (passed_on) in_hand_ = std::move(frame);
  return true;
}

bool Communicator::Run::IsPassedOn(const Action& received) const {
  if (at_ + 1 >= schedule_.size()) return false;
  const Action& next = schedule_[at_ + 1];
  return next.kind == ActionKind::kSend && next.begin == received.begin && next.end == received.end;
}

bool Communicator::Run::IsUntouched(Range range) {
  const std::vector<Range> gaps = written_.Gaps(range);
  if (gaps.size() == 1 && gaps[0].size() == range.size()) return true;
  for (const Range gap : gaps) CopyInput(gap);
  return false;
}

void Communicator::Run::CopyInput(Range range) {
  CopyScaled(operands_.scale, Input(range), Output(range));
  written_.Add(range);
}

void Communicator::Run::Fail(Status status) {
  if (over_) return;
  over_ = true;
  status_ = std::move(status);
}

}  // namespace shoal::collective
