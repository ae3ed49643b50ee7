// RowLog: the rows that a stage made lately, so that the next one's work can be computed again from
// what it was given. Bounded: sequences that are over go first, the oldest of them before others,
// then the one that has waited longest for its next row.
//
// Belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "wire/batch.h"

namespace shoal::pipeline {

// What a node keeps, and what the head may therefore expect of it: 8,000 rows of a model of 2,048
// numbers, some forty answers.
inline constexpr std::size_t kRowLogBytes = std::size_t{32} << 20U;

class RowLog {
 public:
  // Keeps about so many bytes at most.
  explicit RowLog(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // The rows that `batch` has after layers [0, boundary), all of RowsIn(). Rows of a sequence that
  // follow no others, or were made after other layers than those before, begin anew from theirs.
  void Add(const wire::Batch& batch, std::int64_t boundary);
  // All sequences are over, until rows of them follow.
  void EndAll();

  // Rows [begin, begin + count) of a sequence; empty: they are not (all) here. Good until the next
  // Add.
  std::span<const std::uint16_t> Find(std::uint64_t sequence, std::int64_t boundary,
                                      std::size_t begin, std::size_t count) const;

  std::size_t bytes() const { return bytes_; }

 private:
  struct Kept {
    std::int64_t boundary = 0;
    std::size_t dim = 0;
    std::vector<std::uint16_t> rows;  // From position 0 on.
    bool over = false;
    std::uint64_t touched = 0;  // The number of the last Add that did.
  };

  void Append(Kept& kept, const wire::Run& run, std::span<const std::uint16_t> rows);
  void MakeRoom();

  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::uint64_t adds_ = 0;
  std::map<std::uint64_t, Kept> sequences_;
};

}  // namespace shoal::pipeline
