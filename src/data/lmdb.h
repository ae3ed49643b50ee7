// LMDB: a data set as one memory-mapped file of key/value pairs, as Caffe keeps it.
//
// LmdbReader maps a database read-only and without locks (MDB_NOLOCK: a phone's file system
// and system call filter have none to give), so nobody may write to it meanwhile. Opening
// reads the tree's leaves once and keeps where every value lies, 16 bytes a record; after
// that a value is found by its index without touching LMDB, from any thread.
//
// LmdbWriter makes a new database: whole at the end, or not there.
//
// Failures name the path. A file that is shorter than its own header says is refused; LMDB
// itself trusts the pages inside, so a database from a stranger is not safe to open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

struct MDB_env;
struct MDB_txn;

namespace shoal::data {

namespace internal {
struct CloseEnv {
  void operator()(MDB_env* env) const;
};
struct AbortTxn {
  void operator()(MDB_txn* txn) const;
};
using UniqueEnv = std::unique_ptr<MDB_env, CloseEnv>;
using UniqueTxn = std::unique_ptr<MDB_txn, AbortTxn>;
}  // namespace internal

// Thread-safe: nothing changes after Open.
class LmdbReader {
 public:
  // `path` is the directory with data.mdb in it, or that file. kNotFound: it is not there;
  // kCorruption: it is empty, truncated or not an LMDB; kInvalidArgument: it has no records.
  static Result<LmdbReader> Open(const std::string& path);

  const std::string& path() const { return path_; }
  std::int64_t size() const { return static_cast<std::int64_t>(values_.size()); }

  // In the order of the keys. Valid as long as this object.
  // REQUIRES: 0 <= index < size().
  std::span<const std::byte> Value(std::int64_t index) const;
  // Walks the tree from its start for every call: for messages.
  Result<std::string> Key(std::int64_t index) const;

 private:
  explicit LmdbReader(std::string path) : path_(std::move(path)) {}
  Status OpenEnv(const std::string& file);
  Status IndexValues(std::int64_t file_bytes);

  std::string path_;
  internal::UniqueEnv env_;
  internal::UniqueTxn txn_;  // Keeps the values where they are.
  unsigned dbi_ = 0;
  std::vector<std::span<const std::byte>> values_;
};

// Belongs to one thread.
class LmdbWriter {
 public:
  // Begins a database that will be at `path`, a directory. kInvalidArgument: something is
  // there already.
  static Result<LmdbWriter> Create(const std::string& path);
  LmdbWriter(LmdbWriter&& other) noexcept;
  LmdbWriter& operator=(LmdbWriter&&) = delete;
  LmdbWriter(const LmdbWriter&) = delete;
  LmdbWriter& operator=(const LmdbWriter&) = delete;
  // Removes what was written, unless Finish was called.
  ~LmdbWriter();

  // kInvalidArgument: `key` is not above the one before it, empty or too long for LMDB.
  Status Put(std::string_view key, std::string value);

  // After OK, the database is at its path, also after a power cut.
  Status Finish();

 private:
  LmdbWriter(std::string path, std::string temporary)
      : path_(std::move(path)), temporary_(std::move(temporary)) {}
  Status CommitPending();
  // MDB_MAP_FULL and the like, as LMDB returns them.
  int PutPending();

  std::string path_;
  std::string temporary_;  // Where it is until Finish; empty: nothing to remove.
  internal::UniqueEnv env_;
  unsigned dbi_ = 0;
  std::size_t map_bytes_ = 0;
  std::string last_key_;
  // What the next transaction writes; kept until it has, because a map that turns out to be
  // too small means doing it again.
  std::vector<std::pair<std::string, std::string>> pending_;
  std::size_t pending_bytes_ = 0;
};

}  // namespace shoal::data
