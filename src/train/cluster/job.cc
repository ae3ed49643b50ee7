#include "train/cluster/job.h"

#include <algorithm>
#include <utility>

#include "caffe/solver_file.h"
#include "nn/scale_to_batch.h"

namespace shoal::train {
namespace {

std::int64_t PeriodOf(const wire::pb::TrainJob& job) {
  return static_cast<std::int64_t>(std::max<std::uint64_t>(job.period(), 1));
}

Status ChangeSolver(const wire::pb::TrainJob& job, nn::SolverDef& solver) {
  if (job.max_iter() > 0) solver.max_iter = static_cast<std::int64_t>(job.max_iter());
  return nn::ApplyLargeBatch({.scaled_from = static_cast<std::int64_t>(job.scaled_from()),
                              .warmup = static_cast<std::int64_t>(job.warmup()),
                              .lars = job.lars(),
                              .momentum_correction = job.momentum_correction()},
                             static_cast<std::int64_t>(job.batch()) / PeriodOf(job), solver);
}

}  // namespace

Result<NetLearnerSetup> ReadJob(const wire::pb::TrainJob& job) {
  constexpr auto kBatchMax = static_cast<std::uint64_t>(kStepSamplesMax);
  if (job.batch() == 0 || job.batch() > kBatchMax || job.records() == 0) {
    return Status(Code::kInvalidArgument, "a training without a batch or without data");
  }
  SHOAL_ASSIGN_OR_RETURN(caffe::SolverFile file, caffe::ParseSolver("solver", job.solver()));
  NetLearnerSetup setup{.solver = file.solver, .train = {}};
  SHOAL_RETURN_IF_ERROR(ChangeSolver(job, setup.solver));
  const caffe::BuildOptions options{.phase = file.train.phase,
                                    .state = file.train.state,
                                    .global_stats = job.keep_statistics()
                                                        ? caffe::GlobalStats::kKeep
                                                        : caffe::GlobalStats::kRefuse};
  if (job.net().empty() && file.train.written) {
    SHOAL_ASSIGN_OR_RETURN(setup.train, file.train.written->Build(options));
  } else {
    SHOAL_ASSIGN_OR_RETURN(const caffe::NetFile net, caffe::NetFile::Parse("net", job.net()));
    SHOAL_ASSIGN_OR_RETURN(setup.train, net.Build(options));
  }
  setup.rule = {.mode = static_cast<LearnerMode>(job.mode()),
                .period = PeriodOf(job),
                .alpha = static_cast<float>(job.alpha()),
                .beta = static_cast<float>(job.beta())};
  setup.seed = job.seed();
  setup.bucket_bytes = job.bucket_bytes();
  setup.unit = static_cast<std::int64_t>(std::min<std::uint64_t>(job.unit(), kBatchMax));
  setup.batch = static_cast<std::int64_t>(job.batch());
  return setup;
}

ReadFile FilesOf(const wire::pb::TrainJob& job) {
  return [&job](const std::string& path) -> Result<std::string> {
    for (const auto& file : job.files()) {
      if (file.path() == path) return file.bytes();
    }
    return Status(Code::kNotFound, "the head has sent no file " + path);
  };
}

}  // namespace shoal::train
