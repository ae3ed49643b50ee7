// The tokenizer of a model on disk.
#pragma once

#include <string>

#include "base/status.h"
#include "llm/tokenizer.h"

namespace shoal {

// `model` is a GGUF file; a file tokenizer.json or tokenizer.model; or a folder with one of these
// (the former if both are there), or a model's file in it. tokenizer_config.json beside it counts.
Result<llm::Tokenizer> OpenTokenizer(const std::string& model);

}  // namespace shoal
