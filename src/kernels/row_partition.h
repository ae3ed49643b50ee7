// RowPartition: how a sum over the rows of a matrix is cut, by the matrix alone, so that the sum
// does not depend on who computes it. Tasks are blocks of rows by channels; each leaves sums in a
// place of its own, which are then added in the order of the rows.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/parallel.h"

namespace shoal::kernels {

class RowPartition {
 public:
  struct Block {
    std::size_t chunk;  // Which chunk of rows: its sums are row `chunk` of the partial sums.
    std::size_t row_begin;
    std::size_t row_end;
    std::size_t channel_begin;
    std::size_t channel_end;
  };

  RowPartition(std::size_t rows, std::size_t channels) : rows_(rows), channels_(channels) {
    chunks_ = std::clamp<std::size_t>(rows / kRowsPerChunk, 1, kChunksMax);
    const std::size_t wanted = (kTasks + chunks_ - 1) / chunks_;
    const std::size_t width = (channels + wanted - 1) / wanted;
    width_ = std::max<std::size_t>(1, (width + kWidth - 1) / kWidth) * kWidth;
    widths_ = std::max<std::size_t>(1, (channels + width_ - 1) / width_);
  }

  std::size_t chunks() const { return chunks_; }
  // Rows of a chunk differ by one at most.
  std::size_t rows_of(std::size_t chunk) const { return row_begin(chunk + 1) - row_begin(chunk); }

  template <class Body>
  void Run(Parallel& parallel, const Body& body) const {
    parallel.Run(chunks_ * widths_, [&](std::size_t task, std::size_t /*worker*/) {
      const std::size_t chunk = task / widths_;
      const std::size_t channel = task % widths_ * width_;
      body(Block{chunk, row_begin(chunk), row_begin(chunk + 1), channel,
                 std::min(channels_, channel + width_)});
    });
  }

  // Calls body(begin, end) for ranges of the channels.
  template <class Body>
  void RunChannels(Parallel& parallel, const Body& body) const {
    if (channels_ * chunks_ < kSerialSums || channels_ <= kChannels) {
      body(std::size_t{0}, channels_);
      return;
    }
    parallel.Run((channels_ + kChannels - 1) / kChannels, [&](std::size_t task, std::size_t) {
      body(task * kChannels, std::min(channels_, (task + 1) * kChannels));
    });
  }

  static constexpr std::size_t kChunksMax = 32;
  static constexpr std::size_t kChannelsTogether = 64;

 private:
  // Adding up the chunks must cost little beside summing a chunk.
  static constexpr std::size_t kRowsPerChunk = 128;
  static constexpr std::size_t kTasks = 16;  // Enough for the cores of a phone.
  static constexpr std::size_t kWidth = 32;  // Channels: two cache lines, which one core writes.
  static constexpr std::size_t kChannels = 128;
  static constexpr std::size_t kSerialSums = 16384;

  std::size_t row_begin(std::size_t chunk) const { return rows_ * chunk / chunks_; }

  std::size_t rows_;
  std::size_t channels_;
  std::size_t chunks_;
  std::size_t width_;
  std::size_t widths_;
};

// Calls body(c, sum) for channels [begin, end) with the sum of column c over the rows of `partial`,
// a matrix of chunks whose rows lie `stride` apart. Row by row: columns would miss every cache.
template <class Body>
void ForChunkSums(const float* partial, std::size_t chunks, std::size_t stride, std::size_t begin,
                  std::size_t end, const Body& body) {
  constexpr std::size_t kTogether = RowPartition::kChannelsTogether;
  for (std::size_t first = begin; first < end; first += kTogether) {
    const std::size_t count = std::min(kTogether, end - first);
    double sums[kTogether] = {};
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      const float* const row = partial + chunk * stride + first;
      for (std::size_t i = 0; i < count; ++i) sums[i] += static_cast<double>(row[i]);
    }
    for (std::size_t i = 0; i < count; ++i) body(first + i, sums[i]);
  }
}

}  // namespace shoal::kernels
