// RowHash: what both ends of a link tell the head about a row that passed between them, so that
// neither can later say that it was another. BLAKE2s (RFC 7693), the first 64 bits: to find another
// row with the same ones takes some 2^64 tries. In plain C++, because state machines hash, too, and
// they know no library: 8 us for a row of 2,048 numbers on the build machine, against milliseconds
// for computing it. Files are hashed by os/sha256.h.
//
// A batch also says which rows these are, and how far it goes. Stages pass that on as the head made
// it: the hash of it tells whether they did.
//
// Pure functions; thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wire/batch.h"

namespace shoal::wire {

using Blake2s = std::array<std::byte, 32>;
Blake2s HashBytes(std::span<const std::byte> bytes);

// Of numbers as they travel: F16, little-endian.
std::uint64_t RowHash(std::span<const std::uint16_t> row);

// Of each row of `rows`. REQUIRES: they are whole rows of `dim` > 0 numbers.
std::vector<std::uint64_t> RowHashes(std::span<const std::uint16_t> rows, std::size_t dim);

// Of what a batch says beside its rows.
std::uint64_t PlanHash(const Batch& batch);

}  // namespace shoal::wire
