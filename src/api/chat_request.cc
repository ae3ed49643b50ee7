#include "api/chat_request.h"

#include <charconv>
#include <limits>
#include <utility>

#include "api/json_internal.h"

namespace shoal::api {
namespace {

constexpr std::int64_t kTokensMax = std::int64_t{1} << 31;

// One part of a message's content, or the content itself: its text. Null: it is not text.
const std::string* TextOf(const Parsed& part) {
  if (part.is_string()) return part.get_ptr<const std::string*>();
  if (!part.is_object()) return nullptr;
  const auto type = part.find("type");
  const auto text = part.find("text");
  if (type == part.end() || *type != "text" || text == part.end()) return nullptr;
  return text->get_ptr<const std::string*>();
}

void ReadMessage(const Parsed& json, const std::string& name, Fields& fields,
                 llm::ChatMessage& message) {
  if (!json.is_object()) return fields.Fail(name, "must be an object");
  const auto role = json.find("role");
  if (role == json.end() || !role->is_string()) {
    return fields.Fail(name + ".role", "must be a string");
  }
  message.role = role->get<std::string>();
  if (message.role == "developer") message.role = "system";  // What it is called elsewhere.
  if (message.role != "system" && message.role != "user" && message.role != "assistant" &&
      message.role != "tool") {
    return fields.Fail(name + ".role", "must be system, developer, user, assistant or tool");
  }
  const auto content = json.find("content");
  if (content == json.end() || content->is_null()) {
    if (message.role != "assistant") fields.Fail(name + ".content", "is missing");
    return;
  }
  const Parsed parts = content->is_array() ? *content : Parsed::array({*content});
  for (const Parsed& part : parts) {
    const std::string* text = TextOf(part);
    if (text == nullptr) {
      return fields.Fail(name + ".content", "must be a string or a list of parts of type text");
    }
    message.content += *text;
  }
}

void ReadMessages(Fields& fields, CompletionRequest& request) {
  const Parsed* list = fields.Find("messages");
  if (list == nullptr || !list->is_array() || list->empty()) {
    return fields.Fail("messages", "must be a list of messages, with at least one");
  }
  if (list->size() > kMessagesMax) {
    return fields.Fail("messages", "has more than " + std::to_string(kMessagesMax) + " messages");
  }
  std::size_t bytes = 0;
  for (const Parsed& json : *list) {
    const std::string name = "messages[" + std::to_string(request.messages.size()) + "]";
    ReadMessage(json, name, fields, request.messages.emplace_back());
    if (fields.error()) return;
    bytes += request.messages.back().content.size();
  }
  if (bytes > kPromptBytesMax) fields.Fail("messages", "together have more than 1 MiB");
}

void ReadPromptTokens(const Parsed& list, Fields& fields, CompletionRequest& request) {
  for (const Parsed& token : list) {
    const auto* number = token.get_ptr<const Parsed::number_unsigned_t*>();
    if (number == nullptr || *number > std::numeric_limits<llm::TokenId>::max()) {
      return fields.Fail("prompt", "must be a string or a list of token ids");
    }
    request.prompt_tokens.push_back(static_cast<llm::TokenId>(*number));
  }
}

void ReadPrompt(Fields& fields, CompletionRequest& request) {
  const Parsed* prompt = fields.Find("prompt");
  if (prompt == nullptr) return fields.Fail("prompt", "is missing");
  if (prompt->is_array() && !prompt->empty() && !prompt->front().is_number()) {
    if (prompt->size() > 1) return fields.Fail("prompt", "one prompt a request, please");
    prompt = &prompt->front();
  }
  if (prompt->is_array()) {
    if (prompt->empty()) return fields.Fail("prompt", "has no tokens");
    return ReadPromptTokens(*prompt, fields, request);
  }
  if (!prompt->is_string()) {
    return fields.Fail("prompt", "must be a string or a list of token ids");
  }
  request.prompt = prompt->get<std::string>();
  if (request.prompt.size() > kPromptBytesMax) fields.Fail("prompt", "has more than 1 MiB");
}

void ReadStop(Fields& fields, CompletionRequest& request) {
  const Parsed* stop = fields.Find("stop");
  if (stop == nullptr) return;
  const Parsed list = stop->is_array() ? *stop : Parsed::array({*stop});
  if (list.size() > kStopStringsMax) return fields.Fail("stop", "has more than 4 strings");
  for (const Parsed& text : list) {
    if (!text.is_string()) return fields.Fail("stop", "must be a string or a list of strings");
    request.stop.push_back(text.get<std::string>());
    if (request.stop.back().size() > kStopBytesMax) {
      return fields.Fail("stop", "has a string of more than 1024 bytes");
    }
  }
}

void ReadLogitBias(Fields& fields, llm::SamplingOptions& sampling) {
  const Parsed* map = fields.Find("logit_bias");
  if (map == nullptr) return;
  if (!map->is_object()) return fields.Fail("logit_bias", "must be an object");
  if (map->size() > kLogitBiasMax) return fields.Fail("logit_bias", "has more than 1024 tokens");
  for (const auto& [key, bias] : map->items()) {
    llm::TokenId token = 0;
    const char* end = key.data() + key.size();
    const auto read = std::from_chars(key.data(), end, token);
    if (read.ec != std::errc() || read.ptr != end || token < 0) {
      return fields.Fail("logit_bias", "\"" + key + "\" is not a token id");
    }
    const double value = bias.is_number() ? bias.get<double>() : 1000;
    if (!(value >= -100 && value <= 100)) {
      return fields.Fail("logit_bias", "each bias must be a number from -100 to 100");
    }
    sampling.logit_bias.emplace_back(token, static_cast<float>(value));
  }
}

// OpenAI's defaults, which are not ours.
void ReadSampling(Fields& fields, CompletionRequest& request) {
  llm::SamplingOptions& sampling = request.sampling;
  sampling.temperature = 1;
  sampling.top_p = 1;
  sampling.top_k = 0;
  sampling.min_p = 0;
  fields.Read("temperature", sampling.temperature, 0, 2);
  fields.Read("top_p", sampling.top_p, 0, 1);
  fields.Read("min_p", sampling.min_p, 0, 1);
  // Others write -1 for "all".
  if (const auto k = fields.ReadInteger("top_k", -1, kTokensMax)) {
    sampling.top_k = *k > 0 ? static_cast<std::size_t>(*k) : 0;
  }
  fields.Read("presence_penalty", sampling.presence_penalty, -2, 2);
  fields.Read("frequency_penalty", sampling.frequency_penalty, -2, 2);
  fields.Read("repetition_penalty", sampling.repetition_penalty, 0.01F, 100);
  ReadLogitBias(fields, sampling);
  const auto seed = fields.ReadInteger("seed", std::numeric_limits<std::int64_t>::min(),
                                       std::numeric_limits<std::int64_t>::max());
  if (seed) request.seed = static_cast<std::uint64_t>(*seed);
}

void ReadLogprobs(Fields& fields, CompletionRequest& request) {
  if (request.kind == AnswerKind::kCompletion) {
    const auto count = fields.ReadInteger("logprobs", 0, 5);
    request.logprobs = count.has_value();
    request.sampling.top_logprobs = static_cast<std::size_t>(count.value_or(0));
    return;
  }
  fields.Read("logprobs", request.logprobs);
  if (const auto count = fields.ReadInteger("top_logprobs", 0, 20)) {
    if (*count > 0 && !request.logprobs) fields.Fail("top_logprobs", "needs logprobs to be true");
    request.sampling.top_logprobs = static_cast<std::size_t>(*count);
  }
}

void ReadLength(Fields& fields, CompletionRequest& request) {
  for (const char* name : {"max_tokens", "max_completion_tokens"}) {
    if (const auto count = fields.ReadInteger(name, 1, kTokensMax)) {
      request.tokens_max = static_cast<std::size_t>(*count);
    }
  }
}

void ReadStreaming(Fields& fields, CompletionRequest& request) {
  fields.Read("stream", request.stream);
  const Parsed* options = fields.Find("stream_options");
  if (options == nullptr) return;
  if (!options->is_object()) return fields.Fail("stream_options", "must be an object");
  const auto usage = options->find("include_usage");
  if (usage == options->end()) return;
  if (!usage->is_boolean()) {
    return fields.Fail("stream_options.include_usage", "must be true or false");
  }
  request.include_usage = usage->get<bool>();
}

// What would make the answer another one than the client expects.
void RefuseTheUnsupported(Fields& fields) {
  for (const char* name : {"n", "best_of"}) {
    if (const Parsed* count = fields.Find(name); count != nullptr && *count != 1) {
      fields.Fail(name, "must be 1: there is one answer to a request");
    }
  }
  for (const char* name : {"tools", "functions"}) {
    const Parsed* tools = fields.Find(name);
    if (tools != nullptr && !tools->empty()) fields.Fail(name, "is not supported yet");
  }
  if (const Parsed* echo = fields.Find("echo"); echo != nullptr && *echo != false) {
    fields.Fail("echo", "is not supported");
  }
  if (const Parsed* suffix = fields.Find("suffix"); suffix != nullptr && *suffix != "") {
    fields.Fail("suffix", "is not supported");
  }
  if (const Parsed* format = fields.Find("response_format")) {
    const auto type = format->is_object() ? format->find("type") : format->end();
    if (type == format->end() || *type != "text") {
      fields.Fail("response_format", "only {\"type\":\"text\"} is supported");
    }
  }
}

}  // namespace

std::variant<CompletionRequest, ApiError> ReadCompletionRequest(AnswerKind kind,
                                                                std::string_view body) {
  const Result<Parsed> json = ParseJson(body);
  if (!json.ok()) return ApiError{.message = "the body: " + std::string(json.status().message())};
  if (!json->is_object()) return ApiError{.message = "the body must be a JSON object"};
  CompletionRequest request{.kind = kind};
  Fields fields(*json);
  fields.Read("model", request.model);
  if (kind == AnswerKind::kChat) {
    ReadMessages(fields, request);
  } else {
    ReadPrompt(fields, request);
  }
  ReadLength(fields, request);
  ReadSampling(fields, request);
  ReadStop(fields, request);
  ReadStreaming(fields, request);
  ReadLogprobs(fields, request);
  RefuseTheUnsupported(fields);
  if (fields.error()) return *fields.error();
  return request;
}

}  // namespace shoal::api
