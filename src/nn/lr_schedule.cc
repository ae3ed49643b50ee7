#include "nn/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace shoal::nn {
namespace {

Status Invalid(const std::string& message) {
  return Status(Code::kInvalidArgument, "solver: " + message);
}

}  // namespace

Result<LrSchedule> LrSchedule::Make(const SolverDef& def) {
  const bool stepping = def.lr_policy == LrPolicy::kStep;
  if (stepping && def.stepsize < 1) return Invalid("lr_policy 'step' needs a positive stepsize");
  if (def.lr_policy == LrPolicy::kPoly && def.max_iter < 1) {
    return Invalid("lr_policy 'poly' needs a positive max_iter");
  }
  if (def.lr_policy == LrPolicy::kPlateau && def.plateau_winsize.empty()) {
    return Invalid("lr_policy 'plateau' needs plateau_winsize");
  }
  if (!std::isfinite(def.base_lr) || def.base_lr < 0) {
    return Invalid("base_lr must be a number that is not negative");
  }
  if (!std::is_sorted(def.stepvalues.begin(), def.stepvalues.end())) {
    return Invalid("stepvalue must grow");
  }
  if (def.warmup_iter < 0) return Invalid("warmup_iter must not be negative");
  return LrSchedule(def);
}

float LrSchedule::Next(std::int64_t iteration, double loss) {
  if (def_.lr_policy == LrPolicy::kMultiStep) {
    const auto step = static_cast<std::size_t>(state_.current_step);
    if (step < def_.stepvalues.size() && iteration >= def_.stepvalues[step]) ++state_.current_step;
  }
  if (def_.lr_policy == LrPolicy::kPlateau) {
    if (state_.best_iteration == 0 || loss < state_.best_loss) {
      state_.best_loss = loss;
      state_.best_iteration = std::max<std::int64_t>(1, iteration);
    }
    const auto step = static_cast<std::size_t>(state_.current_step);
    if (step < def_.plateau_winsize.size() &&
        iteration - state_.best_iteration >= def_.plateau_winsize[step]) {
      ++state_.current_step;
      state_.best_iteration = std::max<std::int64_t>(1, iteration);
    }
  }
  return RateAt(iteration);
}

double LrSchedule::PolicyRate(std::int64_t iteration) const {
  const double base = def_.base_lr;
  const double gamma = def_.gamma;
  const auto iter = static_cast<double>(iteration);
  switch (def_.lr_policy) {
    case LrPolicy::kFixed:
      return base;
    case LrPolicy::kStep:
      return base * std::pow(gamma, static_cast<double>(iteration / def_.stepsize));
    case LrPolicy::kExp:
      return base * std::pow(gamma, iter);
    case LrPolicy::kInv:
      return base * std::pow(1 + gamma * iter, -static_cast<double>(def_.power));
    case LrPolicy::kMultiStep:
    case LrPolicy::kPlateau:
      return base * std::pow(gamma, static_cast<double>(state_.current_step));
    case LrPolicy::kPoly: {
      const double left = 1 - iter / static_cast<double>(def_.max_iter);
      return base * std::pow(std::max(left, 0.0), static_cast<double>(def_.power));
    }
    case LrPolicy::kSigmoid:
      return base / (1 + std::exp(-gamma * (iter - static_cast<double>(def_.stepsize))));
  }
  return base;
}

float LrSchedule::RateAt(std::int64_t iteration) const {
  double rate = std::max(PolicyRate(iteration), static_cast<double>(def_.min_lr));
  if (iteration < def_.warmup_iter) {
    const double start = def_.warmup_start_lr;
    const double part = static_cast<double>(iteration) / static_cast<double>(def_.warmup_iter);
    rate = start + (rate - start) * part;
  }
  return static_cast<float>(rate);
}

}  // namespace shoal::nn
