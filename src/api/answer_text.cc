#include "api/answer_text.h"

#include <utility>

namespace shoal::api {

AnswerText::AnswerText(const llm::Tokenizer& tokenizer, const AnswerNote& note)
    : tokenizer_(tokenizer),
      detokenizer_(tokenizer, {.continues = note.continues}),
      stop_(note.stop),
      with_logprobs_(note.logprobs) {}

std::string AnswerText::Feed(const llm::SampledToken& token) {
  if (stopped()) return {};
  ++tokens_;
  if (tokenizer_.Has(token.token) && tokenizer_.EndsAnswer(token.token)) return {};
  if (with_logprobs_) logprobs_.push_back(token);
  return stop_.Feed(detokenizer_.Feed(token.token));
}

std::string AnswerText::Flush() {
  if (stopped()) return {};
  std::string text = stop_.Feed(detokenizer_.Flush());
  return text + stop_.Flush();
}

std::vector<llm::SampledToken> AnswerText::TakeLogprobs() { return std::exchange(logprobs_, {}); }

std::string AnswerText::FinishReason(pipeline::AnswerEnd how) const {
  if (stopped()) return "stop";
  switch (how) {
    case pipeline::AnswerEnd::kEndToken:
    case pipeline::AnswerEnd::kStopped:
      return "stop";
    case pipeline::AnswerEnd::kLength:
      return "length";
    case pipeline::AnswerEnd::kCancelled:
      return "cancelled";
    case pipeline::AnswerEnd::kFailed:
      break;
  }
  return "error";
}

}  // namespace shoal::api
