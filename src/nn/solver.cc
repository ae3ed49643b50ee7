#include "nn/solver.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"
#include "kernels/elementwise.h"
#include "kernels/update.h"

namespace shoal::nn {
namespace {

Status Check(const SolverDef& def) {
  const auto invalid = [](const std::string& what) {
    return Status(Code::kInvalidArgument, "solver: " + what);
  };
  if (def.iter_size < 1) return invalid("iter_size must be positive");
  if (!(def.momentum >= 0 && def.momentum < 1)) return invalid("momentum must be in [0, 1)");
  if (def.kind == SolverKind::kAdaGrad && def.momentum != 0) {
    return invalid("AdaGrad has no momentum: remove it");
  }
  if (def.kind == SolverKind::kRmsProp && def.momentum != 0) {
    return invalid("RMSProp has no momentum: remove it");
  }
  if (def.kind == SolverKind::kRmsProp && !(def.rms_decay >= 0 && def.rms_decay < 1)) {
    return invalid("rms_decay must be in [0, 1)");
  }
  if (def.kind == SolverKind::kAdam && !(def.momentum2 >= 0 && def.momentum2 < 1)) {
    return invalid("momentum2 must be in [0, 1)");
  }
  const bool rate_in_history = def.kind == SolverKind::kSgd || def.kind == SolverKind::kNesterov;
  if (def.momentum_correction && !rate_in_history) {
    return invalid("momentum_correction is for SGD and Nesterov: no other history has the rate");
  }
  if (!(def.weight_decay >= 0)) return invalid("weight_decay must not be negative");
  return {};
}

}  // namespace

Result<std::unique_ptr<Solver>> Solver::Make(const SolverDef& def, ParamStore& params,
                                             Parallel& parallel) {
  SHOAL_RETURN_IF_ERROR(Check(def));
  SHOAL_ASSIGN_OR_RETURN(LrSchedule schedule, LrSchedule::Make(def));
  std::unique_ptr<Solver> solver(new Solver(def, std::move(schedule), params, parallel));
  if (def.kind == SolverKind::kAdam || def.kind == SolverKind::kAdaDelta) solver->per_param_ = 2;
  const std::size_t bytes = solver->per_param_ * params.values().size_bytes();
  SHOAL_ASSIGN_OR_RETURN(solver->history_, AlignedBuffer::Make(bytes));
  std::memset(solver->history_.data(), 0, bytes);
  solver->rate_ = solver->schedule_.RateAt(0);
  return solver;
}

std::span<float> Solver::history(std::size_t index) {
  SHOAL_CHECK_LT(index, histories());
  const Param& param = params_[history_param(index)];
  const std::size_t part = index / params_.size();
  auto* floats = reinterpret_cast<float*>(history_.data());
  return {floats + part * params_.values().size() + param.offset, param.spec.layout.elements()};
}

std::span<float> Solver::all_histories() {
  return {reinterpret_cast<float*>(history_.data()), history_.size() / sizeof(float)};
}

void Solver::Restore(std::int64_t iteration, const LrSchedule::State& state) {
  iteration_ = iteration;
  schedule_.set_state(state);
  rate_ = schedule_.RateAt(iteration);
}

std::span<const float> Solver::GradientOf(ParamId id, std::span<const float> gradients) const {
  const Param& param = params_[id];
  return gradients.subspan(param.gradient_offset, param.spec.layout.elements());
}

float Solver::GradientScale(std::span<const float> gradients, std::int64_t parts) {
  double scale = 1 / static_cast<double>(parts);
  if (def_.clip_gradients < 0) return static_cast<float>(scale);
  double squares = 0;
  for (std::size_t i = 0; i < params_.size(); ++i) {
    if (!params_[ParamId{i}].learnable()) continue;
    squares += kernels::SumOfSquares(GradientOf(ParamId{i}, gradients), parallel_);
  }
  // Of Caffe's sum, which is over iter_size micro-batches.
  const double micro_batches = static_cast<double>(def_.iter_size);
  const double norm = std::sqrt(squares) * (micro_batches / static_cast<double>(parts));
  if (norm > def_.clip_gradients) scale *= def_.clip_gradients / norm;
  return static_cast<float>(scale);
}

// LARS: a rate for each parameter, in proportion to |w| / (|g| + decay · |w|).
float Solver::LocalRate(ParamId id, float scale, std::span<const float> gradient) {
  const ParamDef& param = params_[id].spec.def;
  const float global = rate_ * param.lr_mult;
  if (!def_.lars) return global;
  const double w = std::sqrt(kernels::SumOfSquares(params_.value(id), parallel_));
  const double g = std::sqrt(kernels::SumOfSquares(gradient, parallel_)) * scale;
  const double decay = static_cast<double>(def_.weight_decay) * param.decay_mult;
  if (w == 0 || g == 0) return global;
  const double local = def_.lars->eta * w / (g + decay * w);
  if (def_.lars->clip) return static_cast<float>(std::min<double>(local * param.lr_mult, global));
  return static_cast<float>(local * global);
}

void Solver::UpdateParam(ParamId id, float scale, std::span<const float> gradient) {
  const ParamDef& param = params_[id].spec.def;
  const float decay = def_.weight_decay * param.decay_mult;
  const bool l2 = def_.regularization == Regularization::kL2;
  const kernels::GradientTerms terms{.scale = scale, .l2 = l2 ? decay : 0, .l1 = l2 ? 0 : decay};
  const kernels::UpdateArrays arrays{.g = gradient, .w = params_.value(id)};
  const float rate = LocalRate(id, scale, gradient);
  const std::span<float> h = history(static_cast<std::size_t>(id));
  const auto second = [&] { return history(static_cast<std::size_t>(id) + params_.size()); };
  switch (def_.kind) {
    case SolverKind::kSgd:
      return kernels::SgdUpdate(terms, rate, def_.momentum, arrays, h, parallel_);
    case SolverKind::kNesterov:
      return kernels::NesterovUpdate(terms, rate, def_.momentum, arrays, h, parallel_);
    case SolverKind::kAdaGrad:
      return kernels::AdaGradUpdate(terms, rate, def_.delta, arrays, h, parallel_);
    case SolverKind::kRmsProp:
      return kernels::RmsPropUpdate(terms, rate, def_.rms_decay, def_.delta, arrays, h, parallel_);
    case SolverKind::kAdaDelta:
      return kernels::AdaDeltaUpdate(terms, rate, def_.momentum, def_.delta, arrays, h, second(),
                                     parallel_);
    case SolverKind::kAdam:
      return kernels::AdamUpdate(terms, rate,
                                 {.beta1 = def_.momentum,
                                  .beta2 = def_.momentum2,
                                  .delta = def_.delta,
                                  .step = iteration_ + 1},
                                 arrays, h, second(), parallel_);
  }
}

// Caffe's history is the sum of steps, each with the rate that it was made with. When the rate
// changes, what came before is made as large as if it had been made with the new one (Goyal et al.,
// "Accurate, large minibatch SGD", remark 2).
void Solver::CorrectMomentum(float rate_before) {
  // A history that was made with no rate at all is zero.
  if (rate_before == rate_ || rate_before == 0) return;
  kernels::Scale(rate_ / rate_before, all_histories(), all_histories(), parallel_);
}

void Solver::Update(double loss, std::span<const float> gradients, std::int64_t parts) {
  SHOAL_CHECK_EQ(gradients.size(), params_.gradients().size());
  const float rate_before = iteration_ > 0 ? schedule_.RateAt(iteration_ - 1) : 0;
  rate_ = schedule_.Next(iteration_, loss);
  if (def_.momentum_correction) CorrectMomentum(rate_before);
  const float scale = GradientScale(gradients, parts);
  for (std::size_t i = 0; i < params_.size(); ++i) {
    const ParamId id{i};
    if (params_[id].learnable()) UpdateParam(id, scale, GradientOf(id, gradients));
  }
  ++iteration_;
}

}  // namespace shoal::nn
