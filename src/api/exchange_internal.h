// Exchange: one client and the answer it follows: tokens come in, JSON goes out, as a stream or
// whole at the end. It may lose its client and go on alone, to end the answer at a stop string.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/answer_json.h"
#include "api/answer_note.h"
#include "api/answer_text.h"
#include "api/http.h"
#include "pipeline/answers.h"

namespace shoal::api {

class Exchange;

class ExchangeOwner {
 public:
  virtual ~ExchangeOwner() = default;
  // A stop string has come: nobody wants the rest.
  virtual void OnStopString(Exchange& exchange) = 0;
  virtual void OnClientGone(Exchange& exchange) = 0;
  // Nothing follows. The exchange may be destroyed.
  virtual void OnDone(Exchange& exchange) = 0;
  // What its answer has taken so far, if that is known.
  virtual std::optional<EnergyUse> EnergyOf(const Exchange& exchange) const = 0;
};

class Exchange final : public pipeline::AnswerEvents {
 public:
  // `owner` outlives it.
  Exchange(ExchangeOwner& owner, const llm::Tokenizer& tokenizer, std::string id, AnswerNote note,
           std::size_t prompt_tokens, bool stream, std::unique_ptr<Responder> client);

  const std::string& id() const { return id_; }
  const AnswerNote& note() const { return note_; }
  bool has_client() const { return client_ != nullptr; }

  // In this order: the beginning of a stream; what there is already of the answer.
  void Begin();
  void Catch(std::span<const llm::SampledToken> tokens);
  // Instead of an answer. REQUIRES: Begin was not called.
  void Refuse(const Status& status);
  void DropClient() { client_ = nullptr; }

  void OnToken(std::size_t index, const llm::SampledToken& token) override;
  void OnEnd(pipeline::AnswerEnd how, const Status& status) override;
  void OnWaiting(const std::string& why) override;

 private:
  void Show(const std::string& text);
  void ShowRest();
  void Event(const std::string& data);
  void Finish(pipeline::AnswerEnd how, const Status& status);

  ExchangeOwner& owner_;
  std::string id_;
  AnswerNote note_;
  std::size_t prompt_tokens_;
  bool stream_;
  std::unique_ptr<Responder> client_;  // Null: it has gone, or has all that it will get.
  AnswerText text_;
  AnswerJson json_;
  std::string whole_;  // The text, where it is not streamed.
};

}  // namespace shoal::api
