#include <algorithm>
#include <utility>

#include "api/exchanges_internal.h"

namespace shoal::api {

Door::Exchanges::~Exchanges() {
  for (const auto& exchange : exchanges_) answers_.Forget(exchange.get());
}

void Door::Exchanges::Ask(std::unique_ptr<Exchange> exchange, pipeline::Question question) {
  const Status status = answers_.Ask(std::move(question), exchange.get());
  if (!status.ok()) return exchange->Refuse(status);
  exchange->Begin();
  exchanges_.push_back(std::move(exchange));
}

void Door::Exchanges::Follow(std::unique_ptr<Exchange> exchange,
                             const pipeline::AnswerRecord& record) {
  exchange->Begin();
  exchange->Catch(record.tokens);
  if (record.ended) {
    exchange->OnEnd(record.how, record.status);
    return;
  }
  // The record is good until the next call.
  const std::size_t caught = record.tokens.size();
  const std::string id = exchange->id();
  // A stop string that nobody was there to see.
  if (!exchange->has_client()) return answers_.Stop(id);
  const Status status = answers_.Listen(id, caught, exchange.get());
  if (!status.ok()) return exchange->OnEnd(pipeline::AnswerEnd::kFailed, status);
  exchanges_.push_back(std::move(exchange));
}

void Door::Exchanges::OnStopString(Exchange& exchange) { answers_.Stop(exchange.id()); }

void Door::Exchanges::OnClientGone(Exchange& exchange) {
  exchange.DropClient();
  const bool last = !HasOther(exchange);
  if (last && exchange.note().keep) return;  // Goes on alone.
  const std::string id = exchange.id();
  answers_.Forget(&exchange);
  OnDone(exchange);
  if (last) answers_.Cancel(id);
}

void Door::Exchanges::OnDone(Exchange& exchange) {
  exchanges_.remove_if([&](const auto& other) { return other.get() == &exchange; });
}

std::optional<EnergyUse> Door::Exchanges::EnergyOf(const Exchange& exchange) const {
  const pipeline::AnswerRecord* const record = answers_.Find(exchange.id());
  if (record == nullptr) return std::nullopt;
  return ToEnergyUse(*record, grams_per_kwh_);
}

bool Door::Exchanges::HasOther(const Exchange& exchange) const {
  return std::any_of(exchanges_.begin(), exchanges_.end(), [&](const auto& other) {
    return other.get() != &exchange && other->id() == exchange.id();
  });
}

}  // namespace shoal::api
