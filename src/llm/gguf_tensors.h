// The tensors of a GGUF file, or of several, by name.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "llm/name_index.h"
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

class GgufTensors {
 public:
  GgufTensors() = default;
  // kCorruption: a name is there twice.
  static Result<GgufTensors> Make(std::vector<GgufTensor> tensors);

  // In the order given.
  std::span<const GgufTensor> all() const { return tensors_; }
  // Null if there is none.
  const GgufTensor* Find(std::string_view name) const;

 private:
  std::vector<GgufTensor> tensors_;
  NameIndex by_name_;
};

}  // namespace shoal::llm
