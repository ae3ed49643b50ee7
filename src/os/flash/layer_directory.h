// LayerDirectory: layers as files on flash, for one process at a time.
//
//   DIR/layers/<64 hexadecimal digits>.layer  whole: every chunk was right when it was written
//   DIR/layers/<64 hexadecimal digits>.part   the first chunks of one, until it is whole
//   DIR/layers/new.part                       one that has no name yet, because it is being made
//   DIR/quota                                 bytes that layers may have; no file: what fits
//   DIR/lock                                  locked by the process that uses the directory
//
// Whatever else is there is left alone. A file's time of change is when its layer was used last.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "os/unique_fd.h"

namespace shoal::os {

// A layer that is whole, or the part of one.
struct StoredLayer {
  std::string name;  // 32 bytes; see layer_name.h.
  bool whole = false;
  std::uint64_t bytes = 0;
  std::filesystem::file_time_type used;
};

struct LayerUsage {
  std::vector<StoredLayer> layers;  // Those used longest ago first.
  std::uint64_t bytes = 0;          // Of all.
  std::optional<std::uint64_t> quota;
};

// What is in a directory, whoever uses it; nothing if there is none.
Result<LayerUsage> ReadLayerUsage(const std::string& path);

// Thread-compatible.
class LayerDirectory {
 public:
  // So much of the disk is left to others: a phone whose flash is full misbehaves.
  static constexpr std::uint64_t kKeptFree = std::uint64_t{64} << 20U;

  // Makes it if it is not there. kUnavailable: another process uses it, or it cannot be written.
  static Result<LayerDirectory> Open(const std::string& path);

  const std::string& path() const { return path_; }
  std::string WholePath(const std::string& name) const;
  std::string PartPath(const std::string& name) const;
  std::string NewPath() const;

  Result<LayerUsage> Usage() const { return ReadLayerUsage(path_); }
  // Nothing: what fits on the disk. What is there already stays.
  Status SetQuota(std::optional<std::uint64_t> bytes);

  // Sees to it that so many bytes may be added, and fit: removes layers and parts that are not
  // `needed`, those used longest ago first, and returns their names. kResourceExhausted: that is
  // not enough; nothing was removed, and the message says how much is missing.
  Result<std::vector<std::string>> MakeRoom(
      std::uint64_t bytes, const std::function<bool(const std::string& name)>& needed);

  // Whole or in part. OK, too, if there is none.
  Status Remove(const std::string& name);
  // It is being used now.
  void Touch(const std::string& name) const;

 private:
  LayerDirectory(std::string path, UniqueFd lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  UniqueFd lock_;  // Closing it unlocks.
};

}  // namespace shoal::os
