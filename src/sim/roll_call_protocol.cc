#include "sim/roll_call_protocol.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"

namespace shoal::sim {
namespace {

// A phone is busy for 25 ms of every second: enough for slow ones to be seen.
constexpr Duration kJobInterval = std::chrono::seconds(1);
constexpr Work kJobWork = {.operations = 2e9, .bytes_moved = 0};
// A result is a hidden state's size, a report every few heartbeats a small piece of bulk.
constexpr std::size_t kResultBytes = 128;
constexpr std::size_t kReportBytes = 512;
constexpr std::uint64_t kHeartbeatsPerReport = 8;

// On the wire: sequence number, jobs done, fingerprint of both and of the padding, each
// 8 bytes, least significant first; then the padding.
struct Message {
  std::uint64_t sequence = 0;
  std::uint64_t jobs_done = 0;
};
constexpr std::size_t kWordBytes = 8;
constexpr std::size_t kHeaderBytes = 3 * kWordBytes;

void PutWord(Frame& frame, std::size_t at, std::uint64_t word) {
  for (std::size_t i = 0; i < kWordBytes; ++i) {
    frame[at + i] = static_cast<std::byte>(word >> (8 * i) & 0xffU);
  }
}

std::uint64_t GetWord(const Frame& frame, std::size_t at) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < kWordBytes; ++i) {
    word |= std::to_integer<std::uint64_t>(frame[at + i]) << (8 * i);
  }
  return word;
}

std::uint64_t CheckWord(const Message& message, const Frame& frame) {
  Fingerprint hash;
  hash.Add(message.sequence);
  hash.Add(message.jobs_done);
  hash.AddBytes(std::span(frame).subspan(kHeaderBytes));
  return hash.value();
}

Frame Encode(const Message& message, std::size_t padding_bytes) {
  Frame frame(kHeaderBytes + padding_bytes);
  PutWord(frame, 0, message.sequence);
  PutWord(frame, kWordBytes, message.jobs_done);
  PutWord(frame, 2 * kWordBytes, CheckWord(message, frame));
  return frame;
}

Result<Message> Decode(const Frame& frame) {
  if (frame.size() < kHeaderBytes) return Status(Code::kCorruption, "short message");
  const Message message = {GetWord(frame, 0), GetWord(frame, kWordBytes)};
  if (GetWord(frame, 2 * kWordBytes) != CheckWord(message, frame)) {
    return Status(Code::kCorruption, "fingerprint differs");
  }
  return message;
}

// Takes the next number of this class; false if the message has another.
bool TakeNext(Sequences& sequences, Traffic traffic, const Message& message) {
  return message.sequence == sequences.received[static_cast<std::size_t>(traffic)]++;
}

Status SendNext(Network& network, NodeId to, Traffic traffic, Sequences& sequences,
                std::uint64_t jobs_done, std::size_t padding_bytes) {
  std::uint64_t& next = sequences.sent[static_cast<std::size_t>(traffic)];
  SHOAL_RETURN_IF_ERROR(
      network.Send(to, traffic, Encode({.sequence = next, .jobs_done = jobs_done}, padding_bytes)));
  ++next;
  return {};
}

}  // namespace

RollCaller::RollCaller(const Surroundings& around, RollCallObserver& observer)
    : around_(around), observer_(observer) {
  around_.network.Attach(this);
  observer_.OnRollOpened();
}

void RollCaller::OnPeerUp(NodeId peer) {
  if (!members_.try_emplace(peer).second) {
    observer_.OnBrokenPromise(around_.self, "a peer came up twice");
  }
}

void RollCaller::OnPeerDown(NodeId peer, const Status&) {
  if (!members_.contains(peer)) {
    observer_.OnBrokenPromise(around_.self, "a peer went down that was not up");
  }
  Drop(peer);
}

