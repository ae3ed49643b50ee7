// Batch: what travels from stage to stage in one activations frame: rows of the residual stream, of
// consecutive positions of some sequences, and which sequences are over. The head sends it to the
// first stage; every stage applies its layers and passes it on; the last one returns to the head
// those rows whose logits are wanted.
//
// All integers are little-endian, rows are F16. Pure functions; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/network.h"
#include "base/node_id.h"
#include "base/status.h"

namespace shoal::wire {

// Consecutive positions of one sequence. A stage that holds later positions forgets them.
struct Run {
  std::uint64_t sequence = 0;
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
  std::uint32_t wanted = 0;  // So many of the last rows go back to the head.
  bool operator==(const Run&) const = default;
};

struct Batch {
  NodeId to{};                   // Whom it is for: a relay passes it on.
  std::uint64_t epoch = 0;       // Stages of another one refuse it.
  std::uint32_t arithmetic = 0;  // kernels::kKernelRevision of who made it.
  std::uint64_t step = 0;        // Counts the head's batches of an epoch.
  std::uint32_t stage = 0;       // Whose turn it is; the number of stages: the head's.
  std::uint32_t last = 0;        // The stage after which it ends.
  std::uint32_t dim = 0;
  std::vector<Run> runs;
  std::vector<std::uint64_t> over;  // Sequences that nobody needs any more.
  std::vector<std::uint16_t> rows;  // RowsIn() * dim numbers.
  bool operator==(const Batch&) const = default;

  // Rows that a stage is given, and those that the head gets back.
  std::size_t RowsIn() const;
  std::size_t RowsBack() const;
};

// More than a head sends; a stage's work for one batch is bounded by them.
inline constexpr std::size_t kBatchRowsMax = 4096;
inline constexpr std::size_t kBatchRunsMax = 4096;
inline constexpr std::size_t kBatchOverMax = 4096;
inline constexpr std::size_t kBatchDimMax = 65536;

// REQUIRES: within the limits above; rows.size() is a number of rows times dim.
Frame EncodeBatch(const Batch& batch);

// kCorruption: the message names the field that no correct peer sends. On success every run has
// wanted <= count >= 1, begin + count fits 32 bits, no sequence has two runs, and `rows` are
// RowsIn() or, for the head (`stage` is beyond `last`), RowsBack() rows.
Result<Batch> DecodeBatch(const Frame& frame);

// Whom a frame is for, without decoding the rest. 0: the frame is too short.
NodeId BatchDestination(const Frame& frame);

}  // namespace shoal::wire
