#include "train/cluster/worker_round.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/hash.h"

namespace shoal::train {
namespace {

constexpr std::uint64_t kSamplesInAllMax = std::uint64_t{1} << 40U;
// Nobody is that much slower than this node, whatever its share was guessed to be.
constexpr Duration kPatience = std::chrono::seconds(60);
constexpr double kPatienceSteps = 20;

// Of parts, that the head is told of: they fit a control frame.
constexpr std::size_t kIntervalsMax = 1000;

Status Bad(const std::string& field) {
  return {Code::kInvalidArgument, "a round with a bad " + field};
}

void Write(const Interval& interval, wire::pb::TrainInterval& out) {
  out.set_begin(interval.begin);
  out.set_end(interval.end);
}

}  // namespace

std::set<NodeId> WorkerRound::GroupPeers() const {
  // Pieces do not matter for who is a neighbour.
  std::map<collective::Algorithm, collective::AllReduceOptions> ways;
  ways.emplace(options.algorithm, options);
  for (const Reduction& reduction : plan) {
    ways.emplace(reduction.options.algorithm, reduction.options);
  }
  std::set<NodeId> peers;
  for (const auto& [algorithm, way] : ways) peers.merge(group->Peers(way));
  return peers;
}

void WorkerRound::NotePart(std::size_t parts, Instant now) {
  const std::size_t together = (parts + kIntervalsMax - 1) / kIntervalsMax;
  std::vector<Interval>& compute = times.compute;
  const double begin = compute.empty() ? times.load.end : compute.back().end;
  if (parts_done++ % together == 0) compute.push_back({begin, begin});
  compute.back().end = SinceTold(now);
}

bool WorkerRound::IsWhole(std::size_t parts) const {
  if (!rank) return true;
  const bool is_step = kind == wire::pb::TrainRound::STEP;
  if (is_step && parts_done < parts) return false;
  const std::size_t wanted = is_step ? plan.size() : reductions;
  return wanted > 0 && reductions_done >= wanted;
}

bool WorkerRound::StandsStill(Instant now) const {
  if (group == nullptr || told_done || !missing.empty()) return false;
  const double own = times.compute.empty() ? 0 : times.compute.back().end;
  const double patience = std::max(ToSeconds(kPatience), kPatienceSteps * own);
  return ToSeconds(now - heard) >= patience;
}

bool CanFollow(const wire::pb::TrainRound& message, const std::optional<WorkerRound>& round,
               bool in_step, NodeId self) {
  if (round && round->number == message.round()) {
    return message.group().epoch() > round->epoch && message.kind() == round->kind;
  }
  const auto& members = message.group().members();
  const bool receives = message.kind() == wire::pb::TrainRound::SYNC && !members.empty() &&
                        members[0].node() != ToNumber(self) &&
                        std::any_of(members.begin(), members.end(), [self](const auto& member) {
                          return member.node() == ToNumber(self);
                        });
  if (receives) return true;
  if (!round || message.committed() != round->number || !round->told_done) return false;
  return in_step || (round->kind == wire::pb::TrainRound::SYNC && round->rank);
}

Status ReadGroup(const wire::pb::TrainRound& message, const Learner& learner, Clock& clock,
                 Network& network, WorkerRound& round) {
  if (!wire::pb::TrainRound::Kind_IsValid(message.kind())) return Bad("kind");
  SHOAL_ASSIGN_OR_RETURN(GroupMessage said, ReadGroupMessage(message.group(), network.self()));
  // Only weights can be somebody else's business.
  if (!said.rank && message.kind() != wire::pb::TrainRound::SYNC) return Bad("group");
  if (!(message.weight() >= 0 && message.weight() <= 1)) return Bad("weight");
  if (message.samples_in_all() > kSamplesInAllMax) return Bad("number of samples");
  round.samples_in_all = static_cast<std::int64_t>(message.samples_in_all());
  const bool step = round.kind == wire::pb::TrainRound::STEP;
  said.options.scale = step && learner.exact() ? 1 : static_cast<float>(message.weight());
  round.plan.clear();
  if (step) {
    SHOAL_ASSIGN_OR_RETURN(round.plan, PlanReductions(learner.buckets(), said));
  }
  round.epoch = said.group.epoch;
  round.rank = said.rank;
  round.addresses = std::move(said.addresses);
  round.options = said.options;
  round.group.reset();
  round.reductions = round.reductions_done = 0;
  round.told_done = false;
  if (!round.rank) return {};
  round.group = std::make_unique<collective::Communicator>(clock, network, std::move(said.group));
  return {};
}

void WriteDone(const WorkerRound& round, Learner& learner, wire::pb::TrainDone& out) {
  out.set_round(round.number);
  out.set_epoch(round.epoch);
  out.set_end(round.times.end);
  if (round.kind == wire::pb::TrainRound::STEP) {
    out.set_loss(learner.loss());
    Fingerprint fingerprint;
    fingerprint.AddBytes(std::as_bytes(std::span<const float>(learner.sums())));
    out.set_fingerprint(fingerprint.value());
    Write(round.times.load, *out.mutable_load());
    for (const Interval& part : round.times.compute) Write(part, *out.add_compute());
    for (const Interval& bucket : round.times.buckets) Write(bucket, *out.add_buckets());
  } else if (round.rank == 0 && round.kind == wire::pb::TrainRound::SYNC) {
    out.set_note(learner.Note());
  }
}

}  // namespace shoal::train
