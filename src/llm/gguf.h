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

#include "base/status.h"
#include "llm/gguf_metadata.h"
#include "llm/gguf_tensors.h"

namespace shoal::llm {

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
  std::span<const GgufTensor> tensors() const { return tensors_.all(); }
  // Null if there is none.
  const GgufTensor* Find(std::string_view tensor) const { return tensors_.Find(tensor); }

 private:
  GgufFile() = default;

  std::uint32_t version_ = 0;
  GgufMetadata metadata_;
  GgufTensors tensors_;
};

}  // namespace shoal::llm
