// The model that is served, as far as text needs it: its name, how text becomes tokens, and how a
// conversation becomes text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "llm/chat_template.h"
#include "llm/tokenizer.h"

namespace shoal::api {

struct ServedModel {
  std::string name;  // What clients call it.
  llm::Tokenizer tokenizer;
  std::optional<llm::ChatTemplate> chat;  // Nothing: the model was not made for conversations.
  std::int64_t created = 0;               // Unix time.
  std::vector<llm::TokenId> end_tokens;   // Those that end an answer.
};

// With the chat template of the vocabulary, or the usual one for it. kInvalidArgument: the template
// is not supported.
Result<ServedModel> MakeServedModel(std::string name, llm::Tokenizer tokenizer,
                                    std::int64_t created);

// The conversation up to where the answer begins. What messages say never becomes a special token.
// REQUIRES: model.chat. kInvalidArgument: the template refuses it, and says why.
Result<std::vector<llm::TokenId>> EncodeChat(const ServedModel& model,
                                             std::span<const llm::ChatMessage> messages);

}  // namespace shoal::api
