#include "train/cluster/worker_round.h"

#include <utility>

namespace shoal::train {
namespace {

constexpr std::uint64_t kSamplesInAllMax = std::uint64_t{1} << 40U;

Status Bad(const std::string& field) {
  return {Code::kInvalidArgument, "a round with a bad " + field};
}

}  // namespace

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
  round.neighbours.clear();
  round.reductions = round.reductions_done = 0;
  round.told_done = false;
  if (!round.rank) return {};
  round.group = std::make_unique<collective::Communicator>(clock, network, std::move(said.group));
  return {};
}

}  // namespace shoal::train
