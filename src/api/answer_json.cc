#include "api/answer_json.h"

#include <utility>

#include "api/json_internal.h"
#include "llm/utf8.h"

namespace shoal::api {
namespace {

std::string BytesOf(const llm::Tokenizer& tokenizer, llm::TokenId token) {
  return tokenizer.Has(token) ? tokenizer.TokenBytes(token) : std::string();
}

Json ChatLogprob(const llm::Tokenizer& tokenizer, llm::TokenId token, float logprob) {
  const std::string bytes = BytesOf(tokenizer, token);
  Json numbers = Json::array();
  for (const char c : bytes) numbers.push_back(static_cast<unsigned char>(c));
  return {{"token", llm::ReplaceInvalidUtf8(bytes)}, {"logprob", logprob}, {"bytes", numbers}};
}

Json ChatLogprobs(const llm::Tokenizer& tokenizer, std::span<const llm::SampledToken> tokens) {
  Json content = Json::array();
  for (const llm::SampledToken& sampled : tokens) {
    Json top = Json::array();
    for (const llm::TokenLogprob& other : sampled.top) {
      top.push_back(ChatLogprob(tokenizer, other.token, other.logprob));
    }
    content.push_back(ChatLogprob(tokenizer, sampled.token, sampled.logprob));
    content.back()["top_logprobs"] = std::move(top);
  }
  return {{"content", std::move(content)}};
}

Json CompletionLogprobs(const llm::Tokenizer& tokenizer, std::span<const llm::SampledToken> tokens,
                        std::size_t& offset) {
  Json texts = Json::array();
  Json logprobs = Json::array();
  Json tops = Json::array();
  Json offsets = Json::array();
  for (const llm::SampledToken& sampled : tokens) {
    std::string text = llm::ReplaceInvalidUtf8(BytesOf(tokenizer, sampled.token));
    Json top = Json::object();
    for (const llm::TokenLogprob& other : sampled.top) {
      top[llm::ReplaceInvalidUtf8(BytesOf(tokenizer, other.token))] = other.logprob;
    }
    offsets.push_back(offset);
    offset += text.size();
    texts.push_back(std::move(text));
    logprobs.push_back(sampled.logprob);
    tops.push_back(std::move(top));
  }
  return {{"tokens", std::move(texts)},
          {"token_logprobs", std::move(logprobs)},
          {"top_logprobs", std::move(tops)},
          {"text_offset", std::move(offsets)}};
}

Json UsageJson(const Usage& usage) {
  Json json = {{"prompt_tokens", usage.prompt_tokens},
               {"completion_tokens", usage.completion_tokens},
               {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
  if (usage.energy) {
    Json energy = {{"wh", Rounded(usage.energy->wh)}};
    if (usage.energy->gco2e) energy["gco2e"] = Rounded(*usage.energy->gco2e);
    if (usage.energy->joules_per_token) {
      energy["joules_per_token"] = Rounded(*usage.energy->joules_per_token);
    }
    energy["estimated"] = usage.energy->estimated;
    energy["covered"] = Rounded(usage.energy->covered);
    json["energy"] = std::move(energy);
  }
  if (usage.recomputed > 0) json["recomputed"] = usage.recomputed;
  return json;
}

Json OrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

}  // namespace

std::optional<EnergyUse> ToEnergyUse(const pipeline::AnswerRecord& record,
                                     std::optional<double> grams_per_kwh) {
  const pipeline::AnswerEnergy& energy = record.energy;
  if (energy.joules <= 0) return std::nullopt;
  EnergyUse use{
      .wh = energy.joules / 3600, .estimated = energy.estimated, .covered = energy.covered()};
  if (grams_per_kwh) use.gco2e = use.wh / 1000 * *grams_per_kwh;
  if (!record.tokens.empty()) {
    use.joules_per_token = energy.joules / static_cast<double>(record.tokens.size());
  }
  return use;
}

struct AnswerJson::Parts {
  static Json Logprobs(AnswerJson& self, std::span<const llm::SampledToken> tokens) {
    if (!self.note_.logprobs) return {};
    if (self.note_.kind == AnswerKind::kChat) return ChatLogprobs(self.tokenizer_, tokens);
    return CompletionLogprobs(self.tokenizer_, tokens, self.offset_);
  }

  static Json Envelope(const AnswerJson& self, bool chunk, Json choices) {
    const bool chat = self.note_.kind == AnswerKind::kChat;
    const char* chat_object = chunk ? "chat.completion.chunk" : "chat.completion";
    Json json = {{"id", self.id_},
                 {"object", chat ? chat_object : "text_completion"},
                 {"created", self.note_.created},
                 {"model", self.note_.model},
                 {"choices", std::move(choices)}};
    if (chunk && self.note_.include_usage) json["usage"] = nullptr;
    return json;
  }

  static std::string Chunk(const AnswerJson& self, Json content, Json logprobs,
                           const std::string& finish_reason) {
    const char* name = self.note_.kind == AnswerKind::kChat ? "delta" : "text";
    Json choice = {{"index", 0},
                   {name, std::move(content)},
                   {"logprobs", std::move(logprobs)},
                   {"finish_reason", OrNull(finish_reason)}};
    return Dump(Envelope(self, /*chunk=*/true, Json::array({std::move(choice)})));
  }
};

AnswerJson::AnswerJson(const llm::Tokenizer& tokenizer, std::string id, AnswerNote note)
    : tokenizer_(tokenizer), id_(std::move(id)), note_(std::move(note)) {}

std::string AnswerJson::RoleChunk() const {
  return Parts::Chunk(*this, {{"role", "assistant"}, {"content", ""}}, {}, "");
}

std::string AnswerJson::TextChunk(std::string_view text,
                                  std::span<const llm::SampledToken> tokens) {
  Json logprobs = Parts::Logprobs(*this, tokens);
  Json content = std::string(text);
  if (note_.kind == AnswerKind::kChat) content = {{"content", std::move(content)}};
  return Parts::Chunk(*this, std::move(content), std::move(logprobs), "");
}

std::string AnswerJson::EndChunk(const std::string& finish_reason) const {
  return Parts::Chunk(*this, note_.kind == AnswerKind::kChat ? Json::object() : Json(""), {},
                      finish_reason);
}

std::string AnswerJson::UsageChunk(const Usage& usage) const {
  Json json = Parts::Envelope(*this, /*chunk=*/true, Json::array());
  json["usage"] = UsageJson(usage);
  return Dump(json);
}

std::string AnswerJson::Whole(std::string_view text, std::span<const llm::SampledToken> tokens,
                              const std::string& finish_reason, const Usage& usage) {
  Json choice = {{"index", 0}};
  if (note_.kind == AnswerKind::kChat) {
    choice["message"] = {{"role", "assistant"}, {"content", text}};
  } else {
    choice["text"] = text;
  }
  choice["logprobs"] = Parts::Logprobs(*this, tokens);
  choice["finish_reason"] = OrNull(finish_reason);
  Json json = Parts::Envelope(*this, /*chunk=*/false, Json::array({std::move(choice)}));
  json["usage"] = UsageJson(usage);
  return Dump(json);
}

}  // namespace shoal::api
