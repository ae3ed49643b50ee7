// One safetensors file: the header that says where tensors are, checked, so that nothing it leads
// to lies outside the file.
//
//   u64 length of the header, the header (JSON: name to {dtype, shape, data_offsets}), the data
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace shoal::llm {

// A header of 100 bytes a tensor has room for 300,000 of them; files of large models are cut into
// parts of some thousand.
inline constexpr std::size_t kMaxSafetensorsHeader = std::size_t{32} << 20U;

struct SafetensorsTensor {
  std::string name;
  // As the file calls it: "F16". Types that we have no use for (I64, BOOL) are read too, because
  // files have such tensors beside those that are needed.
  std::string_view type;
  std::optional<DType> dtype;        // F32, F16, BF16, I8 or I32; none for other types.
  Shape shape;                       // Outermost first, as in the file.
  std::span<const std::byte> bytes;  // Dense; need not be aligned.
};

class SafetensorsFile {
 public:
  // `name` is for messages; `bytes` must outlive the result. kCorruption: the file is cut off, its
  // header is not JSON or not of this kind, or a tensor is outside the file, overlaps another or
  // has bytes for another shape; the message names file and tensor. kInvalidArgument: a type that
  // we do not know.
  static Result<SafetensorsFile> Parse(std::string name, std::span<const std::byte> bytes);

  const std::string& name() const { return name_; }
  // Sorted by name.
  std::span<const SafetensorsTensor> tensors() const { return tensors_; }

 private:
  std::string name_;
  std::vector<SafetensorsTensor> tensors_;
};

// The files that model.safetensors.index.json speaks of: plain names, sorted, each once.
// kInvalidArgument: it is no such index, or a name would lead out of the folder.
Result<std::vector<std::string>> ReadSafetensorsIndex(std::string_view file, std::string_view text);

}  // namespace shoal::llm
