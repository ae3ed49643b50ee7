#include "pipeline/row_log.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace shoal::pipeline {

void RowLog::Add(const wire::Batch& batch, std::int64_t boundary) {
  SHOAL_CHECK_EQ(batch.rows.size(), batch.RowsIn() * batch.dim);
  ++adds_;
  for (const std::uint64_t sequence : batch.over) {
    if (const auto found = sequences_.find(sequence); found != sequences_.end()) {
      found->second.over = true;
    }
  }
  std::span<const std::uint16_t> rows = batch.rows;
  for (const wire::Run& run : batch.runs) {
    const std::size_t size = std::size_t{run.count} * batch.dim;
    Kept& kept = sequences_[run.sequence];
    if (kept.boundary != boundary || kept.dim != batch.dim) {
      bytes_ -= kept.rows.size() * sizeof(std::uint16_t);
      kept = {.boundary = boundary, .dim = batch.dim, .rows = {}};
    }
    Append(kept, run, rows.first(size));
    rows = rows.subspan(size);
  }
  MakeRoom();
}

void RowLog::Append(Kept& kept, const wire::Run& run, std::span<const std::uint16_t> rows) {
  bytes_ -= kept.rows.size() * sizeof(std::uint16_t);
  const std::size_t begin = std::size_t{run.begin} * kept.dim;
  if (begin > kept.rows.size()) {
    kept.rows.clear();  // What lies between is missing: nothing can be computed from the rest.
  } else {
    kept.rows.resize(begin);
    kept.rows.insert(kept.rows.end(), rows.begin(), rows.end());
  }
  bytes_ += kept.rows.size() * sizeof(std::uint16_t);
  kept.over = false;
  kept.touched = adds_;
}

void RowLog::MakeRoom() {
  while (bytes_ > bytes_max_ && !sequences_.empty()) {
    const auto worst =
        std::min_element(sequences_.begin(), sequences_.end(), [](const auto& a, const auto& b) {
          return std::tuple(!a.second.over, a.second.touched) <
                 std::tuple(!b.second.over, b.second.touched);
        });
    bytes_ -= worst->second.rows.size() * sizeof(std::uint16_t);
    sequences_.erase(worst);
  }
}

void RowLog::EndAll() {
  for (auto& [sequence, kept] : sequences_) kept.over = true;
}

std::span<const std::uint16_t> RowLog::Find(std::uint64_t sequence, std::int64_t boundary,
                                            std::size_t begin, std::size_t count) const {
  const auto found = sequences_.find(sequence);
  if (found == sequences_.end() || found->second.boundary != boundary) return {};
  const Kept& kept = found->second;
  const std::size_t rows = kept.rows.size() / kept.dim;
  if (begin > rows || count > rows - begin) return {};
  return std::span(kept.rows).subspan(begin * kept.dim, count * kept.dim);
}

}  // namespace shoal::pipeline
