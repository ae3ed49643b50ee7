#include "shoal/rank_check.h"

#include <fmt/core.h>

#include <sstream>
#include <vector>

#include "caffe/solver_file.h"
#include "shoal/solver_files.h"

namespace shoal {
namespace {

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

Status Differs(const std::string& path) {
  return {Code::kInvalidArgument, fmt::format("its {} is another file than that of rank 0", path)};
}

}  // namespace

std::string TrainedOptions(const TrainCommand& command) {
  const ClusterTrainOptions& over = command.over;
  return fmt::format(
      "--batch {}\n--batch-per-device {}\n--iterations {}\n--mode {}\n--period {}\n"
      "--moving-rate {}\n--scaled-from {}\n--warmup {}\n--lars {}\n--momentum-correction {}\n"
      "--exact {}\n--unit {}\n",
      command.batch.empty() ? "none" : command.batch,
      over.batch_per_device.empty() ? "none" : over.batch_per_device, command.iterations, over.mode,
      over.period, over.alpha, over.scaled_from, over.warmup, over.lars, over.momentum_correction,
      command.exact, command.unit);
}

Status CheckRank(const TrainCommand& command, const wire::pb::TrainJob& job) {
  const std::vector<std::string> here = Lines(TrainedOptions(command));
  const std::vector<std::string> first = Lines(job.command());
  for (std::size_t i = 0; i < here.size() && i < first.size(); ++i) {
    if (here[i] == first[i]) continue;
    return {Code::kInvalidArgument,
            fmt::format("was started with {}, rank 0 with {}", here[i], first[i])};
  }
  const Result<std::string> solver = ReadWhole(command.solver);
  if (!solver.ok()) return {};
  if (*solver != job.solver()) return Differs(command.solver);
  const Result<caffe::SolverFile> file = caffe::ParseSolver(command.solver, *solver);
  const std::string path = !command.net.empty() ? command.net : file.ok() ? file->train.path : "";
  if (path.empty()) return {};
  const Result<std::string> net = FileFinder(command.solver).Read(path);
  return net.ok() && *net != job.net() ? Differs(path) : Status();
}

}  // namespace shoal
