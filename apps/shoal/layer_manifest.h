// LayerManifest: which layers were made of which files of a model, in a file of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "wire/control.h"

namespace shoal {

struct SourceFile {
  std::string path;  // Absolute.
  std::uint64_t bytes = 0;
  std::int64_t changed = 0;  // Its time of change, in the file system's units.
  bool operator==(const SourceFile&) const = default;
};

struct LayerManifest {
  std::vector<SourceFile> sources;
  std::uint32_t packed_revision = 0;  // kernels::kPackedRevision
  std::string config;                 // llm::SerializeConfig
  // Made so far: the first ones.
  std::vector<wire::pb::LayerFile> layers;

  // Whether layers of `other` can be used as if they were this one's.
  bool HasSameOrigin(const LayerManifest& other) const {
    return sources == other.sources && packed_revision == other.packed_revision &&
           config == other.config;
  }
};

// What the files are now.
Result<std::vector<SourceFile>> DescribeSources(const std::vector<std::string>& paths);

// JSON; names and hashes in hexadecimal digits.
std::string SerializeManifest(const LayerManifest& manifest);
// Nothing: it is not a manifest, or its layers cannot be true.
std::optional<LayerManifest> ParseManifest(const std::string& text);

}  // namespace shoal
