// Models to measure with: TinyLlama's shape, random weights. Speed does not depend on what weights
// say, and files of this size are nothing to download for a benchmark.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace shoal::bench {

// The path of a GGUF file in `folder` whose weights have the types of `mixture` ("Q4_K_M"); it is
// made unless it is there.
Result<std::string> TinyLlamaFile(const std::string& folder, std::string_view mixture);

}  // namespace shoal::bench
