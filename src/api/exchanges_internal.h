// All exchanges of a door: asked for, followed, and ended when their clients go.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <optional>

#include "api/door.h"
#include "api/exchange_internal.h"
#include "pipeline/answers.h"

namespace shoal::api {

class Door::Exchanges final : public ExchangeOwner {
 public:
  Exchanges(pipeline::Answers& answers, std::optional<double> grams_per_kwh)
      : answers_(answers), grams_per_kwh_(grams_per_kwh) {}
  ~Exchanges() override;
  Exchanges(const Exchanges&) = delete;
  Exchanges& operator=(const Exchanges&) = delete;

  void Ask(std::unique_ptr<Exchange> exchange, pipeline::Question question);
  // `record`: what there is of its answer.
  void Follow(std::unique_ptr<Exchange> exchange, const pipeline::AnswerRecord& record);

  void OnStopString(Exchange& exchange) override;
  void OnClientGone(Exchange& exchange) override;
  void OnDone(Exchange& exchange) override;
  std::optional<EnergyUse> EnergyOf(const Exchange& exchange) const override;

 private:
  // Whether somebody else follows its answer.
  bool HasOther(const Exchange& exchange) const;

  pipeline::Answers& answers_;
  const std::optional<double> grams_per_kwh_;
  std::list<std::unique_ptr<Exchange>> exchanges_;
};

}  // namespace shoal::api
