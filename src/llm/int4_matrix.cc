#include "llm/int4_matrix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "kernels/dequantize.h"
#include "kernels/float16.h"

namespace shoal::llm {
namespace {

constexpr std::size_t kBlock = 32;     // Of Q4_0 and Q4_1.
constexpr std::size_t kPerWord = 8;    // Integers of 4 bits.
constexpr std::size_t kTileRows = 64;  // Two cache lines of words at GPTQ, half a line at AWQ.
constexpr std::uint32_t kMiddle = 8;   // The zero that Q4_0 has.
// AWQ: the bits of output j of a word.
constexpr std::array<std::uint32_t, kPerWord> kAwqShift = {0, 16, 4, 20, 8, 24, 12, 28};

std::uint32_t LoadWord(std::span<const std::byte> bytes, std::size_t i) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data() + i * sizeof word, sizeof word);
  return word;
}

// Four integers of 4 bits, 16 bits apart.
std::uint64_t Spread(std::uint64_t word) {
  word = (word | word << 24U) & 0x000000ff000000ffU;
  return (word | word << 12U) & 0x000f000f000f000fU;
}

// Of output n in a word that has eight of them.
std::uint32_t ShiftOf(Int4Packing packing, std::size_t n) {
  return packing == Int4Packing::kAwq ? kAwqShift[n % kPerWord]
                                      : static_cast<std::uint32_t>(4 * (n % kPerWord));
}

std::uint32_t ZeroOf(const Int4Matrix& matrix, std::size_t group, std::size_t n) {
  const std::uint32_t word =
      LoadWord(matrix.zeros, group * (matrix.rows / kPerWord) + n / kPerWord);
  // GPTQ: a stored 15 means 16; kernels that wrap it to 0 contradict the quantiser.
  return (word >> ShiftOf(matrix.packing, n) & 15U) + matrix.zero_offset;
}

Status CheckBytes(std::string_view name, std::string_view what, std::span<const std::byte> bytes,
                  std::size_t wanted) {
  if (bytes.size() == wanted) return {};
  return Status(Code::kCorruption, std::string(name) + "." + std::string(what) + " has " +
                                       std::to_string(bytes.size()) + " bytes; wanted " +
                                       std::to_string(wanted));
}

// The inputs sorted by their group, those of a group as they were; empty if they are already.
Result<std::vector<std::uint32_t>> OrderOf(std::string_view name, const Int4Matrix& matrix) {
  std::vector<std::uint32_t> order;
  if (matrix.input_groups.empty()) return order;
  std::vector<std::size_t> count(matrix.groups());
  for (std::size_t k = 0; k < matrix.k; ++k) {
    const std::uint32_t group = LoadWord(matrix.input_groups, k);
    if (group >= count.size()) {
      return Status(Code::kCorruption, std::string(name) + ".g_idx puts an input into group " +
                                           std::to_string(group) + " of " +
                                           std::to_string(count.size()));
    }
    ++count[group];
  }
  for (std::size_t g = 0; g < count.size(); ++g) {
    const std::size_t wanted = std::min(matrix.group, matrix.k - g * matrix.group);
    if (count[g] == wanted) continue;
    return Status(Code::kCorruption, std::string(name) + ".g_idx gives group " + std::to_string(g) +
                                         " " + std::to_string(count[g]) + " inputs; wanted " +
                                         std::to_string(wanted));
  }
  const auto group_of = [&](std::uint32_t k) { return LoadWord(matrix.input_groups, k); };
  const auto before = [&](std::uint32_t a, std::uint32_t b) { return group_of(a) < group_of(b); };
  order.resize(matrix.k);
  std::iota(order.begin(), order.end(), 0U);
  if (std::is_sorted(order.begin(), order.end(), before)) return std::vector<std::uint32_t>();
  std::stable_sort(order.begin(), order.end(), before);
  return order;
}

// Makes the blocks of some rows. Works through tiles of 32 inputs by 64 outputs, because outputs
// are neighbours in the file and inputs in a block.
class BlockMaker {
 public:
  BlockMaker(const Int4Matrix& matrix, Int4Blocks& out) : matrix_(matrix), out_(out) {}

