// ChatTemplate: from the messages of a chat to the prompt of a model, by the Jinja template that
// comes with the model.
//
//   SHOAL_ASSIGN_OR_RETURN(ChatTemplate chat, ChatTemplate::Parse(vocabulary.chat_template));
//   SHOAL_ASSIGN_OR_RETURN(ChatPrompt prompt, chat.Render(messages, {.bos_token = "<s>"}));
//   tokenizer.Encode(prompt.segments);
//
// A template is a program that somebody put on the internet: it can neither hang nor exhaust
// memory (limits of steps, text and depth), and it has no way to files, clock or network. A
// message is what anybody typed: whatever it contains, it does not become a special token, because
// each byte of the prompt knows whether the template or a message wrote it.
//
// What templates use of Jinja is there: set, for with loop.*, if, macro, break and continue,
// filters, tests, slices, string methods, namespace(). Inheritance, includes, {% call %} and
// recursive loops are not; the error says so, with line and column.
//
// An immutable value, cheap to copy; thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "llm/tokenizer.h"

namespace shoal::llm {

struct ChatMessage {
  std::string role;  // "system", "user", "assistant", "tool"
  std::string content;
  // Further fields as a JSON object (tool_calls, name, reasoning_content); empty if there are none.
  std::string fields = {};
};

struct ChatDate {
  int year = 0;
  int month = 1;
  int day = 1;
};

struct ChatOptions {
  // The prompt ends where the assistant's answer begins.
  bool add_generation_prompt = true;
  // For templates that know it (Qwen3): whether the model thinks first. Nothing: as the template
  // has it.
  std::optional<bool> enable_thinking = {};
  std::string bos_token = {};  // Texts of these tokens; templates write them.
  std::string eos_token = {};
  std::string tools = {};              // A JSON list, as in OpenAI's API; empty: none.
  std::string variables = {};          // A JSON object with more for the template.
  std::optional<ChatDate> today = {};  // For templates that tell the model the date.
};

struct ChatPrompt {
  std::vector<TextSegment> segments;

  // All of them, one after the other.
  std::string Text() const;
};

class ChatTemplate {
 public:
  // The longest published template has 30 kB.
  static constexpr std::size_t kSourceBytesMax = std::size_t{1} << 20;

  // kInvalidArgument: not a template, or one with parts that are not supported.
  static Result<ChatTemplate> Parse(std::string_view source);

  // kInvalidArgument: the template refuses such a chat (and says why), is wrong, or an option is
  // not JSON. kResourceExhausted: it goes beyond the limits.
  Result<ChatPrompt> Render(std::span<const ChatMessage> messages,
                            const ChatOptions& options) const;

  const std::string& source() const;

 private:
  struct Parsed;

  explicit ChatTemplate(std::shared_ptr<const Parsed> parsed) : parsed_(std::move(parsed)) {}

  std::shared_ptr<const Parsed> parsed_;
};

// The template for models that bring none: ChatML if the vocabulary has its tokens, else nothing.
std::optional<std::string_view> DefaultChatTemplate(const Vocabulary& vocabulary);

}  // namespace shoal::llm
