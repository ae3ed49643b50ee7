// Solver state: between a solver and Caffe's .solverstate. Pure; thread-compatible.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "caffe/solver_state_file.h"
#include "nn/lr_schedule.h"
#include "nn/param_store.h"
#include "nn/solver.h"

namespace shoal::train {

// `learned_net`: the path of the weights.
caffe::SolverStateFile ExportState(const std::string& learned_net, const nn::ParamStore& params,
                                   nn::Solver& solver);

// The histories only. kInvalidArgument: the state is of another network or solver.
Status RestoreHistories(std::string_view file, const caffe::SolverStateFile& state,
                        const nn::ParamStore& params, nn::Solver& solver);

nn::LrSchedule::State ScheduleOf(const caffe::SolverStateFile& state);

}  // namespace shoal::train
