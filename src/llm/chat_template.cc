#include "llm/chat_template.h"

#include <algorithm>
#include <utility>

#include "llm/template_interpreter_internal.h"
#include "llm/template_parser_internal.h"
#include "llm/utf8.h"

namespace shoal::llm {
namespace {

using internal::Dict;
using internal::List;
using internal::TemplateHeap;
using internal::TemplateText;
using internal::Value;
using Variables = std::vector<std::pair<std::string, Value>>;

// A JSON text that a caller gave us. `what` is for the message.
Result<Value> ReadJson(std::string_view what, const std::string& text, TemplateHeap& heap) {
  const auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    return Status(Code::kInvalidArgument, std::string(what) + " are not valid JSON");
  }
  return internal::FromJson(json, heap);
}

Value UserText(const std::string& text) {
  return MarkedString(ReplaceInvalidUtf8(text), Origin::kUser);
}

Result<Value> MessageValue(const ChatMessage& message, TemplateHeap& heap) {
  Dict* dict = heap.NewDict();
  dict->Set(TemplateText("role"), UserText(message.role));
  dict->Set(TemplateText("content"), UserText(message.content));
  if (message.fields.empty()) return Value(dict);
  SHOAL_ASSIGN_OR_RETURN(const Value fields, ReadJson("a message's fields", message.fields, heap));
  if (fields.AsDict() == nullptr) {
    return Status(Code::kInvalidArgument, "a message's fields are not a JSON object");
  }
  for (const auto& [key, value] : fields.AsDict()->entries) dict->Set(key, value);
  return Value(dict);
}

Status AddExtras(const ChatOptions& options, TemplateHeap& heap, Variables& variables) {
  if (options.enable_thinking) {
    variables.emplace_back("enable_thinking", Value(*options.enable_thinking));
  }
  if (!options.tools.empty()) {
    SHOAL_ASSIGN_OR_RETURN(Value tools, ReadJson("the tools", options.tools, heap));
    variables.emplace_back("tools", std::move(tools));
  }
  if (options.variables.empty()) return Status();
  SHOAL_ASSIGN_OR_RETURN(const Value more, ReadJson("the variables", options.variables, heap));
  if (more.AsDict() == nullptr) {
    return Status(Code::kInvalidArgument, "the variables are not a JSON object");
  }
  for (const auto& [key, value] : more.AsDict()->entries) {
    const std::string& name = key.String()->text();
    std::erase_if(variables, [&](const auto& variable) { return variable.first == name; });
    variables.emplace_back(name, value);
  }
  return Status();
}

// Neighbouring bytes of one origin become one segment.
ChatPrompt Segments(const MarkedString& text) {
  ChatPrompt prompt;
  for (std::size_t begin = 0; begin < text.size();) {
    const Origin origin = text.OriginAt(begin);
    std::size_t end = begin;
    while (end < text.size() && text.OriginAt(end) == origin) ++end;
    prompt.segments.push_back(
        {.text = text.text().substr(begin, end - begin),
         .special = origin == Origin::kTemplate ? SpecialTokens::kParse : SpecialTokens::kAsText});
    begin = end;
  }
  return prompt;
}

constexpr std::string_view kChatMl =
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + "
    "'<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

}  // namespace

struct ChatTemplate::Parsed {
  std::string source;
  internal::Body body;
};

std::string ChatPrompt::Text() const {
  std::string text;
  for (const TextSegment& segment : segments) text += segment.text;
  return text;
}

Result<ChatTemplate> ChatTemplate::Parse(std::string_view source) {
  const auto parse = [&]() -> Result<ChatTemplate> {
    if (source.size() > kSourceBytesMax) {
      return Status(Code::kInvalidArgument,
                    "larger than " + std::to_string(kSourceBytesMax >> 10) + " KiB");
    }
    auto parsed = std::make_shared<Parsed>();
    parsed->source = ReplaceInvalidUtf8(source);
    SHOAL_ASSIGN_OR_RETURN(parsed->body, internal::ParseTemplate(parsed->source));
    return ChatTemplate(std::move(parsed));
  };
  Result<ChatTemplate> result = parse();
  if (!result.ok()) return std::move(result).status().Annotate("chat template");
  return result;
}

Result<ChatPrompt> ChatTemplate::Render(std::span<const ChatMessage> messages,
                                        const ChatOptions& options) const {
  internal::TemplateRuntime runtime({});
  if (options.today) {
    runtime.today = internal::CalendarDate{
        .year = options.today->year, .month = options.today->month, .day = options.today->day};
  }
  List* list = runtime.heap().NewList();
  for (const ChatMessage& message : messages) {
    SHOAL_ASSIGN_OR_RETURN(Value value, MessageValue(message, runtime.heap()));
    list->items.push_back(std::move(value));
  }
  Variables variables = {{"messages", Value(list)},
                         {"add_generation_prompt", Value(options.add_generation_prompt)},
                         {"bos_token", TemplateText(options.bos_token)},
                         {"eos_token", TemplateText(options.eos_token)}};
  SHOAL_RETURN_IF_ERROR(AddExtras(options, runtime.heap(), variables));
  auto text = internal::RunTemplate(parsed_->source, parsed_->body, runtime, std::move(variables));
  if (!text.ok()) return std::move(text).status().Annotate("chat template");
  return Segments(*text);
}

const std::string& ChatTemplate::source() const { return parsed_->source; }

std::optional<std::string_view> DefaultChatTemplate(const Vocabulary& vocabulary) {
  const auto has = [&](std::string_view token) {
    const auto end = vocabulary.tokens.end();
    return std::find(vocabulary.tokens.begin(), end, token) != end;
  };
  if (has("<|im_start|>") && has("<|im_end|>")) return kChatMl;
  return std::nullopt;
}

}  // namespace shoal::llm
