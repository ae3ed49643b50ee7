#include "train/solver_state.h"

#include <fmt/format.h>

#include "train/weights.h"

namespace shoal::train {

caffe::SolverStateFile ExportState(const std::string& learned_net, const nn::ParamStore& params,
                                   nn::Solver& solver) {
  const nn::LrSchedule::State& schedule = solver.schedule_state();
  caffe::SolverStateFile state{.iter = solver.iteration(),
                               .learned_net = learned_net,
                               .history = {},
                               .current_step = schedule.current_step,
                               .minimum_loss = {},
                               .iter_last_event = schedule.best_iteration};
  if (solver.def().lr_policy == nn::LrPolicy::kPlateau) {
    state.minimum_loss = static_cast<float>(schedule.best_loss);
  }
  for (std::size_t i = 0; i < solver.histories(); ++i) {
    const nn::Param& param = params[solver.history_param(i)];
    state.history.push_back(ToFileBlob(param.spec.layout, solver.history(i)));
  }
  return state;
}

Status RestoreHistories(std::string_view file, const caffe::SolverStateFile& state,
                        const nn::ParamStore& params, nn::Solver& solver) {
  if (state.history.size() != solver.histories()) {
    return Status(
        Code::kInvalidArgument,
        fmt::format("{}: has {} histories, the solver needs {}: it is the state of another "
                    "network or type of solver",
                    file, state.history.size(), solver.histories()));
  }
  for (std::size_t i = 0; i < solver.histories(); ++i) {
    const nn::Param& param = params[solver.history_param(i)];
    SHOAL_RETURN_IF_ERROR(
        FromFileBlob(state.history[i], param.spec.layout, solver.history(i))
            .Annotate(fmt::format("{}: history {}, of layer \"{}\"", file, i, param.spec.layer)));
  }
  return {};
}

nn::LrSchedule::State ScheduleOf(const caffe::SolverStateFile& state) {
  return {.current_step = state.current_step,
          .best_iteration = state.iter_last_event,
          .best_loss = state.minimum_loss.value_or(0)};
}

}  // namespace shoal::train
