#include "pipeline/answer_book.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace shoal::pipeline {

std::vector<std::string> AnswerBook::Restore() {
  std::vector<std::string> open;
  for (const std::string& bytes : store_.LoadAll()) {
    Result<StoredAnswer> stored = DecodeAnswer(bytes);
    if (!stored.ok()) continue;
    const std::string id = stored->record.question.id;
    Answer& answer = answers_[id];
    answer.record = std::move(stored->record);
    if (answer.record.ended) {
      ended_.push_back(id);
    } else if (stored->model_id != model_id_) {
      End(id, AnswerEnd::kFailed, {Code::kUnavailable, "the head now serves another model"});
    } else {
      open.push_back(id);
    }
  }
  return open;
}

Status AnswerBook::Open(Question question, AnswerEvents* events) {
  const std::string id = question.id;
  if (answers_.contains(id)) {
    return {Code::kInvalidArgument, "there is an answer " + id + " already"};
  }
  Answer answer;
  answer.record.question = std::move(question);
  // Before it is accepted: what is accepted is not lost.
  SHOAL_RETURN_IF_ERROR(store_.Save(id, EncodeAnswer(answer.record, model_id_)));
  answer.listeners.push_back({events, 0});
  answers_.emplace(id, std::move(answer));
  if (!waiting_.empty()) DeliverLater(id);
  return {};
}

Status AnswerBook::Listen(const std::string& id, std::size_t first, AnswerEvents* events) {
  const auto found = answers_.find(id);
  if (found == answers_.end()) return {Code::kNotFound, "there is no answer " + id};
  found->second.listeners.push_back({events, first});
  DeliverLater(id);
  return {};
}

void AnswerBook::Forget(AnswerEvents* events) {
  for (auto& [id, answer] : answers_) {
    std::erase_if(answer.listeners, [&](const Listener& l) { return l.events == events; });
  }
  std::erase_if(parting_, [&](const auto& parting) { return parting.first == events; });
}

const AnswerRecord* AnswerBook::Find(const std::string& id) const {
  const auto found = answers_.find(id);
  return found == answers_.end() ? nullptr : &found->second.record;
}

void AnswerBook::Add(const std::string& id, const llm::SampledToken& token) {
  Answer& answer = answers_.at(id);
  SHOAL_CHECK(!answer.record.ended);
  answer.record.tokens.push_back(token);
  if (answer.record.tokens.size() % kTokensPerSave == 0) Save(answer);
  Deliver(id);
}

void AnswerBook::End(const std::string& id, AnswerEnd how, const Status& status) {
  AnswerRecord& record = answers_.at(id).record;
  SHOAL_CHECK(!record.ended);
  record.ended = true;
  record.how = how;
  record.status = status;
  Save(answers_.at(id));
  ended_.push_back(id);
  DeliverLater(id);
}

bool AnswerBook::Restart(const std::string& id, const Status& why) {
  const auto found = answers_.find(id);
  if (found == answers_.end()) return false;
  Answer& answer = found->second;
  AnswerRecord& record = answer.record;
  if (record.ended && record.how == AnswerEnd::kCancelled) return false;
  if (record.ended) std::erase(ended_, id);
  record.tokens.clear();
  record.ended = false;
  record.status = {};
  ++record.remade;
  Save(answer);
  for (const Listener& listener : std::exchange(answer.listeners, {})) {
    parting_.emplace_back(listener.events, why);
  }
  if (!parting_.empty()) PartLater();
  return true;
}

void AnswerBook::PartLater() {
  clock_.CallAfter(Duration{0}, [this, alive = std::weak_ptr<int>(alive_)] {
    // Listeners may do anything while they are told.
    while (!alive.expired() && !parting_.empty()) {
      const auto [events, why] = parting_.back();
      parting_.pop_back();
      events->OnEnd(AnswerEnd::kFailed, why);
    }
  });
}

void AnswerBook::SetEnergy(const std::string& id, const AnswerEnergy& energy) {
  AnswerRecord& record = answers_.at(id).record;
  SHOAL_CHECK(!record.ended);
  record.energy = energy;
}

void AnswerBook::SetWaiting(const std::string& why) {
  if (why == waiting_) return;
  waiting_ = why;
  for (auto& [id, answer] : answers_) {
    if (answer.record.ended) continue;
    if (!why.empty()) {
      for (Listener& listener : answer.listeners) listener.waiting = false;  // Another reason.
    }
    DeliverLater(id);
  }
}

void AnswerBook::DeliverLater(const std::string& id) {
  clock_.CallAfter(Duration{0}, [this, id, alive = std::weak_ptr<int>(alive_)] {
    if (alive.expired()) return;
    Deliver(id);
    DropOldest();
  });
}

// Not before its listeners are told: many may end at once.
void AnswerBook::DropOldest() {
  while (ended_.size() > kEndedMax && answers_.at(ended_.front()).listeners.empty()) {
    store_.Remove(ended_.front());
    answers_.erase(ended_.front());
    ended_.pop_front();
  }
}

// Listeners may do anything while they are told, so each time all is looked at anew.
void AnswerBook::Deliver(const std::string& id) {
  for (;;) {
    const auto found = answers_.find(id);
    if (found == answers_.end() || !DeliverOne(found->second)) return;
  }
}

bool AnswerBook::DeliverOne(Answer& answer) {
  for (std::size_t i = 0; i < answer.listeners.size(); ++i) {
    Listener& listener = answer.listeners[i];
    if (listener.next < answer.record.tokens.size()) {
      const std::size_t index = listener.next++;
      const llm::SampledToken token = answer.record.tokens[index];
      listener.events->OnToken(index, token);
      return true;
    }
    if (answer.record.ended) {
      AnswerEvents* const events = listener.events;
      answer.listeners.erase(answer.listeners.begin() + static_cast<std::ptrdiff_t>(i));
      const Status status = answer.record.status;
      events->OnEnd(answer.record.how, status);
      return true;
    }
    if (listener.waiting == waiting_.empty()) {
      listener.waiting = !waiting_.empty();
      const std::string why = waiting_;
      listener.events->OnWaiting(why);
      return true;
    }
  }
  return false;
}

// A token that is not stored is drawn again after a restart, the same one: failing to write costs
// time, not truth.
void AnswerBook::Save(const Answer& answer) {
  (void)store_.Save(answer.record.question.id, EncodeAnswer(answer.record, model_id_)).ok();
}

}  // namespace shoal::pipeline
