// From a template's source to its parts.
#pragma once

#include <string_view>

#include "base/status.h"
#include "llm/template_nodes_internal.h"

namespace shoal::llm::internal {

// Expressions and blocks nested deeper are refused: both are parsed and run by recursion.
inline constexpr int kMaxTemplateDepth = 48;

// kInvalidArgument, with line and column.
Result<Body> ParseTemplate(std::string_view source);

}  // namespace shoal::llm::internal
