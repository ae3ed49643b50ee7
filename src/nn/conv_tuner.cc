#include "nn/conv_tuner.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "kernels/revision.h"
#include "nn/conv_measure.h"
#include "nn/conv_support.h"

namespace shoal::nn {
namespace {

using kernels::ConvImplementation;
using kernels::ConvShape;

std::string_view DirectionName(ConvDirection direction) {
  switch (direction) {
    case ConvDirection::kForward:
      return "forward";
    case ConvDirection::kBackwardData:
      return "backward-data";
    case ConvDirection::kBackwardWeights:
      return "backward-weights";
  }
  return "";
}

std::string Pair(std::size_t h, std::size_t w) {
  return std::to_string(h) + "x" + std::to_string(w);
}

std::string Names(std::span<const ConvImplementation> rows) {
  std::string names;
  for (const ConvImplementation& row : rows)
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

// Whether `backend` lets a row take part.
bool Admits(std::string_view backend, const ConvImplementation& row) {
  if (backend == "auto") return true;
  return backend == "portable" ? row.portable : backend == row.name;
}

}  // namespace

std::string PassName(const ConvShape& s, ConvDirection direction) {
  return "n" + std::to_string(s.batch) + " " + Pair(s.height, s.width) + "x" +
         std::to_string(s.channels) + " o" + std::to_string(s.outputs) + " k" +
         Pair(s.kernel_h, s.kernel_w) + " s" + Pair(s.stride_h, s.stride_w) + " p" +
         Pair(s.pad_h, s.pad_w) + " d" + Pair(s.dilation_h, s.dilation_w) + " g" +
         std::to_string(s.groups) + " " + std::string(DirectionName(direction));
}

Result<std::unique_ptr<ConvTuner>> ConvTuner::Make(ConvTunerOptions options, Parallel& parallel,
                                                   Seconds now,
                                                   std::span<const ConvImplementation> rows) {
  SHOAL_CHECK(!rows.empty());
  const bool known = std::any_of(rows.begin(), rows.end(), [&](const ConvImplementation& row) {
    return Admits(options.backend, row);
  });
  if (!known) {
    return Status(Code::kInvalidArgument, "no backend is called '" + options.backend +
                                              "'; there are auto, portable, " + Names(rows));
  }
  return std::unique_ptr<ConvTuner>(
      new ConvTuner(std::move(options), parallel, std::move(now), rows));
}

ConvTuner::ConvTuner(ConvTunerOptions options, Parallel& parallel, Seconds now,
                     std::span<const ConvImplementation> rows)
    : options_(std::move(options)), parallel_(parallel), now_(std::move(now)), rows_(rows) {
  std::string names;
  for (const ConvImplementation& row : rows_) {
    if (!Admits(options_.backend, row)) continue;
    candidates_.push_back(&row);
    names += (names.empty() ? "" : ",") + std::string(row.name);
  }
  section_ =
      SectionName("device " + options_.device + "; workers " + std::to_string(parallel_.workers()) +
                  "; kernels " + std::to_string(kernels::kKernelRevision) + "; build " +
                  options_.build + "; rows " + names);
}

const ConvImplementation& ConvTuner::Choose(const ConvShape& shape, ConvDirection direction) {
  const std::string pass = PassName(shape, direction);
  if (const auto it = chosen_.find(pass); it != chosen_.end()) return *it->second;
  const ConvImplementation* row = Remembered(pass);
  // A file that someone edited may say anything.
  const kernels::ConvOptions options{.workers = parallel_.workers()};
  if (row == nullptr || !Supports(*row, shape, direction, options)) {
    row = &Measure(shape, direction, pass);
  }
  chosen_[pass] = row;
  return *row;
}

const ConvImplementation* ConvTuner::Find(std::string_view name) const {
  for (const ConvImplementation& row : rows_) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

const ConvImplementation* ConvTuner::Remembered(const std::string& pass) const {
  if (const auto it = preset_.find(pass); it != preset_.end()) return it->second;
  const auto section = times_.find(section_);
  if (section == times_.end()) return nullptr;
  const auto it = section->second.find(pass);
  return it == section->second.end() ? nullptr : Find(it->second.row);
}

const ConvImplementation& ConvTuner::Measure(const ConvShape& shape, ConvDirection direction,
                                             const std::string& pass) {
  const kernels::ConvOptions options{.workers = parallel_.workers()};
  const bool one_way = candidates_.size() == 1;
  if (one_way && Supports(*candidates_.front(), shape, direction, options)) {
    return *candidates_.front();
  }
  if (one_way) return rows_.front();
  ++measured_;
  const std::vector<double> seconds =
      MeasureConv(candidates_, shape, direction,
                  {.seconds = options_.seconds_per_pass,
                   .workspace_bytes_max = options_.workspace_bytes_max,
                   .bytes_max = options_.bytes_max},
                  now_, parallel_);
  const auto best = std::min_element(seconds.begin(), seconds.end());
  if (*best == std::numeric_limits<double>::infinity()) return rows_.front();
  const ConvImplementation& row = *candidates_[static_cast<std::size_t>(best - seconds.begin())];
  times_[section_][pass] = {.row = std::string(row.name), .seconds = *best};
  return row;
}

Status ConvTuner::Load(std::string_view text) {
  SHOAL_ASSIGN_OR_RETURN(ConvTimes loaded, ParseConvTimes(text));
  // What this process measured itself stays.
  for (auto& [section, passes] : loaded) times_[section].merge(passes);
  return {};
}

std::string ConvTuner::Save() const { return ToText(times_); }

std::vector<ConvChoice> ConvTuner::Choices() const {
  std::vector<ConvChoice> choices;
  for (const auto& [pass, row] : chosen_) choices.push_back({pass, std::string(row->name)});
  return choices;
}

Status ConvTuner::Preset(std::span<const ConvChoice> choices) {
  for (const ConvChoice& choice : choices) {
    if (Find(choice.row) == nullptr) {
      return {Code::kNotFound, "the convolution '" + choice.row +
                                   "' is not in this build, which has " + Names(rows_)};
    }
  }
  for (const ConvChoice& choice : choices) {
    preset_[choice.pass] = Find(choice.row);
    chosen_.erase(choice.pass);
  }
  return {};
}

}  // namespace shoal::nn