  // Rows [begin, end), at most kTileRows. False: a scale is not finite.
  bool Make(std::size_t begin, std::size_t end) {
    begin_ = begin;
    count_ = end - begin;
    for (std::size_t block = 0; block < matrix_.k / kBlock; ++block) {
      if (block * kBlock % matrix_.group == 0 && !ReadGroup(block * kBlock / matrix_.group)) {
        return false;
      }
      ReadBlock(block);
      for (std::size_t r = 0; r < count_; ++r) Write(r, block);
    }
    return true;
  }

 private:
  // d and zero of every row, in one group of inputs.
  bool ReadGroup(std::size_t group) {
    const std::size_t bytes = Info(matrix_.scale_dtype).block_bytes;
    std::array<float, kTileRows> scales = {};
    kernels::Dequantize(
        matrix_.scale_dtype,
        matrix_.scales.subspan((group * matrix_.rows + begin_) * bytes, count_ * bytes),
        std::span(scales).first(count_));
    bool finite = true;
    for (std::size_t r = 0; r < count_; ++r) {
      d_[r] = kernels::F16FromFloat(scales[r]);
      zero_[r] = kernels::F16FromFloat(static_cast<float>(ZeroOf(matrix_, group, begin_ + r)));
      finite = finite && std::isfinite(kernels::FloatFromF16(d_[r]));
    }
    return finite;
  }

  // The integers of one input, of all rows.
  void ReadInput(std::size_t at, std::array<std::uint8_t, kTileRows>& out) {
    const std::size_t k = out_.order.empty() ? at : out_.order[at];
    if (matrix_.packing == Int4Packing::kGptq) {
      const std::size_t word = k / kPerWord * matrix_.rows + begin_;
      std::memcpy(words_.data(), matrix_.weights.data() + word * 4, count_ * 4);
      const auto shift = static_cast<std::uint32_t>(4 * (k % kPerWord));
      for (std::size_t r = 0; r < kTileRows; ++r) {
        out[r] = static_cast<std::uint8_t>(words_[r] >> shift & 15U);
      }
      return;
    }
    const std::size_t first = k * (matrix_.rows / kPerWord) + begin_ / kPerWord;
    for (std::size_t w = 0; w < count_ / kPerWord; ++w) {
      const std::uint32_t word = LoadWord(matrix_.weights, first + w);
      // Outputs 0 2 4 6 are in the lower half, 1 3 5 7 in the upper one.
      const std::uint64_t bytes = Spread(word & 0xffffU) | Spread(word >> 16U) << 8U;
      std::memcpy(out.data() + w * kPerWord, &bytes, sizeof bytes);
    }
  }

  // The 16 bytes of every row: lower halves are inputs 0-15, upper ones 16-31. Put together in
  // words, with the rows as the inner loop, which compilers make vectors of.
  void ReadBlock(std::size_t block) {
    nibbles_ = {};
    for (std::size_t j = 0; j < kBlock / 2; ++j) {
      ReadInput(block * kBlock + j, lower_);
      ReadInput(block * kBlock + j + kBlock / 2, upper_);
      std::array<std::uint64_t, kTileRows>& to = nibbles_[j / 8];
      const std::size_t shift = 8 * (j % 8);
      for (std::size_t r = 0; r < kTileRows; ++r) {
        to[r] |= static_cast<std::uint64_t>(lower_[r] | upper_[r] << 4U) << shift;
      }
    }
  }

  // d, (zero,) and the 16 bytes.
  void Write(std::size_t r, std::size_t block) {
    const std::size_t bytes = Info(out_.dtype).block_bytes;
    std::byte* to = out_.blocks.data() + ((begin_ + r) * (matrix_.k / kBlock) + block) * bytes;
    std::memcpy(to, &d_[r], sizeof d_[r]);
    if (out_.dtype == DType::kQ4_1) std::memcpy(to + 2, &zero_[r], sizeof zero_[r]);
    std::memcpy(to + bytes - 16, &nibbles_[0][r], 8);
    std::memcpy(to + bytes - 8, &nibbles_[1][r], 8);
  }

