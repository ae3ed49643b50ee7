// For tests of the door: a client that collects, and a head that says what the test tells it.
#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/door.h"
#include "api/http.h"
#include "pipeline/answers.h"

namespace shoal::api {

// What a client has got; outlives the responder.
struct Collected {
  int status = 0;
  Headers headers = {};
  std::string body = {};
  bool ended = false;
  UniqueFunction<void()> on_gone = {};

  // The client goes away.
  void GoAway() {
    UniqueFunction<void()> task = std::exchange(on_gone, {});
    if (task) task();
  }
  nlohmann::json json() const { return nlohmann::json::parse(body); }
  // What follows "data: " in a stream.
  std::vector<std::string> events() const {
    std::vector<std::string> found;
    std::size_t at = 0;
    while ((at = body.find("data: ", at)) != std::string::npos) {
      const std::size_t end = body.find("\n\n", at);
      found.push_back(body.substr(at + 6, end - at - 6));
      at = end;
    }
    return found;
  }
  // The text of a stream, its last event left out.
  std::string streamed_text() const {
    std::string text;
    for (const std::string& event : events()) {
      if (event == "[DONE]") break;
      const auto json = nlohmann::json::parse(event);
      for (const auto& choice : json.at("choices")) {
        text += choice.contains("text") ? choice["text"].get<std::string>()
                                        : choice["delta"].value("content", "");
      }
    }
    return text;
  }
};

class CollectingResponder final : public Responder {
 public:
  explicit CollectingResponder(Collected& into) : into_(into) {}
  ~CollectingResponder() override { into_.on_gone = {}; }
  CollectingResponder(const CollectingResponder&) = delete;
  CollectingResponder& operator=(const CollectingResponder&) = delete;

  void Reply(int status, const Headers& headers, std::string_view body) override {
    Begin(status, headers);
    Write(body);
    End();
  }
  void Begin(int status, const Headers& headers) override {
    into_.status = status;
    into_.headers = headers;
  }
  void Write(std::string_view bytes) override { into_.body += bytes; }
  void End() override { into_.ended = true; }
  void OnGone(UniqueFunction<void()> task) override { into_.on_gone = std::move(task); }

 private:
  Collected& into_;
};

// Answers what the test says, token by token.
class ScriptedAnswers final : public pipeline::Answers {
 public:
  Status Ask(pipeline::Question question, pipeline::AnswerEvents* events) override {
    if (!refusal.ok()) return refusal;
    ids.push_back(question.id);
    listeners[question.id] = {events};
    pipeline::AnswerRecord& record = records[question.id];
    record.question = std::move(question);
    return {};
  }
  Status Listen(const std::string& id, std::size_t first, pipeline::AnswerEvents* events) override {
    if (first != records.at(id).tokens.size()) return {Code::kInvalidArgument, "not the end"};
    listeners[id].push_back(events);
    return {};
  }
  const pipeline::AnswerRecord* Find(const std::string& id) const override {
    const auto found = records.find(id);
    return found == records.end() ? nullptr : &found->second;
  }
  void Forget(pipeline::AnswerEvents* events) override {
    for (auto& [id, list] : listeners) std::erase(list, events);
  }
  void Stop(const std::string& id) override { stopped.push_back(id); }
  void Cancel(const std::string& id) override { cancelled.push_back(id); }
  std::size_t context() const override { return context_tokens; }

  // The test's side. `id` empty: of the last question.
  const pipeline::Question& question() const { return records.at(ids.back()).question; }
  void Say(const llm::SampledToken& token, std::string id = {}) {
    if (id.empty()) id = ids.back();
    std::vector<llm::SampledToken>& tokens = records.at(id).tokens;
    tokens.push_back(token);
    for (auto* events : std::vector(listeners[id])) events->OnToken(tokens.size() - 1, token);
  }
  void End(pipeline::AnswerEnd how, const Status& status = {}, std::string id = {}) {
    if (id.empty()) id = ids.back();
    pipeline::AnswerRecord& record = records.at(id);
    record.ended = true;
    record.how = how;
    record.status = status;
    for (auto* events : std::exchange(listeners[id], {})) events->OnEnd(how, status);
  }
  void Wait(const std::string& why) {
    for (auto* events : listeners[ids.back()]) events->OnWaiting(why);
  }
  std::size_t listening() const {
    std::size_t sum = 0;
    for (const auto& [id, list] : listeners) sum += list.size();
    return sum;
  }

  Status refusal;
  std::size_t context_tokens = 512;
  std::vector<std::string> ids;
  std::vector<std::string> stopped;
  std::vector<std::string> cancelled;
  std::map<std::string, pipeline::AnswerRecord> records;
  std::map<std::string, std::vector<pipeline::AnswerEvents*>> listeners;
};

}  // namespace shoal::api
