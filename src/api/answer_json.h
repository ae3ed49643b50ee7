// AnswerJson: an answer in the JSON that OpenAI's clients read, whole or in chunks.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/answer_note.h"
#include "llm/sampler.h"
#include "llm/tokenizer.h"
#include "pipeline/answers.h"

namespace shoal::api {

// What an answer took; see pipeline::AnswerEnergy.
struct EnergyUse {
  double wh = 0;
  std::optional<double> gco2e = {};             // Absent: nobody said what the grid emits.
  std::optional<double> joules_per_token = {};  // That was drawn; absent: none was.
  bool estimated = false;
  double covered = 0;
};
// Nothing: nothing is known. `grams_per_kwh`: of the grid, if somebody said.
std::optional<EnergyUse> ToEnergyUse(const pipeline::AnswerRecord& record,
                                     std::optional<double> grams_per_kwh);

struct Usage {
  std::size_t prompt_tokens = 0;
  std::size_t completion_tokens = 0;
  std::optional<EnergyUse> energy = {};
  std::size_t recomputed = 0;  // See pipeline::AnswerRecord::remade.
};

class AnswerJson {
 public:
  AnswerJson(const llm::Tokenizer& tokenizer, std::string id, AnswerNote note);

  // The first chunk of a chat. REQUIRES: it is one.
  std::string RoleChunk() const;
  // `tokens`: if the note asks for logprobs.
  std::string TextChunk(std::string_view text, std::span<const llm::SampledToken> tokens);
  std::string EndChunk(const std::string& finish_reason) const;
  // If the note asks for it.
  std::string UsageChunk(const Usage& usage) const;

  // `finish_reason` empty: it goes on.
  std::string Whole(std::string_view text, std::span<const llm::SampledToken> tokens,
                    const std::string& finish_reason, const Usage& usage);

 private:
  struct Parts;  // What needs the JSON library.

  llm::Tokenizer tokenizer_;
  std::string id_;
  AnswerNote note_;
  std::size_t offset_ = 0;  // Of the next token in the text, for completions' logprobs.
};

}  // namespace shoal::api
