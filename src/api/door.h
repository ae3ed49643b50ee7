// Door: OpenAI's HTTP API in front of what a head offers (pipeline/answers.h).
//
//   POST /v1/chat/completions     GET /v1/models      GET /v1/answers/ID    ours: an answer again
//   POST /v1/completions          GET /health         /shoal/...            see admin.h
//
// Many at once. A client that goes away cancels its answer, unless it asked with the header
// "Shoal-Keep: 1"; an answer's id is in all of its JSON, and with it any client gets the answer,
// also after the head restarted.
//
// Belongs to one event loop, that of `answers`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/admin.h"
#include "api/chat_request.h"
#include "api/error.h"
#include "api/health.h"
#include "api/http.h"
#include "api/served_model.h"
#include "base/random.h"
#include "base/status.h"
#include "pipeline/answers.h"

namespace shoal::api {

struct DoorWorld {
  pipeline::Answers& answers;
  const HealthSource& health;
  AdminDoor* admin;  // Null: there is none.
  Random& random;    // For ids, which are as good as a password for an answer, and for seeds.
  std::function<std::int64_t()> unix_time;
  std::optional<double> grams_per_kwh = {};  // CO2e of the grid; absent: nobody said.
};

class Door {
 public:
  // What `world` refers to outlives the door.
  Door(DoorWorld world, ServedModel model);
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  // Answers now or later.
  void Handle(const Request& request, std::unique_ptr<Responder> responder);

 private:
  class Exchanges;

  void Ask(AnswerKind kind, const Request& request, std::unique_ptr<Responder> responder);
  // The tokens to begin with, or why there is no answer to this.
  std::optional<ApiError> Prepare(const CompletionRequest& wanted,
                                  std::vector<llm::TokenId>& prompt) const;
  Result<std::vector<llm::TokenId>> Encode(const CompletionRequest& wanted) const;
  std::string NewId(AnswerKind kind);

  void GiveAnswer(const Request& request, std::string_view id,
                  std::unique_ptr<Responder> responder);
  void ListModels(Responder& responder) const;
  void GiveHealth(Responder& responder) const;

  DoorWorld world_;
  const ServedModel model_;
  std::unique_ptr<Exchanges> exchanges_;
};

}  // namespace shoal::api
