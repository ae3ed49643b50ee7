#include "api/served_model.h"

#include <utility>

namespace shoal::api {
namespace {

std::string NameOf(const llm::Tokenizer& tokenizer, std::optional<llm::TokenId> token) {
  return token ? tokenizer.TokenBytes(*token) : std::string();
}

}  // namespace

Result<ServedModel> MakeServedModel(std::string name, llm::Tokenizer tokenizer,
                                    std::int64_t created) {
  const llm::Vocabulary& vocabulary = tokenizer.vocabulary();
  std::string source = vocabulary.chat_template;
  if (source.empty()) source = llm::DefaultChatTemplate(vocabulary).value_or("");
  std::optional<llm::ChatTemplate> chat;
  if (!source.empty()) {
    Result<llm::ChatTemplate> parsed = llm::ChatTemplate::Parse(source);
    if (!parsed.ok()) return std::move(parsed).status().Annotate(name);
    chat = *std::move(parsed);
  }
  std::vector<llm::TokenId> ends;
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const auto token = static_cast<llm::TokenId>(i);
    if (tokenizer.EndsAnswer(token)) ends.push_back(token);
  }
  return ServedModel{.name = std::move(name),
                     .tokenizer = std::move(tokenizer),
                     .chat = std::move(chat),
                     .created = created,
                     .end_tokens = std::move(ends)};
}

Result<std::vector<llm::TokenId>> EncodeChat(const ServedModel& model,
                                             std::span<const llm::ChatMessage> messages) {
  const llm::Tokenizer& tokenizer = model.tokenizer;
  const llm::Vocabulary& vocabulary = tokenizer.vocabulary();
  SHOAL_ASSIGN_OR_RETURN(
      const llm::ChatPrompt prompt,
      model.chat->Render(messages, {.bos_token = NameOf(tokenizer, vocabulary.bos),
                                    .eos_token = NameOf(tokenizer, vocabulary.eos)}));
  std::vector<llm::TokenId> tokens = tokenizer.Encode(prompt.segments);
  // Templates write the beginning of sequence themselves, or leave it to the tokenizer.
  if (vocabulary.add_bos && vocabulary.bos && (tokens.empty() || tokens[0] != *vocabulary.bos)) {
    tokens.insert(tokens.begin(), *vocabulary.bos);
  }
  return tokens;
}

}  // namespace shoal::api
