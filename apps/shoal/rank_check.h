// With mpirun every rank has a command line and, mostly, files of its own. Only those of rank 0
// count; others that differ are a mistake that would go unnoticed.
#pragma once

#include <string>

#include "base/status.h"
#include "shoal/train_command.h"
#include "wire/control.h"

namespace shoal {

// The options that say what is trained, one a line: "--batch 32". TrainJob::command.
std::string TrainedOptions(const TrainCommand& command);

// Whether rank 0's job is what this rank was told to train. A file that this rank does not have is
// none that differs. kInvalidArgument: the message goes on after the rank's name.
Status CheckRank(const TrainCommand& command, const wire::pb::TrainJob& job);

}  // namespace shoal
