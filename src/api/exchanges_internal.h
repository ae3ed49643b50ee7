// All exchanges of a door: asked for, followed, and ended when their clients go.
#pragma once

#include <cstddef>
#include <list>
#include <memory>

#include "api/door.h"
#include "api/exchange_internal.h"
#include "pipeline/answers.h"

namespace shoal::api {

class Door::Exchanges final : public ExchangeOwner {
 public:
  explicit Exchanges(pipeline::Answers& answers) : answers_(answers) {}
  ~Exchanges() override;
  Exchanges(const Exchanges&) = delete;
  Exchanges& operator=(const Exchanges&) = delete;

  void Ask(std::unique_ptr<Exchange> exchange, pipeline::Question question);
  // `record`: what there is of its answer.
  void Follow(std::unique_ptr<Exchange> exchange, const pipeline::AnswerRecord& record);

  void OnStopString(Exchange& exchange) override;
  void OnClientGone(Exchange& exchange) override;
  void OnDone(Exchange& exchange) override;

 private:
  // Whether somebody else follows its answer.
  bool HasOther(const Exchange& exchange) const;

  pipeline::Answers& answers_;
  std::list<std::unique_ptr<Exchange>> exchanges_;
};

}  // namespace shoal::api
