#include "train/cluster/round_message.h"

#include <algorithm>

#include "base/network.h"
#include "train/cluster/sample_runs.h"

namespace shoal::train {
namespace {

// With room for the messages around it.
constexpr std::size_t kBytesMax = kControlFrameBytesMax - 64;

}  // namespace

void WriteRound(const ChiefRound& round, wire::pb::TrainRound& out) {
  out.set_round(round.number);
  out.set_committed(round.before.round);
  out.set_committed_loss(round.before.loss);
  out.set_committed_note(round.before.note);
  out.set_kind(round.kind);
  out.set_step(static_cast<std::uint64_t>(round.iteration));
}

void WritePart(const ChiefRound& round, NodeId node, wire::pb::TrainRound& out) {
  out.clear_samples();
  out.clear_next();
  out.set_weight(1 / static_cast<double>(round.group.size()));
  if (round.kind != wire::pb::TrainRound::STEP) return;
  const std::vector<Sample>& samples = round.samples.at(node);
  const std::size_t all = round.Samples();
  out.set_weight(static_cast<double>(samples.size()) /
                 static_cast<double>(std::max<std::size_t>(all, 1)));
  out.set_samples_in_all(all);
  WriteSamples(samples, *out.mutable_samples());
  WriteSamples(round.next.at(node), *out.mutable_next());
  // Without it records come later, but they come.
  if (out.ByteSizeLong() > kBytesMax) out.clear_next();
}

}  // namespace shoal::train
