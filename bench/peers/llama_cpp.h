// llama.cpp through its C interface, loaded at run time from a folder of its libraries: a build of
// its own (build/bin), or what npm's node-llama-cpp brings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"

namespace shoal::bench {

// One model with one sequence.
class LlamaCpp {
 public:
  virtual ~LlamaCpp() = default;

  // Forgets all tokens.
  virtual void Clear() = 0;
  virtual void SetThreads(std::size_t threads) = 0;
  // Adds tokens; the logits after the last of them, good until the next call.
  virtual std::span<const float> Feed(std::span<const std::int32_t> tokens) = 0;
  // The same with the logits after each token: [tokens.size(), vocabulary].
  virtual std::span<const float> FeedAll(std::span<const std::int32_t> tokens) = 0;
};

// kNotFound: `folder` has no libllama. kUnavailable: it cannot be loaded, or is not the llama.cpp
// that we know; or the model is none to it.
Result<std::unique_ptr<LlamaCpp>> LoadLlamaCpp(const std::string& folder, const std::string& model,
                                               std::size_t context);

// Makes a file of another type (llama.cpp's number of it, "general.file_type"), also of one that is
// quantised already.
Status QuantizeByLlamaCpp(const std::string& folder, const std::string& from, const std::string& to,
                          std::int32_t file_type);

}  // namespace shoal::bench
