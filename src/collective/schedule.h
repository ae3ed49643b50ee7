// Schedule: what one rank does in a collective, as data. Every algorithm is a pure function that
// makes one; one interpreter (communicator.h) runs them all, and one model of the links prices
// them (link_model.h).
//
// Actions are begun in order. A kSend copies what its range holds at that moment and does not wait
// for anybody; a receive waits for the next message from its peer. Messages between two ranks keep
// their order, and the n-th that one sends the other is the n-th that the other receives: the
// schedules of all ranks must agree on that, and on the sizes.
//
// In a kReceiveAdd the sum is (what came) + (what is here): addition is commutative but not
// associative, so every element of a result is added up along one path, by one rank, and copied
// from there. All ranks get the same bits, whatever arrives when.
//
// Pure functions; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shoal::collective {

enum class ActionKind : std::uint8_t { kSend, kReceiveAdd, kReceiveCopy };

struct Action {
  ActionKind kind = ActionKind::kSend;
  std::uint32_t peer = 0;
  std::uint64_t begin = 0;  // Elements; an empty range is a message all the same.
  std::uint64_t end = 0;
  bool operator==(const Action&) const = default;
};

using Schedule = std::vector<Action>;

// Where a rank stands among how many.
struct Place {
  std::size_t rank = 0;
  std::size_t size = 1;
};

// How far a rank may run ahead, and in which pieces: what fills a link without filling memory. What
// is ahead should cover a pause of the process (12 ms at 1 Gb/s here) and stay in the cache: with
// 16 pieces ahead instead of 6 an all-reduce on 1 Gb/s links takes 4 % longer; over TLS there is
// no difference.
struct Pieces {
  std::size_t elements = std::size_t{64} << 10U;  // Of a message, at most. 0: whole chunks.
  std::size_t ahead = 6;                          // Messages sent before the first is received.
};

// The paper's ring: N chunks, N - 1 steps that add, N - 1 that copy. With pieces of 0 elements a
// chunk is one message (its "gradient packing"); with small ones a chunk is passed on while it
// comes, and the links never rest.
Schedule RingAllReduce(Place place, std::size_t elements, const Pieces& pieces);

// Halving and doubling: 2 log2 N steps, for few bytes. Ranks beyond the largest power of two hand
// theirs to a partner first, and get the result from it.
Schedule HalvingDoublingAllReduce(Place place, std::size_t elements);

// Whether every rank below `size` is in one of `groups`, once, and no group is empty.
bool AreGroups(std::size_t size, std::span<const std::vector<std::uint32_t>> groups);
// A ring within each group (a switch), one across groups for each part, and the way back. There are
// as many parts as the smallest group has ranks. REQUIRES: AreGroups(place.size, groups).
Schedule HierarchicalAllReduce(Place place, std::size_t elements, const Pieces& pieces,
                               std::span<const std::vector<std::uint32_t>> groups);

// A chain that starts at `root` and passes pieces on as they come. Empty messages the other way
// keep it from running ahead.
Schedule ChainBroadcast(Place place, std::size_t elements, std::size_t root, const Pieces& pieces);
// The other way: everybody adds its own; `root` gets the sum.
Schedule ChainReduce(Place place, std::size_t elements, std::size_t root, const Pieces& pieces);
// Rank r holds elements [begins[r], begins[r + 1]); everybody gets all. REQUIRES: size + 1 begins
// in order.
Schedule RingAllGather(Place place, std::span<const std::uint64_t> begins, const Pieces& pieces);
// Nobody leaves before everybody has come: an all-reduce of nothing.
Schedule Barrier(Place place);

}  // namespace shoal::collective
