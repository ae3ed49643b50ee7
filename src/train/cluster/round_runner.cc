#include "train/cluster/round_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "train/cluster/round_message.h"

namespace shoal::train {
namespace {

// Two nodes that keep losing each other while both are in touch with the head: after so many tries
// the one that is accused most has to stay away for a while.
constexpr std::size_t kTriesMax = 4;
// Who sends nonsense is to blame more than who gets it.
constexpr std::size_t kNonsense = 3;
// How long a node has to say that it waits, too.
constexpr Duration kGrace = std::chrono::seconds(5);
constexpr Duration kWatchInterval = std::chrono::seconds(15);

}  // namespace

RoundRunner::RoundRunner(const Seams& seams, std::string job, Crew& crew, Keeper& keeper,
                         GroupPlanner& planner, RoundEvents& events)
    : seams_(seams),
      job_(std::move(job)),
      crew_(crew),
      keeper_(keeper),
      planner_(planner),
      events_(events),
      // Sums of an earlier head's epochs may still be on their way between workers.
      epoch_(seams.random.Bits() >> 33U << 32U) {
  Watch();
}

// --- Tries.

void RoundRunner::Call(ChiefRound round) {
  round.begin = seams_.clock.Now();
  round_ = std::move(round);
  Tell();
}

void RoundRunner::Close() {
  round_.reset();
  group_.reset();
}

void RoundRunner::Tell() {
  NewEpoch();
  round_->BeginTry(seams_.clock.Now());
  group_.reset();
  JoinSync();
  wire::pb::TrainToNode message;
  wire::pb::TrainRound& out = *message.mutable_round();
  out.set_job(job_);
  WriteRound(*round_, out);
  planner_.Write(epoch_, *round_, *out.mutable_group());
  for (const NodeId node : round_->nodes) {
    WritePart(*round_, node, out);
    events_.Send(node, message);
  }
}

std::vector<Sample> RoundRunner::Leave(NodeId node) {
  if (!round_ || !round_->nodes.contains(node)) return {};
  std::vector<Sample> samples = round_->Remove(node, crew_.In(Mate::State::kInStep));
  if (round_->nodes.empty()) {
    Close();
  } else {
    Tell();
  }
  return samples;
}

// --- The head's own part.

void RoundRunner::JoinSync() {
  const NodeId self = seams_.network.self();
  const auto place = std::find(round_->group.begin(), round_->group.end(), self);
  round_->head_done = place == round_->group.end();
  if (round_->head_done) return;
  const bool donor = place == round_->group.begin();
  group_ = std::make_unique<collective::Communicator>(
      seams_.clock, seams_.network,
      collective::Group{.epoch = epoch_,
                        .members = round_->group,
                        .rank = static_cast<std::size_t>(place - round_->group.begin())});
  for (const auto& [node, mate] : crew_.mates()) group_->OnPeerUp(node);
  const std::vector<std::span<float>> parts = donor ? keeper_.state() : keeper_.incoming();
  parts_left_ = parts.size();
  for (const std::span<float> part : parts) {
    group_->Broadcast(part, 0, [this](const Status& status) { OnBroadcast(status); });
  }
}

void RoundRunner::OnBroadcast(const Status& status) {
  if (!status.ok()) {
    const std::optional<NodeId> peer = group_->misfit();
    return peer && crew_.Find(*peer) != nullptr ? events_.OnUnfit(*peer, status.ToString())
                                                : events_.OnFailure(status);
  }
  if (--parts_left_ > 0) return;
  round_->head_done = true;
  MaybeDone();
}

void RoundRunner::OnPeerUp(NodeId peer) {
  if (group_ != nullptr) group_->OnPeerUp(peer);
}

void RoundRunner::OnSums(NodeId from, Frame frame) {
  if (group_ == nullptr || collective::FrameEpoch(frame) != group_->epoch()) return;
  const Status status = group_->OnFrame(from, std::move(frame));
  if (status.ok()) round_->heard = seams_.clock.Now();
  if (!status.ok() && round_->nodes.contains(from)) events_.OnUnfit(from, status.ToString());
}

void RoundRunner::OnWritable(NodeId peer) {
  if (group_ == nullptr) return;
  round_->heard = seams_.clock.Now();
  group_->OnWritable(peer);
}

// --- What nodes say.

void RoundRunner::OnDone(NodeId from, const wire::pb::TrainDone& done) {
  if (!round_ || done.round() != round_->number || done.epoch() != epoch_) return;
  if (!round_->nodes.contains(from)) return;
  round_->done[from] = done;
  round_->heard = seams_.clock.Now();
  MaybeDone();
}

void RoundRunner::MaybeDone() {
  if (!round_->IsDone()) return;
  const std::vector<NodeId> dissenters = round_->Dissenters();
  if (dissenters.empty()) return events_.OnRoundDone();
  for (const NodeId node : dissenters) {
    events_.OnUnfit(node, "has added up something else than the others: its memory may be faulty");
  }
}

void RoundRunner::OnTrouble(NodeId from, const wire::pb::TrainTrouble& trouble,
                            const std::string& text) {
  if (!round_ || trouble.epoch() != epoch_ || !round_->nodes.contains(from)) return;
  const NodeId peer{trouble.peer()};
  if (peer == from) return OnWaiting(from);
  if (crew_.Find(peer) == nullptr) return;  // An epoch without it has begun.
  events_.Say(fmt::format("{} {}; once more", crew_.NameOf(from), text));
  round_->accused[peer] += trouble.nonsense() ? kNonsense : 1;
  ++round_->accused[from];
  crew_.NoteQuarrel(peer, from);
  if (round_->tries < kTriesMax) return Tell();
  const NodeId out = crew_.MostToBlame(round_->accused);
  round_->accused.erase(out);
  events_.OnBlamed({out}, "and the others cannot work together");
}

void RoundRunner::Watch() {
  seams_.clock.CallAfter(kWatchInterval, [this, alive = std::weak_ptr<int>(alive_)] {
    if (alive.expired() || events_.IsOver()) return;
    const NodeId self = seams_.network.self();
    if (round_ && round_->StandsStill(self, seams_.clock.Now())) OnWaiting(self);
    Watch();
  });
}

void RoundRunner::OnWaiting(NodeId from) {
  round_->waiting.insert(from);
  seams_.clock.CallAfter(kGrace, [this, alive = std::weak_ptr<int>(alive_), epoch = epoch_] {
    if (!alive.expired() && !events_.IsOver() && round_ && epoch == epoch_) LeaveSlow();
  });
}

void RoundRunner::LeaveSlow() {
  const std::vector<NodeId> slow = round_->Slow();
  if (slow.empty()) return Tell();  // They wait for each other: once more.
  // What one of many says may be wrong.
  const bool sure = round_->waiting.contains(seams_.network.self());
  if (!sure && 2 * slow.size() > round_->nodes.size()) return;
  events_.OnBlamed(slow, "keeps the others waiting");
}

}  // namespace shoal::train
