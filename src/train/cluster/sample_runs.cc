#include "train/cluster/sample_runs.h"

#include "data/sample_order.h"
#include "train/cluster/job.h"

namespace shoal::train {

Result<std::vector<Sample>> ReadSamples(
    const google::protobuf::RepeatedPtrField<wire::pb::SampleRun>& runs,
    const wire::pb::TrainJob& job) {
  const data::SampleOrder order(static_cast<std::int64_t>(job.records()), job.shuffle(),
                                job.seed());
  std::vector<Sample> samples;
  for (const wire::pb::SampleRun& run : runs) {
    if (run.position() >= job.records() || run.count() > job.records() - run.position() ||
        run.count() > static_cast<std::size_t>(kStepSamplesMax) - samples.size()) {
      return Status(Code::kInvalidArgument, "a round with a bad run of samples");
    }
    for (std::uint64_t i = 0; i < run.count(); ++i) {
      const data::Cursor at{.epoch = run.epoch(), .position = run.position() + i};
      samples.push_back({.at = at, .index = order.IndexAt(at)});
    }
  }
  return samples;
}

std::size_t CountRuns(std::span<const Sample> samples) {
  std::size_t runs = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const bool follows = i > 0 && samples[i].at.epoch == samples[i - 1].at.epoch &&
                         samples[i].at.position == samples[i - 1].at.position + 1;
    runs += follows ? 0 : 1;
  }
  return runs;
}

void WriteSamples(const std::vector<Sample>& samples,
                  google::protobuf::RepeatedPtrField<wire::pb::SampleRun>& runs) {
  for (const Sample& sample : samples) {
    if (!runs.empty()) {
      wire::pb::SampleRun& last = *runs.rbegin();
      if (last.epoch() == sample.at.epoch && last.position() + last.count() == sample.at.position) {
        last.set_count(last.count() + 1);
        continue;
      }
    }
    wire::pb::SampleRun& run = *runs.Add();
    run.set_epoch(sample.at.epoch);
    run.set_position(sample.at.position);
    run.set_count(1);
  }
}

}  // namespace shoal::train
