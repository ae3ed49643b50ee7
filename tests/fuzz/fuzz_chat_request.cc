// Whatever a client posts: a request within its limits, or an error that says what is wrong. What
// a head gives back as a note: a note that can be written again, or a Status.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "api/answer_note.h"
#include "api/chat_request.h"
#include "base/check.h"
#include "llm/sampler.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shoal::api;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  for (const AnswerKind kind : {AnswerKind::kChat, AnswerKind::kCompletion}) {
    const auto read = ReadCompletionRequest(kind, body);
    if (const auto* error = std::get_if<ApiError>(&read)) {
      SHOAL_CHECK(error->status == 400 && !error->message.empty());
      SHOAL_CHECK(!ToJson(*error).empty());
      continue;
    }
    auto request = std::get<CompletionRequest>(read);
    SHOAL_CHECK((kind == AnswerKind::kChat) == !request.messages.empty());
    SHOAL_CHECK(request.stop.size() <= kStopStringsMax);
    request.sampling.logit_bias.clear();  // Only they depend on the vocabulary.
    SHOAL_CHECK(shoal::llm::CheckSamplingOptions(request.sampling, 1).ok());
  }
  const auto note = DecodeNote(body);
  if (note.ok()) SHOAL_CHECK(DecodeNote(EncodeNote(*note)).ok());
  return 0;
}
