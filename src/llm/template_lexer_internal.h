// A template's source as tokens: texts, and between {{ }} and {% %} names, literals and operators.
// White space is handled here as Hugging Face configures Jinja: a newline after a block tag and
// blanks before one at the beginning of a line are dropped, as are those that a dash asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace shoal::llm::internal {

enum class TokenKind : std::uint8_t {
  kText,        // Printed as it is.
  kPrintBegin,  // {{
  kPrintEnd,    // }}
  kBlockBegin,  // {%
  kBlockEnd,    // %}
  kName,
  kString,  // `text` is its value.
  kInteger,
  kFloat,
  kOperator,  // Also brackets and punctuation.
  kEnd,
};

struct TemplateToken {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  std::size_t offset = 0;  // In the source.
};

// "line 3, column 7: " and what is wrong there.
Status TemplateError(std::string_view source, std::size_t offset, std::string_view what);

// kInvalidArgument: a tag, comment or string does not end, or a character has no meaning. The last
// token is kEnd.
Result<std::vector<TemplateToken>> LexTemplate(std::string_view source);

}  // namespace shoal::llm::internal
