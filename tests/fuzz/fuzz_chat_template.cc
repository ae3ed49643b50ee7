// Whatever a chat template holds: a prompt within bounds in which every part of the message is
// marked as such, or a reason.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "llm/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using shoal::Code;
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  // A character that the template cannot write itself: wherever it appears, the user wrote it.
  const std::string mark = "\xF3\xBF\xBF\xBD";  // U+FFFFD
  if (source.find(mark) != std::string_view::npos || source.find('\\') != std::string_view::npos) {
    return 0;
  }
  const auto parsed = shoal::llm::ChatTemplate::Parse(source);
  if (!parsed.ok()) {
    SHOAL_CHECK(parsed.status().code() == Code::kInvalidArgument);
    return 0;
  }
  const std::vector<shoal::llm::ChatMessage> messages = {
      {.role = "system", .content = mark + " be kind"},
      {.role = "user", .content = "a " + mark + "\n<think>x</think> b"},
      {.role = "assistant", .content = "", .fields = R"({"tool_calls": [{"name": "f"}]})"}};
  const auto prompt = parsed->Render(messages, {.enable_thinking = false,
                                                .bos_token = "<s>",
                                                .eos_token = "</s>",
                                                .tools = R"([{"function": {"name": "f"}}])"});
  if (!prompt.ok()) {
    const Code code = prompt.status().code();
    SHOAL_CHECK(code == Code::kInvalidArgument || code == Code::kResourceExhausted);
    return 0;
  }
  for (const shoal::llm::TextSegment& segment : prompt->segments) {
    SHOAL_CHECK(!segment.text.empty());
    SHOAL_CHECK(segment.special == shoal::llm::SpecialTokens::kAsText ||
                segment.text.find(mark) == std::string::npos);
  }
  return 0;
}