  const Int4Matrix& matrix_;
  Int4Blocks& out_;
  std::size_t begin_ = 0;
  std::size_t count_ = 0;
  std::array<std::uint16_t, kTileRows> d_ = {};
  std::array<std::uint16_t, kTileRows> zero_ = {};
  std::array<std::uint32_t, kTileRows> words_ = {};
  std::array<std::uint8_t, kTileRows> lower_ = {};
  std::array<std::uint8_t, kTileRows> upper_ = {};
  std::array<std::array<std::uint64_t, kTileRows>, 2> nibbles_ = {};
};

}  // namespace

Status CheckInt4(std::string_view name, const Int4Matrix& matrix) {
  const std::string where(name);
  if (matrix.group == 0 || matrix.group % kBlock != 0) {
    return Status(Code::kInvalidArgument, where + ": groups of " + std::to_string(matrix.group) +
                                              " weights; we compute with multiples of 32");
  }
  if (matrix.k == 0 || matrix.k % kBlock != 0 || matrix.rows == 0 || matrix.rows % kPerWord != 0) {
    return Status(Code::kInvalidArgument, where + ": " + std::to_string(matrix.k) + " inputs and " +
                                              std::to_string(matrix.rows) +
                                              " outputs; wanted multiples of 32 and of 8");
  }
  if (matrix.scale_dtype != DType::kF16 && matrix.scale_dtype != DType::kBF16 &&
      matrix.scale_dtype != DType::kF32) {
    return Status(Code::kCorruption,
                  where + ".scales are of type " + std::string(Info(matrix.scale_dtype).name));
  }
  const std::size_t words = matrix.groups() * matrix.rows / kPerWord;
  SHOAL_RETURN_IF_ERROR(CheckBytes(name, "qweight", matrix.weights, matrix.k * matrix.rows / 2));
  SHOAL_RETURN_IF_ERROR(CheckBytes(name, "qzeros", matrix.zeros, words * 4));
  SHOAL_RETURN_IF_ERROR(
      CheckBytes(name, "scales", matrix.scales,
                 matrix.groups() * matrix.rows * Info(matrix.scale_dtype).block_bytes));
  if (matrix.input_groups.empty()) return {};
  return CheckBytes(name, "g_idx", matrix.input_groups, matrix.k * 4);
}

DType BlockTypeOf(const Int4Matrix& matrix) {
  const std::uint32_t middle = kMiddle - matrix.zero_offset;
  const std::uint32_t word = middle * 0x11111111U;
  for (std::size_t i = 0; i < matrix.zeros.size() / 4; ++i) {
    if (LoadWord(matrix.zeros, i) != word) return DType::kQ4_1;
  }
  return DType::kQ4_0;
}

Result<Int4Blocks> MakeBlocks(std::string_view name, const Int4Matrix& matrix, Parallel& parallel) {
  Int4Blocks out;
  out.dtype = BlockTypeOf(matrix);
  SHOAL_ASSIGN_OR_RETURN(out.order, OrderOf(name, matrix));
  SHOAL_ASSIGN_OR_RETURN(out.blocks, AlignedBuffer::Make(matrix.rows * (matrix.k / kBlock) *
                                                         Info(out.dtype).block_bytes));
  const std::size_t tiles = (matrix.rows + kTileRows - 1) / kTileRows;
  std::vector<std::uint8_t> good(tiles);
  parallel.Run(tiles, [&](std::size_t tile, std::size_t) {
    const std::size_t begin = tile * kTileRows;
    good[tile] =
        BlockMaker(matrix, out).Make(begin, std::min(begin + kTileRows, matrix.rows)) ? 1 : 0;
  });
  if (std::find(good.begin(), good.end(), 0) != good.end()) {
    return Status(Code::kCorruption, std::string(name) + ".scales has one that is not finite");
  }
  return out;
}

}  // namespace shoal::llm
