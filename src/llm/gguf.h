// GGUF: the file in which language models come. Versions 2 and 3, little-endian:
//
//   "GGUF", version, number of tensors, number of keys,
//   keys with their values, then names, shapes and places of tensors, then the tensors' bytes.
//
// Parse is a pure function on bytes, usually those of a mapping; what it returns refers to them,
// so that a model of gigabytes costs a few hundred kilobytes beside its mapping. Whatever the bytes
// are, it does not read beyond them nor take more memory than a small multiple of them.
// Thread-safe: nothing changes after Parse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "llm/gguf_metadata.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace shoal::llm {

struct GgufTensor {
  std::string_view name;
  DType dtype = DType::kF32;
  // Outermost first, as everywhere in Shoal: a matrix is [rows, columns] = [out, in]. The file has
  // the reverse order (its ne[0] is the contiguous axis).
  Shape shape;
  std::span<const std::byte> bytes;  // Dense; aligned as the file says, to 8 bytes or more.
};

class GgufFile {
 public:
  // More of either is no model but an attempt to exhaust us: large models have 2,000 tensors.
  static constexpr std::uint64_t kTensorsMax = 1U << 16U;
  static constexpr std::uint64_t kKeysMax = 1U << 16U;
  static constexpr std::size_t kKeyBytesMax = 65535;  // So says the format.
  static constexpr std::size_t kNameBytesMax = 256;   // The format says 64; some exceed it.

  // `file` is a name for messages. kCorruption: the bytes are no GGUF file, cut off, or contradict
  // themselves; the message says which field and where. kInvalidArgument: a file that others read
  // and we do not (version 1, big-endian, a type of tensor that we do not have).
  static Result<GgufFile> Parse(std::string_view file, std::span<const std::byte> bytes);

  const std::string& name() const { return metadata_.file(); }
  std::uint32_t version() const { return version_; }
  const GgufMetadata& metadata() const { return metadata_; }
  // In the order of the file.
  std::span<const GgufTensor> tensors() const { return tensors_; }
  // Null if there is none.
  const GgufTensor* Find(std::string_view tensor) const;

 private:
  GgufFile() = default;

  Status IndexTensors();

  std::uint32_t version_ = 0;
  GgufMetadata metadata_;
  std::vector<GgufTensor> tensors_;
  std::vector<std::uint32_t> by_name_;  // Indices into tensors_, in the order of their names.
};

}  // namespace shoal::llm
