// ModelWeights: the tensors of a model by the names that GGUF files have for them, whatever files
// they come from.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "llm/gguf_model.h"
#include "llm/int4_matrix.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace shoal::llm {

struct WeightTensor {
  // Of an `int4` tensor: what it becomes when it is loaded.
  DType dtype = DType::kF32;
  Shape shape;                       // Outermost first: a matrix is [out, in].
  std::span<const std::byte> bytes;  // Dense; need not be aligned. Empty if `int4` has them.
  std::optional<Int4Matrix> int4 = std::nullopt;
};

// Has its own names, and refers to the bytes of files as their mappings do. Tensors stay where they
// are when it is moved.
class ModelWeights {
 public:
  using Tensors = std::map<std::string, WeightTensor, std::less<>>;

  ModelWeights() = default;
  // `name` is that of the files, for messages.
  explicit ModelWeights(std::string name) : name_(std::move(name)) {}

  // kCorruption: there is one of this name.
  Status Add(std::string tensor, WeightTensor weights);

  // `done` is called with bytes of tensors that were copied and are not needed any more, so that a
  // model is not in memory twice. They may be asked for again.
  void OnCopied(std::function<void(std::span<const std::byte>)> done) { done_ = std::move(done); }
  void Copied(std::span<const std::byte> bytes) const {
    if (done_) done_(bytes);
  }

  const std::string& name() const { return name_; }
  const Tensors& tensors() const { return tensors_; }
  // Null if there is none.
  const WeightTensor* Find(std::string_view tensor) const;
  // kNotFound: there is none; the message names the file and the tensor.
  Result<const WeightTensor*> Get(std::string_view tensor) const;

 private:
  std::string name_;
  Tensors tensors_;
  std::function<void(std::span<const std::byte>)> done_;
};

// Those of a GGUF model; the model itself is not needed any more, only its mappings.
ModelWeights WeightsOf(const GgufModel& model);

}  // namespace shoal::llm
