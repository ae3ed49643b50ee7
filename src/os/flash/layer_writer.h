// LayerWriter: a layer's file while its chunks come, over several runs of the program. Not
// thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"
#include "os/resumable_file.h"
#include "wire/control.h"

namespace shoal::os {

// How many of the layer's first chunks are in the file and right. kCancelled: `stop` was set.
Result<std::uint32_t> CountRightChunks(const std::string& path, const wire::pb::LayerFile& layer,
                                       const std::atomic<bool>& stop);

class LayerWriter {
 public:
  // Goes on with the file at `path`: what comes after its first right chunks is cut off.
  // REQUIRES: CheckLayerName(layer).
  static Result<LayerWriter> Open(const std::string& path, const wire::pb::LayerFile& layer,
                                  const std::atomic<bool>& stop);

  const wire::pb::LayerFile& layer() const { return layer_; }
  std::uint32_t chunks() const { return chunks_; }
  bool complete() const;
  std::uint64_t bytes_missing() const { return layer_.bytes() - file_.size(); }

  // The next chunk. kCorruption: it is not; kResourceExhausted: the disk is full; kUnavailable: it
  // cannot be written. After any failure the file has the chunks that it had.
  Status Append(std::uint32_t chunk, std::span<const std::byte> bytes);

  // Gives the file its name. After OK it is there after a power cut; after a failure nothing is
  // left of it. REQUIRES: complete(); the last call.
  Status MoveTo(const std::string& path);
  // REQUIRES: the last call.
  Status Remove() { return file_.Remove(); }

 private:
  LayerWriter(ResumableFile file, wire::pb::LayerFile layer, std::uint32_t chunks)
      : file_(std::move(file)), layer_(std::move(layer)), chunks_(chunks) {}

  ResumableFile file_;
  wire::pb::LayerFile layer_;
  std::uint32_t chunks_;  // In the file.
};

}  // namespace shoal::os
