#include "wire/row_hash.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"

namespace shoal::wire {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kBlockBytes = 64;
using State = std::array<std::uint32_t, 8>;
using Words = std::array<std::uint32_t, 16>;

constexpr State kStart = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

// In which order a round takes the words of a block.
constexpr std::array<std::array<std::uint8_t, 16>, 10> kOrder = {{
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
}};

inline void Mix(Words& v, std::size_t a, std::size_t b, std::size_t c, std::size_t d,
                std::uint32_t x, std::uint32_t y) {
  v[a] += v[b] + x;
  v[d] = std::rotr(v[d] ^ v[a], 16);
  v[c] += v[d];
  v[b] = std::rotr(v[b] ^ v[c], 12);
  v[a] += v[b] + y;
  v[d] = std::rotr(v[d] ^ v[a], 8);
  v[c] += v[d];
  v[b] = std::rotr(v[b] ^ v[c], 7);
}

// `count`: bytes up to the end of this block.
void Compress(State& state, const std::byte* block, std::uint64_t count, bool last) {
  Words m;
  std::memcpy(m.data(), block, kBlockBytes);
  Words v;
  std::copy(state.begin(), state.end(), v.begin());
  std::copy(kStart.begin(), kStart.end(), v.begin() + 8);
  v[12] ^= static_cast<std::uint32_t>(count);
  v[13] ^= static_cast<std::uint32_t>(count >> 32U);
  if (last) v[14] = ~v[14];
  for (const auto& order : kOrder) {
    Mix(v, 0, 4, 8, 12, m[order[0]], m[order[1]]);
    Mix(v, 1, 5, 9, 13, m[order[2]], m[order[3]]);
    Mix(v, 2, 6, 10, 14, m[order[4]], m[order[5]]);
    Mix(v, 3, 7, 11, 15, m[order[6]], m[order[7]]);
    Mix(v, 0, 5, 10, 15, m[order[8]], m[order[9]]);
    Mix(v, 1, 6, 11, 12, m[order[10]], m[order[11]]);
    Mix(v, 2, 7, 8, 13, m[order[12]], m[order[13]]);
    Mix(v, 3, 4, 9, 14, m[order[14]], m[order[15]]);
  }
  for (std::size_t i = 0; i < state.size(); ++i) state[i] ^= v[i] ^ v[i + 8];
}

std::uint64_t First(std::span<const std::byte> bytes) {
  const Blake2s hash = HashBytes(bytes);
  std::uint64_t first = 0;
  std::memcpy(&first, hash.data(), sizeof(first));
  return first;
}

}  // namespace

Blake2s HashBytes(std::span<const std::byte> bytes) {
  State state = kStart;
  state[0] ^= 0x01010000U ^ sizeof(Blake2s);  // No key.
  std::uint64_t count = 0;
  while (bytes.size() > kBlockBytes) {
    count += kBlockBytes;
    Compress(state, bytes.data(), count, false);
    bytes = bytes.subspan(kBlockBytes);
  }
  std::array<std::byte, kBlockBytes> rest{};
  std::copy(bytes.begin(), bytes.end(), rest.begin());
  Compress(state, rest.data(), count + bytes.size(), true);
  Blake2s hash;
  std::memcpy(hash.data(), state.data(), hash.size());
  return hash;
}

std::uint64_t RowHash(std::span<const std::uint16_t> row) { return First(std::as_bytes(row)); }

std::uint64_t PlanHash(const Batch& batch) {
  std::vector<std::uint64_t> plan = {batch.epoch, batch.step, batch.last, batch.runs.size()};
  for (const Run& run : batch.runs) {
    plan.insert(plan.end(), {run.sequence, run.begin, run.count, run.wanted});
  }
  plan.insert(plan.end(), batch.over.begin(), batch.over.end());
  return First(std::as_bytes(std::span(plan)));
}

std::vector<std::uint64_t> RowHashes(std::span<const std::uint16_t> rows, std::size_t dim) {
  SHOAL_CHECK(dim > 0 && rows.size() % dim == 0);
  std::vector<std::uint64_t> hashes;
  hashes.reserve(rows.size() / dim);
  for (; !rows.empty(); rows = rows.subspan(dim)) hashes.push_back(RowHash(rows.first(dim)));
  return hashes;
}

}  // namespace shoal::wire