void RollCaller::OnFrame(NodeId from, Traffic traffic, Frame frame) {
  const auto found = members_.find(from);
  if (found == members_.end()) {
    return observer_.OnBrokenPromise(around_.self, "a frame came from a peer that is not up");
  }
  const Result<Message> message = Decode(frame);
  if (!message.ok()) {  // Faulty memory somewhere: start over with it.
    Drop(from);
    return around_.network.Disconnect(from);
  }
  if (!TakeNext(found->second.sequences, traffic, *message)) {
    observer_.OnBrokenPromise(around_.self, "a frame is missing, late or there twice");
  }
  if (traffic == Traffic::kControl) Heard(from, found->second);
}

void RollCaller::Heard(NodeId from, Member& member) {
  around_.clock.Cancel(member.deadline);
  member.deadline = around_.clock.CallAfter(kHeartbeatDeadline, [this, from] {
    Drop(from);
    around_.network.Disconnect(from);
  });
  if (!std::exchange(member.present, true)) observer_.OnPresence(from, true);
  // A full queue means a peer that does not read; it is dropped when it stops beating.
  (void)SendNext(around_.network, from, Traffic::kControl, member.sequences, 0, 0);
}

void RollCaller::Drop(NodeId peer) {
  const auto found = members_.find(peer);
  if (found == members_.end()) return;
  around_.clock.Cancel(found->second.deadline);
  if (found->second.present) observer_.OnPresence(peer, false);
  members_.erase(found);
}

RollMember::RollMember(const Surroundings& around, NodeId caller, std::string address,
                       RollCallObserver& observer)
    : around_(around), caller_(caller), address_(std::move(address)), observer_(observer) {
  around_.network.Attach(this);
  DialLater();
  Compute();
}

void RollMember::DialLater() {
  const auto extra = around_.random.Between(0, back_off_.count() / 2);
  around_.clock.CallAfter(back_off_ + Duration(extra),
                          [this] { around_.network.Connect(caller_, address_); });
  back_off_ = std::min(2 * back_off_, kBackOffMax);
}

void RollMember::OnPeerUp(NodeId) {
  if (std::exchange(up_, true)) {
    observer_.OnBrokenPromise(around_.self, "the caller came up twice");
  }
  sequences_ = {};
  back_off_ = kBackOffFirst;
  Beat();
}

void RollMember::OnPeerDown(NodeId, const Status&) {
  up_ = false;
  around_.clock.Cancel(heartbeat_);
  DialLater();
}

void RollMember::OnFrame(NodeId from, Traffic traffic, Frame frame) {
  if (!up_) return observer_.OnBrokenPromise(around_.self, "a frame came while nobody was up");
  const Result<Message> message = Decode(frame);
  if (!message.ok()) {
    around_.network.Disconnect(from);
    return OnPeerDown(from, message.status());
  }
  if (!TakeNext(sequences_, traffic, *message)) {
    observer_.OnBrokenPromise(around_.self, "a frame is missing, late or there twice");
  }
}

void RollMember::Beat() {
  heartbeat_ = around_.clock.CallAfter(kHeartbeatInterval, [this] { Beat(); });
  Send(Traffic::kControl, 0);
  if (sequences_.sent[0] % kHeartbeatsPerReport == 0) Send(Traffic::kBulk, kReportBytes);
}

void RollMember::Compute() {
  const Status submitted = around_.executor.Submit({
      .tag = {.step = jobs_submitted_++, .epoch = 1},
      .work = kJobWork,
      .run = {},
      .done = [this](JobTag tag) { OnComputed(tag); },
  });
  if (!submitted.ok()) observer_.OnBrokenPromise(around_.self, "an idle executor took no job");
  around_.clock.CallAfter(kJobInterval, [this] { Compute(); });
}

void RollMember::OnComputed(JobTag tag) {
  if (tag.step != jobs_done_++) {
    observer_.OnBrokenPromise(around_.self, "jobs are done in another order");
  }
  Send(Traffic::kActivations, kResultBytes);
}

void RollMember::Send(Traffic traffic, std::size_t padding_bytes) {
  if (!up_) return;
  // What is refused is not sent again: the next heartbeat says as much.
  (void)SendNext(around_.network, caller_, traffic, sequences_, jobs_done_, padding_bytes);
}

}  // namespace shoal::sim
