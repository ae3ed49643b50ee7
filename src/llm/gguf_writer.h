// Makes the bytes of a GGUF file (version 3): its header, after which the tensors' bytes follow one
// after the other. The tensors themselves go past it, so that a file larger than memory can be
// written:
//
//   GgufWriter writer;
//   writer.SetString("general.architecture", "llama");
//   writer.AddTensor("output_norm.weight", DType::kF32, {288});
//   out << writer.Header() << tensor bytes << writer.Padding(0) zero bytes ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "llm/gguf.h"
#include "llm/gguf_metadata.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace shoal::llm {

class GgufWriter {
 public:
  static constexpr std::size_t kAlignment = 32;  // The format's default; no key says so.

  // REQUIRES, for all: the key is not there yet, and is not "general.alignment".
  void SetString(std::string_view key, std::string_view value);
  void SetUnsigned(std::string_view key, std::uint32_t value);
  void SetFloat(std::string_view key, float value);
  void SetBool(std::string_view key, bool value);
  void SetStrings(std::string_view key, std::span<const std::string_view> values);
  void SetFloats(std::string_view key, std::span<const float> values);
  void SetIntegers(std::string_view key, std::span<const std::int32_t> values);
  // As it is in another file.
  void Copy(const GgufEntry& entry);

  // REQUIRES: the name is not there yet; rows are whole blocks.
  void AddTensor(std::string_view name, DType dtype, const Shape& shape);

  // Everything before the first tensor's bytes.
  std::string Header() const;
  std::size_t TensorCount() const { return tensors_.size(); }
  // Bytes of tensor `i`, and how many zeros follow them.
  std::size_t TensorBytes(std::size_t i) const { return tensors_[i].bytes; }
  std::size_t Padding(std::size_t i) const;

 private:
  struct Tensor {
    std::string name;
    DType dtype;
    Shape shape;
    std::size_t bytes;
  };

  void BeginValue(std::string_view key, GgufType type);
  void BeginArray(std::string_view key, GgufType type, std::size_t count);

  std::vector<std::string> keys_;
  std::string values_;  // Keys with their values, as in the file.
  std::vector<Tensor> tensors_;
};

}  // namespace shoal::llm
