// AnswerBook: every answer that the head knows, who listens to it, and what was told to whom. Keeps
// them in a store, so that a head that restarts goes on where it was.
//
// Belongs to one event loop.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "pipeline/answer_store.h"
#include "pipeline/answers.h"

namespace shoal::pipeline {

class AnswerBook {
 public:
  // Answers that have ended and are kept for those who come back.
  static constexpr std::size_t kEndedMax = 1024;
  // What a restart would have to compute again, at most.
  static constexpr std::size_t kTokensPerSave = 64;

  // `clock` and `store` outlive it.
  AnswerBook(Clock& clock, AnswerStore& store, std::string model_id)
      : clock_(clock), store_(store), model_id_(std::move(model_id)) {}

  // Reads the store. Answers of other models are failed, those that have not ended are returned.
  std::vector<std::string> Restore();

  // kInvalidArgument: the id is taken. kResourceExhausted or kUnavailable: it cannot be stored.
  Status Open(Question question, AnswerEvents* events);
  Status Listen(const std::string& id, std::size_t first, AnswerEvents* events);
  void Forget(AnswerEvents* events);
  const AnswerRecord* Find(const std::string& id) const;
  // How many have not ended.
  std::size_t open() const { return answers_.size() - ended_.size(); }

  // Tells listeners. REQUIRES: the answer is known and has not ended.
  void Add(const std::string& id, const llm::SampledToken& token);
  void End(const std::string& id, AnswerEnd how, const Status& status);
  // What there is of it was wrong: listeners are told that it failed, and it begins anew. False:
  // there is no such answer, or nobody wants it.
  bool Restart(const std::string& id, const Status& why);
  // Tells nobody, and is stored with what comes next. REQUIRES: as above.
  void SetEnergy(const std::string& id, const AnswerEnergy& energy);
  // All answers that have not ended wait, or, with an empty reason, go on.
  void SetWaiting(const std::string& why);

 private:
  struct Listener {
    AnswerEvents* events;
    std::size_t next;  // The first token that it has not been told.
    bool waiting = false;
  };
  struct Answer {
    AnswerRecord record;
    std::vector<Listener> listeners;
  };

  void DeliverLater(const std::string& id);
  void PartLater();
  void Deliver(const std::string& id);
  bool DeliverOne(Answer& answer);
  void DropOldest();
  void Save(const Answer& answer);

  Clock& clock_;
  AnswerStore& store_;
  const std::string model_id_;
  std::map<std::string, Answer> answers_;
  std::deque<std::string> ended_;                          // The oldest first.
  std::vector<std::pair<AnswerEvents*, Status>> parting_;  // Who is to be told that it failed.
  std::string waiting_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace shoal::pipeline
