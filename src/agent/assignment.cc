#include "agent/assignment.h"

#include <utility>

#include "llm/model_config_text.h"
#include "llm/model_size.h"

namespace shoal::agent {
namespace {

// What every batch takes beside its layers: a frame is unpacked, threads are woken. A node with few
// layers must not look slower for it than one with many.
constexpr double kBatchSeconds = 100e-6;

}  // namespace

Work Assignment::Price(std::size_t rows) const {
  Work work;
  for (const pipeline::LayerCost& layer : costs) {
    work.operations += 2 * static_cast<double>(rows) * layer.multiply_adds;
    work.bytes_moved += static_cast<double>(layer.weight_bytes);
  }
  return work;
}

double Assignment::PromisedSeconds(const wire::pb::Profile& profile, std::size_t rows) const {
  const pipeline::PlanSpeeds speeds = {.weight_bytes_per_second = profile.weight_bytes_per_second(),
                                       .operations_per_second = profile.operations_per_second()};
  if (!(speeds.weight_bytes_per_second > 0 && speeds.operations_per_second > 0)) return 0;
  double seconds = kBatchSeconds;
  for (const pipeline::LayerCost& layer : costs) {
    seconds += pipeline::LayerSeconds(layer, speeds, static_cast<double>(rows));
  }
  return seconds;
}

Result<pipeline::StageSpec> ReadStageSpec(const wire::pb::Assign& assign) {
  SHOAL_ASSIGN_OR_RETURN(llm::ModelConfig config,
                         llm::ParseConfig("the assignment", assign.config()));
  if (assign.first() >= assign.end() || assign.end() > config.layers ||
      assign.layers_size() != static_cast<int>(assign.end() - assign.first()) ||
      assign.stage() >= assign.stages() || assign.kv() > 1) {
    return Status(Code::kInvalidArgument, "the assignment is not one");
  }
  return pipeline::StageSpec{.model = assign.model_id(),
                             .config = config,
                             .kv = static_cast<kernels::KvType>(assign.kv()),
                             .positions = assign.positions(),
                             .range = {assign.first(), assign.end()}};
}

Assignment ReadAssignment(const wire::pb::Assign& assign, pipeline::StageSpec spec) {
  Assignment assignment;
  assignment.epoch = assign.epoch();
  assignment.stage = assign.stage();
  assignment.stages = assign.stages();
  assignment.accounts = assign.receipts();
  const llm::RowWork row = llm::MeasureRow(spec.config);
  for (const wire::pb::LayerFile& layer : assign.layers()) {
    assignment.costs.push_back(
        {.weight_bytes = layer.bytes(),
         .row_bytes = static_cast<std::uint64_t>(row.share * static_cast<double>(layer.bytes())),
         .multiply_adds = row.multiply_adds});
  }
  assignment.spec = std::move(spec);
  assignment.previous = NodeId{assign.previous()};
  assignment.next = NodeId{assign.next().node()};
  assignment.next_address = assign.next().address();
  assignment.relay = assign.next().relay();
  return assignment;
}

}  // namespace shoal::agent
