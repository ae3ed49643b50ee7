// Runs a parsed template.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "llm/marked_string.h"
#include "llm/template_nodes_internal.h"
#include "llm/template_runtime_internal.h"

namespace shoal::llm::internal {

// What `body`, parsed from `source`, prints with these variables. kInvalidArgument: the template
// is wrong or refuses; kResourceExhausted: beyond its limits; with line and column. `variables`
// live in the heap of `runtime`.
Result<MarkedString> RunTemplate(std::string_view source, const Body& body,
                                 TemplateRuntime& runtime,
                                 std::vector<std::pair<std::string, Value>> variables);

}  // namespace shoal::llm::internal
