// What a client asks for: the body of POST /v1/chat/completions or /v1/completions as a checked
// value. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/error.h"
#include "llm/chat_template.h"
#include "llm/sampler.h"
#include "llm/vocabulary.h"

namespace shoal::api {

enum class AnswerKind : std::uint8_t { kChat, kCompletion };

struct CompletionRequest {
  AnswerKind kind = AnswerKind::kChat;
  std::string model = {};                        // Empty: the one that is served.
  std::vector<llm::ChatMessage> messages = {};   // kChat: at least one.
  std::string prompt = {};                       // kCompletion: this ...
  std::vector<llm::TokenId> prompt_tokens = {};  // ... or, if there are any, these.
  std::optional<std::size_t> tokens_max = {};
  llm::SamplingOptions sampling = {};  // All but the seed.
  std::optional<std::uint64_t> seed = {};
  std::vector<std::string> stop = {};
  bool stream = false;
  bool include_usage = false;  // At the end of a stream.
  bool logprobs = false;
};

// Of all messages, or of the prompt: a context of 128 Ki tokens is half of it.
inline constexpr std::size_t kPromptBytesMax = std::size_t{1} << 20;
inline constexpr std::size_t kMessagesMax = 4096;
inline constexpr std::size_t kStopStringsMax = 4;
inline constexpr std::size_t kStopBytesMax = 1024;
inline constexpr std::size_t kLogitBiasMax = 1024;

// Fields that it does not know are ignored; those that would change the answer, and that nobody
// here can honour, are refused. An error names the first field that is wrong.
std::variant<CompletionRequest, ApiError> ReadCompletionRequest(AnswerKind kind,
                                                                std::string_view body);

}  // namespace shoal::api
