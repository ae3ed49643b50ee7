#include "data/sample_order.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/hash.h"
#include "base/random.h"

namespace shoal::data {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;
// Four make a Feistel network of random functions a random permutation; two more for ours.
constexpr int kRounds = 6;

// A bijection on numbers of 2 · half_bits bits.
std::uint64_t Mix(std::uint64_t x, std::uint64_t half_bits, std::uint64_t key) {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  std::uint64_t left = x >> half_bits;
  std::uint64_t right = x & mask;
  for (int round = 0; round < kRounds; ++round) {
    key += kGolden;
    const std::uint64_t next = left ^ (Avalanche(key ^ Avalanche(right)) & mask);
    left = right;
    right = next;
  }
  return left << half_bits | right;
}

}  // namespace

SampleOrder::SampleOrder(std::int64_t size, bool shuffle, std::uint64_t seed)
    : size_(static_cast<std::uint64_t>(size)), shuffle_(shuffle), seed_(seed), half_bits_(0) {
  SHOAL_CHECK_GT(size, 0);
  half_bits_ = static_cast<std::uint64_t>((std::bit_width(size_ - 1) + 1) / 2);
}

std::int64_t SampleOrder::IndexAt(Cursor cursor) const {
  SHOAL_CHECK_LT(cursor.position, size_);
  if (!shuffle_ || size_ == 1) return static_cast<std::int64_t>(cursor.position);
  const std::uint64_t key = Avalanche(seed_ + kGolden) ^ Avalanche(~cursor.epoch);
  // Walks until it is back inside: at most a few steps, as the range is below 4 times the size.
  std::uint64_t x = Mix(cursor.position, half_bits_, key);
  while (x >= size_) x = Mix(x, half_bits_, key);
  return static_cast<std::int64_t>(x);
}

Cursor SampleOrder::Advance(Cursor cursor, std::uint64_t count) const {
  const std::uint64_t position = cursor.position + count;
  return {.epoch = cursor.epoch + position / size_, .position = position % size_};
}

Cursor SampleOrder::Start(std::int64_t rand_skip) const {
  if (rand_skip <= 1) return {};
  constexpr std::uint64_t kSkipStream = 0x736b6970;  // "skip": away from other uses of the seed.
  return Advance({}, Random(seed_, kSkipStream).Below(static_cast<std::uint64_t>(rand_skip)));
}

}  // namespace shoal::data
