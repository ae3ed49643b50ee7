#include "api/door.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "api/exchange_internal.h"
#include "api/exchanges_internal.h"
#include "api/json_internal.h"

namespace shoal::api {
namespace {

// OpenAI's, of completions; a chat's answer may fill the context.
constexpr std::size_t kCompletionTokensDefault = 16;
constexpr std::string_view kAnswersPath = "/v1/answers/";

// True: the method is the path's. HEAD is GET without the body, which the server leaves out.
bool Allow(const Request& request, const std::string& method, Responder& responder) {
  if (request.method == method || (request.method == "HEAD" && method == "GET")) return true;
  if (request.method == "OPTIONS") {
    responder.Reply(204, {{"Allow", method + ", OPTIONS"}}, {});
  } else {
    ReplyError(responder,
               {.status = 405, .message = std::string(request.path()) + ": only " + method},
               {{"Allow", method}});
  }
  return false;
}

std::string Hex(std::uint64_t bits) {
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[bits >> shift & 15U];
  return digits;
}

}  // namespace

Door::Door(DoorWorld world, ServedModel model)
    : world_(std::move(world)),
      model_(std::move(model)),
      exchanges_(std::make_unique<Exchanges>(world_.answers, world_.grams_per_kwh)) {}
Door::~Door() = default;

void Door::Handle(const Request& request, std::unique_ptr<Responder> responder) {
  const std::string_view path = request.path();
  if (path == "/v1/chat/completions" || path == "/v1/completions") {
    if (!Allow(request, "POST", *responder)) return;
    const bool chat = path == "/v1/chat/completions";
    return Ask(chat ? AnswerKind::kChat : AnswerKind::kCompletion, request, std::move(responder));
  }
  if (path.starts_with(kAnswersPath)) {
    if (!Allow(request, "GET", *responder)) return;
    return GiveAnswer(request, path.substr(kAnswersPath.size()), std::move(responder));
  }
  if (path == "/v1/models") {
    if (Allow(request, "GET", *responder)) ListModels(*responder);
  } else if (path == "/health") {
    if (Allow(request, "GET", *responder)) GiveHealth(*responder);
  } else if (path.starts_with("/shoal/") && world_.admin != nullptr) {
    world_.admin->Handle(request, *responder);
  } else {
    ReplyError(*responder, {.status = 404, .message = "there is nothing at this path"});
  }
}

Result<std::vector<llm::TokenId>> Door::Encode(const CompletionRequest& wanted) const {
  if (wanted.kind == AnswerKind::kChat) return EncodeChat(model_, wanted.messages);
  if (!wanted.prompt_tokens.empty()) return wanted.prompt_tokens;
  return model_.tokenizer.Encode(wanted.prompt, {.add_ends = true});
}

std::string Door::NewId(AnswerKind kind) {
  const char* prefix = kind == AnswerKind::kChat ? "chatcmpl-" : "cmpl-";
  const std::string high = Hex(world_.random.Bits());
  return prefix + high + Hex(world_.random.Bits());
}

std::optional<ApiError> Door::Prepare(const CompletionRequest& wanted,
                                      std::vector<llm::TokenId>& prompt) const {
  const bool chat = wanted.kind == AnswerKind::kChat;
  const std::string field = chat ? "messages" : "prompt";
  if (!wanted.model.empty() && wanted.model != model_.name) {
    return ApiError{
        .status = 404,
        .message = "model: \"" + wanted.model + "\" is not served here; \"" + model_.name + "\" is",
        .param = "model",
        .code = "model_not_found"};
  }
  if (chat && !model_.chat) {
    return ApiError{.message = model_.name +
                               " has no chat template: it was not made for conversations; use "
                               "/v1/completions",
                    .param = field};
  }
  Result<std::vector<llm::TokenId>> tokens = Encode(wanted);
  // Whatever limit it went beyond, it is the request's fault.
  if (!tokens.ok()) {
    return ApiError{.message = field + ": " + std::string(tokens.status().message()),
                    .param = field};
  }
  prompt = *std::move(tokens);
  const std::size_t context = world_.answers.context();
  if (prompt.size() >= context) {
    return ApiError{.message = field + ": has " + std::to_string(prompt.size()) +
                               " tokens; the context, for prompt and answer, has " +
                               std::to_string(context),
                    .param = field,
                    .code = "context_length_exceeded"};
  }
  const Status sampling =
      llm::CheckSamplingOptions(wanted.sampling, model_.tokenizer.vocabulary().tokens.size());
  // All else was checked when it was read.
  if (!sampling.ok()) {
    return ApiError{.message = std::string(sampling.message()), .param = "logit_bias"};
  }
  return std::nullopt;
}

void Door::Ask(AnswerKind kind, const Request& request, std::unique_ptr<Responder> responder) {
  const auto read = ReadCompletionRequest(kind, request.body);
  if (const auto* error = std::get_if<ApiError>(&read)) return ReplyError(*responder, *error);
  const auto& wanted = std::get<CompletionRequest>(read);
  pipeline::Question question;
  if (const auto error = Prepare(wanted, question.prompt)) return ReplyError(*responder, *error);
  question.id = NewId(kind);
  const std::size_t room = world_.answers.context() - question.prompt.size();
  const std::size_t usual = kind == AnswerKind::kChat ? room : kCompletionTokensDefault;
  question.tokens_max = std::min(room, wanted.tokens_max.value_or(usual));
  question.sampling = wanted.sampling;
  question.sampling.seed = wanted.seed ? *wanted.seed : world_.random.Bits();
  question.end_tokens = model_.end_tokens;
  const AnswerNote note{
      .kind = kind,
      .model = model_.name,
      .created = world_.unix_time(),
      .stop = wanted.stop,
      .logprobs = wanted.logprobs,
      .include_usage = wanted.include_usage,
      .continues = !wanted.prompt.empty() || !wanted.prompt_tokens.empty(),
      .keep = request.Header("Shoal-Keep") == "1",
  };
  question.note = EncodeNote(note);
  auto exchange =
      std::make_unique<Exchange>(*exchanges_, model_.tokenizer, question.id, note,
                                 question.prompt.size(), wanted.stream, std::move(responder));
  exchanges_->Ask(std::move(exchange), std::move(question));
}

void Door::GiveAnswer(const Request& request, std::string_view id,
                      std::unique_ptr<Responder> responder) {
  const pipeline::AnswerRecord* record = world_.answers.Find(std::string(id));
  if (record == nullptr) {
    return ReplyError(*responder, {.status = 404,
                                   .message = "there is no such answer (any more)",
                                   .code = "answer_not_found"});
  }
  Result<AnswerNote> note = DecodeNote(record->question.note);
  if (!note.ok()) return ReplyError(*responder, ToApiError(note.status()));
  const std::size_t prompt_tokens = record->question.prompt.size();
  if (request.Query("stream") == "1") {
    return exchanges_->Follow(
        std::make_unique<Exchange>(*exchanges_, model_.tokenizer, std::string(id), *std::move(note),
                                   prompt_tokens, /*stream=*/true, std::move(responder)),
        *record);
  }
  AnswerText text(model_.tokenizer, *note);
  std::string shown;
  for (const llm::SampledToken& token : record->tokens) shown += text.Feed(token);
  const bool ended = record->ended || text.stopped();
  if (ended) shown += text.Flush();
  AnswerJson json(model_.tokenizer, std::string(id), *note);
  ReplyJson(*responder,
            json.Whole(shown, text.TakeLogprobs(), ended ? text.FinishReason(record->how) : "",
                       {.prompt_tokens = prompt_tokens,
                        .completion_tokens = text.tokens(),
                        .energy = ToEnergyUse(*record, world_.grams_per_kwh),
                        .recomputed = record->remade}));
}

void Door::ListModels(Responder& responder) const {
  const Json model = {{"id", model_.name},
                      {"object", "model"},
                      {"created", model_.created},
                      {"owned_by", "shoal"},
                      {"context_length", world_.answers.context()}};
  ReplyJson(responder, Dump({{"object", "list"}, {"data", Json::array({model})}}));
}

void Door::GiveHealth(Responder& responder) const {
  const Health health = world_.health.GetHealth();
  const bool waiting = !health.waiting.empty();
  Json json = {{"status", waiting ? "waiting" : "ok"},
               {"nodes", health.nodes},
               {"replicas", health.replicas},
               {"answers_running", health.answers_running},
               {"answers_waiting", health.answers_waiting}};
  if (waiting) json["why"] = health.waiting;
  ReplyJson(responder, Dump(json), waiting ? 503 : 200);
}

}  // namespace shoal::api
