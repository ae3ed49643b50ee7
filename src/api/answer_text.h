// AnswerText: from the tokens of an answer to what a client sees of it: whole characters, up to the
// first stop string. A function of the tokens and the note: live or later, the text is the same.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "api/answer_note.h"
#include "llm/detokenizer.h"
#include "llm/sampler.h"
#include "llm/stop_strings.h"
#include "pipeline/answers.h"

namespace shoal::api {

class AnswerText {
 public:
  AnswerText(const llm::Tokenizer& tokenizer, const AnswerNote& note);

  // The text that can be shown now. Nothing after stopped().
  std::string Feed(const llm::SampledToken& token);
  // At the end: what was held back.
  std::string Flush();

  // A stop string has come: what follows is not part of the answer.
  bool stopped() const { return stop_.stopped(); }
  // Tokens of the answer, with one that ended it.
  std::size_t tokens() const { return tokens_; }
  // If the note asks for them: the tokens whose text was given since the last time.
  std::vector<llm::SampledToken> TakeLogprobs();

  // OpenAI's finish_reason: "stop" or "length"; ours: "cancelled", "error".
  std::string FinishReason(pipeline::AnswerEnd how) const;

 private:
  llm::Tokenizer tokenizer_;
  llm::Detokenizer detokenizer_;
  llm::StopStrings stop_;
  bool with_logprobs_;
  std::size_t tokens_ = 0;
  std::vector<llm::SampledToken> logprobs_;
};

}  // namespace shoal::api
