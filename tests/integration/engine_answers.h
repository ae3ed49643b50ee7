// A head of one device, for tests of what stands in front of a head: every answer is a Generation
// of one engine, a token at a time in turns. Its records live as long as it does.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "llm/engine.h"
#include "os/loop.h"
#include "pipeline/answers.h"

namespace shoal {

class EngineAnswers final : public pipeline::Answers {
 public:
  // `context`: of one answer; the engine has room for several.
  EngineAnswers(os::Loop& loop, llm::Engine& engine, std::size_t context)
      : loop_(loop), engine_(engine), context_(context) {}

  Status Ask(pipeline::Question question, pipeline::AnswerEvents* events) override {
    if (question.prompt.empty()) return {Code::kInvalidArgument, "the prompt is empty"};
    for (const std::int32_t token : question.prompt) {
      if (token < 0 || static_cast<std::size_t>(token) >= engine_.vocab()) {
        return {Code::kInvalidArgument, "the model does not know token " + std::to_string(token)};
      }
    }
    Running& running = running_[question.id];
    running.generation =
        std::make_unique<llm::Generation>(engine_, question.sampling, /*guesses=*/0);
    running.generation->Append(question.prompt);
    running.listeners = {events};
    records_[question.id].question = std::move(question);
    Pump();
    return {};
  }
  Status Listen(const std::string& id, std::size_t first, pipeline::AnswerEvents* events) override {
    const auto found = running_.find(id);
    if (found == running_.end() || first != records_[id].tokens.size()) {
      return {Code::kNotFound, "it has ended, or `first` is not its end"};
    }
    found->second.listeners.push_back(events);
    return {};
  }
  const pipeline::AnswerRecord* Find(const std::string& id) const override {
    const auto found = records_.find(id);
    return found == records_.end() ? nullptr : &found->second;
  }
  void Forget(pipeline::AnswerEvents* events) override {
    for (auto& [id, running] : running_) std::erase(running.listeners, events);
  }
  void Stop(const std::string& id) override {
    const auto found = running_.find(id);
    if (found != running_.end()) found->second.stop = true;
  }
  void Cancel(const std::string& id) override { Stop(id); }
  std::size_t context() const override { return context_; }

  std::size_t running() const { return running_.size(); }

 private:
  struct Running {
    std::unique_ptr<llm::Generation> generation;
    std::vector<pipeline::AnswerEvents*> listeners;
    bool stop = false;
  };

  // A round of one token for each, then again.
  void Pump() {
    if (pumping_) return;
    pumping_ = true;
    loop_.Post([this] {
      pumping_ = false;
      std::vector<std::string> ids;
      for (const auto& [id, running] : running_) ids.push_back(id);
      for (const std::string& id : ids) Step(id);
      if (!running_.empty()) Pump();
    });
  }

  void Step(const std::string& id) {
    Running& running = running_[id];
    pipeline::AnswerRecord& record = records_[id];
    if (running.stop) return End(id, pipeline::AnswerEnd::kStopped, {});
    const Result<llm::SampledToken> next = running.generation->Next();
    if (!next.ok()) return End(id, pipeline::AnswerEnd::kFailed, next.status());
    record.tokens.push_back(*next);
    for (auto* events : std::vector(running.listeners)) {
      events->OnToken(record.tokens.size() - 1, *next);
    }
    const auto& ends = record.question.end_tokens;
    if (std::find(ends.begin(), ends.end(), next->token) != ends.end()) {
      End(id, pipeline::AnswerEnd::kEndToken, {});
    } else if (record.tokens.size() == record.question.tokens_max) {
      End(id, pipeline::AnswerEnd::kLength, {});
    }
  }

  void End(const std::string& id, pipeline::AnswerEnd how, const Status& status) {
    pipeline::AnswerRecord& record = records_[id];
    record.ended = true;
    record.how = how;
    record.status = status;
    const auto listeners = std::move(running_[id].listeners);
    running_.erase(id);
    for (auto* events : listeners) events->OnEnd(how, status);
  }

  os::Loop& loop_;
  llm::Engine& engine_;
  std::size_t context_;
  bool pumping_ = false;
  std::map<std::string, Running> running_;
  std::map<std::string, pipeline::AnswerRecord> records_;
};

}  // namespace shoal
