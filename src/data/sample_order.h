// The order in which a data set is read: a pure function of a seed and a position, so that a
// run can stop anywhere and go on with the same samples, on any number of threads.
#pragma once

#include <cstdint>

namespace shoal::data {

// A place in the endless sequence of samples: the one that comes next. Saved in a snapshot.
struct Cursor {
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;  // In the epoch; below the size of the data set.
  bool operator==(const Cursor&) const = default;
};

class SampleOrder {
 public:
  // Every epoch has each sample once: in the order of the data set, or shuffled, each epoch
  // differently. Needs no memory: the shuffle is a keyed bijection, not a list.
  // REQUIRES: size > 0.
  SampleOrder(std::int64_t size, bool shuffle, std::uint64_t seed);

  // Which sample is at `cursor`. REQUIRES: cursor.position < size.
  std::int64_t IndexAt(Cursor cursor) const;

  // `count` samples after `cursor`. After the last sample of an epoch comes the first of the
  // next, in the middle of a batch too.
  Cursor Advance(Cursor cursor, std::uint64_t count) const;

  // Where a run begins that skips a random number of samples, below `rand_skip`: Caffe's way
  // to keep several readers of one database apart. 0 and 1: at the start.
  Cursor Start(std::int64_t rand_skip) const;

 private:
  std::uint64_t size_;
  bool shuffle_;
  std::uint64_t seed_;
  std::uint64_t half_bits_;  // The bijection is on numbers of twice that many bits.
};

}  // namespace shoal::data
