// What of a NetLearner goes to newcomers and to files.
#include <algorithm>

#include "base/check.h"
#include "caffe/weights_file.h"
#include "train/cluster/net_learner.h"
#include "train/sidecar.h"
#include "train/solver_state.h"
#include "train/weights.h"

namespace shoal::train {

std::size_t NetLearner::statistics() const {
  std::size_t floats = 0;
  for (const nn::Param& param : params_->params()) {
    if (param.spec.statistics) floats += param.spec.layout.elements();
  }
  return floats;
}

void NetLearner::ReadStatistics(std::span<float> out) const {
  SHOAL_CHECK_EQ(out.size(), statistics());
  auto to = out.begin();
  for (std::size_t i = 0; i < params_->size(); ++i) {
    const nn::ParamId id{i};
    if (!(*params_)[id].spec.statistics) continue;
    const std::span<const float> from = params_->value(id);
    to = std::copy(from.begin(), from.end(), to);
  }
}

void NetLearner::WriteStatistics(std::span<const float> values) {
  SHOAL_CHECK_EQ(values.size(), statistics());
  for (std::size_t i = 0; i < params_->size(); ++i) {
    const nn::ParamId id{i};
    if (!(*params_)[id].spec.statistics) continue;
    const std::span<float> to = params_->value(id);
    std::copy_n(values.begin(), to.size(), to.begin());
    values = values.subspan(to.size());
  }
}

std::vector<std::span<float>> NetLearner::state() {
  std::vector<std::span<float>> arrays{params_->values(), solver_->all_histories()};
  if (rule_.mode == LearnerMode::kElastic) arrays.push_back(common_->values());
  return arrays;
}

// What a snapshot's sidecar says, without what belongs to one device or to the chief.
Sidecar NetLearner::MakeSidecar() const {
  Sidecar sidecar{
      .iteration = committed_.iteration, .losses = losses_.all(), .schedule = committed_.schedule};
  if (exact_) {
    sidecar.unit = unit_;
    sidecar.limits = exact_->limits();
  }
  return sidecar;
}

Status NetLearner::Restore(const std::string& note) {
  const Result<Sidecar> sidecar = ReadSidecar("the learner's note", note);
  if (!sidecar.ok()) {
    return Status(Code::kInvalidArgument, std::string(sidecar.status().message()));
  }
  SHOAL_RETURN_IF_ERROR(RestoreCounts(sidecar->iteration, sidecar->schedule));
  if (exact_) SHOAL_RETURN_IF_ERROR(exact_->SetLimits(sidecar->limits));
  losses_.Set(sidecar->losses);
  if (rule_.mode == LearnerMode::kLocal) common_->Take();
  return {};
}

Status NetLearner::RestoreCounts(std::int64_t iteration, const nn::LrSchedule::State& schedule) {
  if (iteration < 0 || schedule.current_step < 0) {
    return Status(Code::kInvalidArgument, "the state of a learner with counts below zero");
  }
  solver_->Restore(iteration, schedule);
  Commit();
  return {};
}

Status NetLearner::LoadWeights(std::string_view file, std::string_view bytes) {
  SHOAL_RETURN_IF_ERROR(train::LoadWeights(file, bytes, *params_));
  if (common_) common_->Take();
  return {};
}

std::string NetLearner::WeightsBytes() {
  ExchangeWeights();
  std::string bytes = caffe::WriteWeights(ExportWeights(model_->def(), *params_));
  ExchangeWeights();
  return bytes;
}

void NetLearner::ExchangeWeights() {
  if (common_) common_->Exchange();
}

std::string NetLearner::StateBytes(const std::string& learned_net) {
  return caffe::WriteSolverState(ExportState(learned_net, *params_, *solver_));
}

Status NetLearner::Resume(std::string_view file, const caffe::SolverStateFile& state,
                          const std::optional<Sidecar>& sidecar) {
  SHOAL_RETURN_IF_ERROR(RestoreHistories(file, state, *params_, *solver_));
  if (sidecar) losses_.Set(sidecar->losses);
  if (exact_ && sidecar && sidecar->unit > 0) {
    SHOAL_RETURN_IF_ERROR(exact_->SetLimits(sidecar->limits));
  }
  return RestoreCounts(state.iter, sidecar ? sidecar->schedule : ScheduleOf(state));
}

}  // namespace shoal::train
