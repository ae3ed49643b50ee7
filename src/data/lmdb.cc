#include "data/lmdb.h"

#include <lmdb.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>

#include "data/files.h"

namespace shoal::data {
namespace internal {

void CloseEnv::operator()(MDB_env* env) const { mdb_env_close(env); }
void AbortTxn::operator()(MDB_txn* txn) const { mdb_txn_abort(txn); }

}  // namespace internal

namespace {

struct CloseCursor {
  void operator()(MDB_cursor* cursor) const { mdb_cursor_close(cursor); }
};
using UniqueCursor = std::unique_ptr<MDB_cursor, CloseCursor>;

Status LmdbError(int error, const std::string& path) {
  if (error > 0) return FileError(error, path);
  return Status(Code::kCorruption, std::string(mdb_strerror(error)) + ": " + path);
}

Result<UniqueCursor> OpenCursor(MDB_txn* txn, unsigned dbi, const std::string& path) {
  MDB_cursor* cursor = nullptr;
  if (const int error = mdb_cursor_open(txn, dbi, &cursor); error != 0) {
    return LmdbError(error, path);
  }
  return UniqueCursor(cursor);
}

// The file that holds the database: `path` itself, or data.mdb in it.
Result<std::string> FindDataFile(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return FileError(errno, path);
  return S_ISDIR(info.st_mode) ? path + "/data.mdb" : path;
}

}  // namespace

Result<LmdbReader> LmdbReader::Open(const std::string& path) {
  SHOAL_ASSIGN_OR_RETURN(const std::string file, FindDataFile(path));
  // LMDB reports an empty file as a missing one, and has no word for other kinds of files.
  SHOAL_ASSIGN_OR_RETURN(const InputFile input, InputFile::Open(file));
  if (input.size() == 0) return Status(Code::kCorruption, "empty file: " + file);
  LmdbReader reader(path);
  SHOAL_RETURN_IF_ERROR(reader.OpenEnv(file));
  SHOAL_RETURN_IF_ERROR(reader.IndexValues(input.size()));
  return reader;
}

Status LmdbReader::OpenEnv(const std::string& file) {
  MDB_env* env = nullptr;
  if (const int error = mdb_env_create(&env); error != 0) return LmdbError(error, file);
  env_.reset(env);
  if (const int error = mdb_env_open(env, file.c_str(), MDB_RDONLY | MDB_NOLOCK | MDB_NOSUBDIR, 0);
      error != 0) {
    return LmdbError(error, file);
  }
  return {};
}

Status LmdbReader::IndexValues(std::int64_t file_bytes) {
  MDB_envinfo info{};
  MDB_stat stat{};
  mdb_env_info(env_.get(), &info);
  mdb_env_stat(env_.get(), &stat);
  // Touching a mapped page that the file does not have kills the process.
  const auto pages = static_cast<std::int64_t>(info.me_last_pgno) + 1;
  if (pages > file_bytes / static_cast<std::int64_t>(stat.ms_psize)) {
    return Status(Code::kCorruption, "truncated: " + path_);
  }
  if (stat.ms_entries == 0) return Status(Code::kInvalidArgument, "no records: " + path_);
  MDB_txn* txn = nullptr;
  if (const int error = mdb_txn_begin(env_.get(), nullptr, MDB_RDONLY, &txn); error != 0) {
    return LmdbError(error, path_);
  }
  txn_.reset(txn);
  if (const int error = mdb_dbi_open(txn, nullptr, 0, &dbi_); error != 0) {
    return LmdbError(error, path_);
  }
  SHOAL_ASSIGN_OR_RETURN(const UniqueCursor cursor, OpenCursor(txn, dbi_, path_));
  MDB_val key{};
  MDB_val value{};
  int error = mdb_cursor_get(cursor.get(), &key, &value, MDB_FIRST);
  for (; error == 0; error = mdb_cursor_get(cursor.get(), &key, &value, MDB_NEXT)) {
    if (value.mv_size > static_cast<std::uint64_t>(file_bytes)) {
      return Status(Code::kCorruption, "a record larger than the file: " + path_);
    }
    values_.emplace_back(static_cast<const std::byte*>(value.mv_data), value.mv_size);
  }
  if (error != MDB_NOTFOUND) return LmdbError(error, path_);
  if (values_.empty()) return Status(Code::kInvalidArgument, "no records: " + path_);
  return {};
}

std::span<const std::byte> LmdbReader::Value(std::int64_t index) const {
  SHOAL_CHECK(index >= 0 && index < size());
  return values_[static_cast<std::size_t>(index)];
}

Result<std::string> LmdbReader::Key(std::int64_t index) const {
  // A transaction of its own: one may not be used from two threads.
  MDB_txn* txn = nullptr;
  if (const int error = mdb_txn_begin(env_.get(), nullptr, MDB_RDONLY, &txn); error != 0) {
    return LmdbError(error, path_);
  }
  const internal::UniqueTxn owned(txn);
  SHOAL_ASSIGN_OR_RETURN(const UniqueCursor cursor, OpenCursor(txn, dbi_, path_));
  MDB_val key{};
  int error = mdb_cursor_get(cursor.get(), &key, nullptr, MDB_FIRST);
  for (std::int64_t i = 0; error == 0 && i < index; ++i) {
    error = mdb_cursor_get(cursor.get(), &key, nullptr, MDB_NEXT);
  }
  if (error != 0) return LmdbError(error, path_);
  return std::string(static_cast<const char*>(key.mv_data), key.mv_size);
}

}  // namespace shoal::data
