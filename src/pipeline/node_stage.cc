#include "pipeline/node_stage.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace shoal::pipeline {
namespace {

// Only the rows whose logits the head wants.
void KeepWanted(wire::Batch& batch) {
  std::size_t from = 0;
  std::size_t to = 0;
  const auto row = [&](std::size_t r) {
    return batch.rows.begin() + static_cast<std::ptrdiff_t>(r * batch.dim);
  };
  for (const wire::Run& run : batch.runs) {
    from += run.count - run.wanted;
    std::copy(row(from), row(from + run.wanted), row(to));
    from += run.wanted;
    to += run.wanted;
  }
  batch.rows.resize(to * batch.dim);
}

}  // namespace

Status NodeStage::Assign(const StageSpec& spec,
                         std::vector<std::shared_ptr<const llm::Layer>> layers) {
  SHOAL_CHECK_EQ(static_cast<std::int64_t>(layers.size()), spec.range.size());
  std::vector<Part> old = std::move(parts_);
  parts_.clear();
  const bool same = spec.model == spec_.model && spec.kv == spec_.kv;
  spec_ = spec;
  std::int64_t at = spec.range.first;
  const auto between = [&](const LayerRange& range) {
    const auto from = layers.begin() + (range.first - spec.range.first);
    return std::vector(from, from + range.size());
  };
  const auto add_new = [&](std::int64_t end) -> Status {
    if (at == end) return {};
    Part part;
    part.range = {at, end};
    SHOAL_ASSIGN_OR_RETURN(part.stage, llm::Stage::Make(between(part.range), spec.config, spec.kv));
    part.cache = std::make_unique<llm::KvCache>(
        part.stage.kv_shape(), (spec.positions + llm::kPagePositions - 1) / llm::kPagePositions);
    parts_.push_back(std::move(part));
    at = end;
    return {};
  };
  for (Part& part : old) {
    const LayerRange common = part.range.Common(spec.range);
    // Parts without sequences are better made anew: as one, if they are neighbours.
    if (!same || common.size() <= 0 || part.sequences.empty()) continue;
    SHOAL_RETURN_IF_ERROR(add_new(common.first));
    SHOAL_RETURN_IF_ERROR(Cut(part, common, between(common)));
    part.kept = true;
    at = common.end;
    parts_.push_back(std::move(part));
  }
  return add_new(spec.range.end);
}

Status NodeStage::Cut(Part& part, const LayerRange& range,
                      std::vector<std::shared_ptr<const llm::Layer>> layers) const {
  if (part.range == range) return {};
  SHOAL_ASSIGN_OR_RETURN(part.stage, llm::Stage::Make(std::move(layers), spec_.config, spec_.kv));
  SHOAL_RETURN_IF_ERROR(
      part.cache->KeepLayers(static_cast<std::size_t>(range.first - part.range.first),
                             static_cast<std::size_t>(range.size())));
  part.range = range;
  return {};
}

std::vector<LayerRange> NodeStage::Kept() const {
  std::vector<LayerRange> kept;
  for (const Part& part : parts_) {
    if (part.kept) kept.push_back(part.range);
  }
  return kept;
}

Status NodeStage::Prepare(Part& part, const wire::Batch& batch,
                          std::vector<llm::StageRow>& rows) const {
  rows.clear();
  for (const wire::Run& run : batch.runs) {
    llm::KvSequence& sequence = part.sequences.try_emplace(run.sequence, *part.cache).first->second;
    if (sequence.length() < run.begin) {
      return {Code::kNotFound, "sequence " + std::to_string(run.sequence) + ": position " +
                                   std::to_string(run.begin) + " follows " +
                                   std::to_string(sequence.length()) + " that are here"};
    }
    sequence.Shrink(run.begin);
    SHOAL_RETURN_IF_ERROR(sequence.Grow(std::size_t{run.begin} + run.count));
    for (std::size_t i = 0; i < run.count; ++i) rows.push_back({&sequence, run.begin + i});
  }
  return {};
}

Status NodeStage::Apply(wire::Batch& batch, Parallel& parallel, const Witness& witness) {
  if (batch.dim != static_cast<std::uint64_t>(spec_.config.dim)) {
    return {Code::kInvalidArgument, "rows of " + std::to_string(batch.dim) + " numbers, not " +
                                        std::to_string(spec_.config.dim)};
  }
  if (batch.rows.size() != batch.RowsIn() * batch.dim) {
    return {Code::kInvalidArgument, "rows are missing"};
  }
  std::vector<llm::StageRow> rows;
  for (Part& part : parts_) {
    for (const std::uint64_t sequence : batch.over) part.sequences.erase(sequence);
    SHOAL_RETURN_IF_ERROR(Prepare(part, batch, rows));
    part.stage.Forward(batch.rows, rows, parallel);
  }
  if (witness) witness(batch);
  if (++batch.stage > batch.last) KeepWanted(batch);
  return {};
}

std::size_t NodeStage::pages_used() const {
  std::size_t pages = 0;
  for (const Part& part : parts_) pages += part.cache->pages_used();
  return pages;
}

}  // namespace shoal::pipeline
