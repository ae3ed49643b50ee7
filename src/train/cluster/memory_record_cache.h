// RecordCache in memory: for tests, sim, and what flash has no room for.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/thread_annotations.h"
#include "train/cluster/record_cache.h"

namespace shoal::train {

class MemoryRecordCache final : public RecordCache {
 public:
  // Of a data set of `records`; the oldest are forgotten to stay below `bytes_max`, except those
  // that are held: what finds no room beside them is not kept (kResourceExhausted).
  // REQUIRES: records > 0.
  MemoryRecordCache(std::int64_t records, std::uint64_t bytes_max, data::Colors colors);

  std::int64_t size() const override { return records_; }
  bool Has(std::int64_t index) const override SHOAL_EXCLUDES(mutex_);
  Status Put(std::int64_t index, std::span<const std::byte> datum) override SHOAL_EXCLUDES(mutex_);
  void Hold(std::span<const std::int64_t> indices) override SHOAL_EXCLUDES(mutex_);
  std::vector<std::int64_t> Present() const override SHOAL_EXCLUDES(mutex_);
  Status Read(std::int64_t index, data::Record& out) const override SHOAL_EXCLUDES(mutex_);

 private:
  using Bytes = std::shared_ptr<const std::vector<std::byte>>;  // Read without the lock.

  const std::int64_t records_;
  const std::uint64_t bytes_max_;
  const data::Colors colors_;

  mutable Mutex mutex_;
  std::unordered_map<std::int64_t, Bytes> kept_ SHOAL_GUARDED_BY(mutex_);
  std::deque<std::int64_t> oldest_ SHOAL_GUARDED_BY(mutex_);  // Of kept_, in the order of coming.
  std::unordered_set<std::int64_t> held_ SHOAL_GUARDED_BY(mutex_);
  std::uint64_t bytes_ SHOAL_GUARDED_BY(mutex_) = 0;
};

// What every kind of cache says to a record that is put into it.
Status CheckRecord(std::int64_t records, std::int64_t index, std::span<const std::byte> datum);
// A failure names the record.
Status DecodeRecord(std::int64_t index, std::span<const std::byte> datum, data::Colors colors,
                    data::Record& out);
Status RecordNotHere(std::int64_t index);

}  // namespace shoal::train
