// AnswerNote: what the head keeps beside an answer for us (pipeline::Question::note), so that who
// comes back with the answer's id gets the same text in the same shape, also from a head that has
// restarted in between.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/chat_request.h"
#include "base/status.h"

namespace shoal::api {

struct AnswerNote {
  AnswerKind kind = AnswerKind::kChat;
  std::string model;
  std::int64_t created = 0;  // Unix time.
  std::vector<std::string> stop;
  bool logprobs = false;
  bool include_usage = false;
  bool continues = false;  // The text goes on with the prompt's; see DetokenizerOptions.
  bool keep = false;       // It goes on when nobody listens.
};

std::string EncodeNote(const AnswerNote& note);
// kCorruption: not such a note.
Result<AnswerNote> DecodeNote(std::string_view text);

}  // namespace shoal::api
