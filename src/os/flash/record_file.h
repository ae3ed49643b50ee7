// RecordFile: the records of one data set that a worker has, in a file on its flash, so that a
// worker that comes back, or trains a second epoch, is not sent them again.
//
//   DIR/<64 hexadecimal digits>.records    of the data set whose id has that SHA-256
//
// A header, then one entry after the other, in the order in which they came; integers are
// little-endian, sums are Fingerprints:
//
//   header  "shoalrec" | 32 bytes: SHA-256 of the id | u64 records of the data set | u64 sum of
//   these entry   u64 index | u64 length | u64 sum of the bytes | u64 sum of these three | bytes
//
// Nothing is synced, and nothing relied on: an entry's header is checked when the file is opened
// (what comes after a wrong one is cut off, as is an entry without its end), its bytes whenever
// they are read. An entry with wrong bytes is as if it were not there.
//
// What has no room on flash is in memory, and the oldest of that is forgotten.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/thread_annotations.h"
#include "os/file.h"
#include "os/resumable_file.h"
#include "train/cluster/memory_record_cache.h"
#include "train/cluster/record_cache.h"

namespace shoal::os {

class RecordFile final : public train::RecordCache {
 public:
  struct Options {
    std::string directory;     // Is there.
    std::string id;            // Of the data set: other contents, another id.
    std::int64_t records = 0;  // Of the data set.
    // That the file may have: what is beyond is cut off, and kKeptFree of the disk stay free.
    std::uint64_t flash_bytes = 0;
    std::uint64_t memory_bytes = 0;
    data::Colors colors = data::Colors::kAsStored;
  };
  // As LayerDirectory's: a phone whose flash is full misbehaves.
  static constexpr std::uint64_t kKeptFree = std::uint64_t{64} << 20U;

  // Goes on with the file that is there; one that is not of this data set is thrown away.
  // kInvalidArgument: no records; kUnavailable: another process has it, or it cannot be written.
  static Result<std::unique_ptr<RecordFile>> Open(const Options& options);

  std::int64_t size() const override { return memory_.size(); }
  // Reads and checks the bytes when it is asked for the first time.
  bool Has(std::int64_t index) const override SHOAL_EXCLUDES(mutex_);
  // After a failure to write, which is told once, all that comes is kept in memory only.
  Status Put(std::int64_t index, std::span<const std::byte> datum) override SHOAL_EXCLUDES(mutex_);
  // What is on flash is never forgotten to make room.
  void Hold(std::span<const std::int64_t> indices) override { memory_.Hold(indices); }
  std::vector<std::int64_t> Present() const override SHOAL_EXCLUDES(mutex_);
  Status Read(std::int64_t index, data::Record& out) const override SHOAL_EXCLUDES(mutex_);

 private:
  struct Entry {
    std::uint64_t offset = 0;  // Of its bytes.
    std::uint64_t length = 0;
    std::uint64_t sum = 0;
    bool checked = false;  // Were right once in this process.
  };
  using Entries = std::unordered_map<std::int64_t, Entry>;

  RecordFile(const Options& options, ResumableFile writer, File reader, std::uint64_t bytes_max,
             Entries entries)
      : memory_(options.records, options.memory_bytes, options.colors),
        colors_(options.colors),
        reader_(std::move(reader)),
        bytes_max_(bytes_max),
        writer_(std::move(writer)),
        entries_(std::move(entries)) {}

  // The entries that are right and lie before `end`, up to the first that is not.
  static Entries Scan(const File& file, std::uint64_t end, std::int64_t records);
  // The bytes, which are right. kNotFound: there are none.
  Result<std::vector<std::byte>> Fetch(std::int64_t index) const SHOAL_EXCLUDES(mutex_);
  Status Append(std::int64_t index, std::span<const std::byte> datum) SHOAL_REQUIRES(mutex_);

  train::MemoryRecordCache memory_;
  const data::Colors colors_;
  const File reader_;
  const std::uint64_t bytes_max_;

  mutable Mutex mutex_;
  ResumableFile writer_ SHOAL_GUARDED_BY(mutex_);
  mutable Entries entries_
      SHOAL_GUARDED_BY(mutex_);                   // Damaged ones are dropped when they are read.
  bool broken_ SHOAL_GUARDED_BY(mutex_) = false;  // Nothing more is written.
};

}  // namespace shoal::os
