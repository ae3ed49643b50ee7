// The tokenizer of a model on disk.
#pragma once

#include <string>

#include "base/status.h"
#include "llm/tokenizer.h"

namespace shoal {

// `model` is a GGUF file, or a folder with tokenizer.json and perhaps tokenizer_config.json.
Result<llm::Tokenizer> OpenTokenizer(const std::string& model);

}  // namespace shoal
