// A model in one GGUF file or in several: large ones come in parts named
// "name-00001-of-00003.gguf", of which the first has the metadata.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "llm/gguf.h"
#include "llm/gguf_metadata.h"
#include "llm/gguf_tensors.h"

namespace shoal::llm {

// Every part of the model of which `path` is one, in order; just `path` if its name is not that of
// a part. kInvalidArgument: a name such as "-00004-of-00003.gguf".
Result<std::vector<std::string>> GgufPartPaths(const std::string& path);

// Refers to the mappings of its files, as they do. Thread-safe: nothing changes after Make.
class GgufModel {
 public:
  // `parts`: all of them, in order. kInvalidArgument: they are not. kCorruption: a tensor is in two
  // parts, or tensors are missing.
  static Result<GgufModel> Make(std::vector<GgufFile> parts);

  // The first part's name, for messages.
  const std::string& name() const { return metadata_.file(); }
  const GgufMetadata& metadata() const { return metadata_; }
  std::span<const GgufTensor> tensors() const { return tensors_.all(); }
  // Null if there is none.
  const GgufTensor* Find(std::string_view tensor) const { return tensors_.Find(tensor); }
  // kNotFound: there is none; the message names the file and the tensor.
  Result<const GgufTensor*> Get(std::string_view tensor) const;

 private:
  GgufMetadata metadata_;
  GgufTensors tensors_;
};

}  // namespace shoal::llm
