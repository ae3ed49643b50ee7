#include <lmdb.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "data/files.h"
#include "data/lmdb.h"

namespace shoal::data {
namespace {

// A transaction keeps its dirty pages in memory: this bounds them, and is long enough that
// starting one costs nothing.
constexpr std::size_t kPendingBytesMax = std::size_t{16} << 20U;
constexpr std::size_t kPendingRecordsMax = 8192;
constexpr std::size_t kFirstMapBytes = std::size_t{64} << 20U;
// LMDB's own limit as Debian builds it.
constexpr std::size_t kKeyBytesMax = 511;

Status LmdbError(int error, const std::string& path) {
  if (error > 0) return FileError(error, path);
  return Status(Code::kUnavailable, std::string(mdb_strerror(error)) + ": " + path);
}

MDB_val View(const std::string& bytes) {
  // LMDB does not write to what it is given.
  return {bytes.size(), const_cast<char*>(bytes.data())};
}

}  // namespace

Result<LmdbWriter> LmdbWriter::Create(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    return Status(Code::kInvalidArgument, "already exists: " + path);
  }
  std::string temporary = path + ".tmpXXXXXX";
  if (::mkdtemp(temporary.data()) == nullptr) return FileError(errno, path);
  LmdbWriter writer(path, temporary);
  if (::chmod(temporary.c_str(), 0755) != 0) return FileError(errno, path);
  MDB_env* env = nullptr;
  if (const int error = mdb_env_create(&env); error != 0) return LmdbError(error, path);
  writer.env_.reset(env);
  writer.map_bytes_ = kFirstMapBytes;
  mdb_env_set_mapsize(env, writer.map_bytes_);
  // NOSYNC: Finish writes everything through, before the database gets its name.
  if (const int error =
          mdb_env_open(env, temporary.c_str(), MDB_NOLOCK | MDB_NOSYNC | MDB_NOMEMINIT, 0644);
      error != 0) {
    return LmdbError(error, path);
  }
  return writer;
}

LmdbWriter::LmdbWriter(LmdbWriter&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      env_(std::move(other.env_)),
      dbi_(other.dbi_),
      map_bytes_(other.map_bytes_),
      last_key_(std::move(other.last_key_)),
      pending_(std::move(other.pending_)),
      pending_bytes_(other.pending_bytes_) {}

LmdbWriter::~LmdbWriter() {
  env_.reset();
  if (temporary_.empty()) return;
  std::error_code ignored;  // What cannot be removed stays under a name that says what it is.
  std::filesystem::remove_all(temporary_, ignored);
}

Status LmdbWriter::Put(std::string_view key, std::string value) {
  if (key.empty() || key.size() > kKeyBytesMax) {
    return Status(Code::kInvalidArgument, "a key of " + std::to_string(key.size()) +
                                              " bytes (1 to 511 are possible): " + path_);
  }
  if (key <= last_key_) {
    return Status(Code::kInvalidArgument,
                  "key \"" + std::string(key) + "\" after \"" + last_key_ + "\": " + path_);
  }
  last_key_ = key;
  pending_bytes_ += key.size() + value.size();
  pending_.emplace_back(std::string(key), std::move(value));
  if (pending_bytes_ < kPendingBytesMax && pending_.size() < kPendingRecordsMax) return {};
  return CommitPending();
}

int LmdbWriter::PutPending() {
  MDB_txn* txn = nullptr;
  if (const int error = mdb_txn_begin(env_.get(), nullptr, 0, &txn); error != 0) return error;
  internal::UniqueTxn owned(txn);
  if (const int error = mdb_dbi_open(txn, nullptr, 0, &dbi_); error != 0) return error;
  for (const auto& [key, value] : pending_) {
    MDB_val key_view = View(key);
    MDB_val value_view = View(value);
    // APPEND fills the pages to the end.
    if (const int error = mdb_put(txn, dbi_, &key_view, &value_view, MDB_APPEND); error != 0) {
      return error;
    }
  }
  return mdb_txn_commit(owned.release());  // Frees it, whatever comes out.
}

Status LmdbWriter::CommitPending() {
  int error = PutPending();
  while (error == MDB_MAP_FULL) {
    map_bytes_ *= 2;
    error = mdb_env_set_mapsize(env_.get(), map_bytes_);
    if (error == 0) error = PutPending();
  }
  if (error != 0) return LmdbError(error, path_);
  pending_.clear();
  pending_bytes_ = 0;
  return {};
}

Status LmdbWriter::Finish() {
  SHOAL_RETURN_IF_ERROR(CommitPending());
  if (const int error = mdb_env_sync(env_.get(), 1); error != 0) return LmdbError(error, path_);
  env_.reset();
  SHOAL_RETURN_IF_ERROR(SyncDirectory(temporary_));
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return FileError(errno, path_);
  temporary_.clear();
  const std::string parent = std::filesystem::path(path_).parent_path().string();
  return SyncDirectory(parent.empty() ? "." : parent);
}

}  // namespace shoal::data
