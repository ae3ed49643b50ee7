// LayerStore: the layers that a node or the head keeps, as they are used in memory. On flash in
// os/, in memory in sim/.
//
// Belongs to one event loop: calls are made on it, and callbacks come on it, never inside a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_function.h"
#include "wire/control.h"

namespace shoal::pipeline {

// The bytes of a whole layer's file; they stay for as long as somebody holds them, also if the
// store forgets the layer.
class LayerBytes {
 public:
  virtual ~LayerBytes() = default;
  virtual std::span<const std::byte> bytes() const = 0;
};

class LayerStore {
 public:
  virtual ~LayerStore() = default;

  // Null: it is not here, or not whole, or must be opened once before it is used. `sha256`: the
  // layer's name (wire/piece.h).
  virtual std::shared_ptr<const LayerBytes> Find(const std::string& sha256) = 0;
  // The names of those that are whole.
  virtual std::vector<std::string> Whole() const = 0;

  // Begins or goes on with a layer: `done` gets how many of its first chunks are here and right. If
  // that is all of them, Find finds the layer, ready to compute with: one that was not opened may
  // have to come from flash at every use.
  // kResourceExhausted: no room for the rest; the message says how much is missing.
  virtual void Open(const wire::pb::LayerFile& layer,
                    UniqueFunction<void(Result<std::uint32_t>)> done) = 0;
  // The next chunk. kCorruption: it is not what its SHA-256 says; nothing has changed.
  // kResourceExhausted, kUnavailable: it cannot be written. After the last one, Find finds the
  // layer. REQUIRES: opened; one at a time.
  virtual void Append(const wire::pb::LayerFile& layer, std::uint32_t chunk,
                      std::vector<std::byte> bytes, UniqueFunction<void(Status)> done) = 0;
};

// How many chunks a layer of so many bytes has, and how large one of them is.
std::uint32_t ChunkCount(std::uint64_t bytes);
std::size_t ChunkSize(std::uint64_t bytes, std::uint32_t chunk);

// Whether the fields of a layer that somebody sent belong together.
Status CheckLayerFile(const wire::pb::LayerFile& layer);
// Far above any layer of any model that phones hold.
inline constexpr std::uint64_t kLayerBytesMax = std::uint64_t{4} << 30U;

}  // namespace shoal::pipeline
