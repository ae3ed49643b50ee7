#include <algorithm>
#include <utility>

#include "api/error.h"
#include "api/exchange_internal.h"

namespace shoal::api {

Exchange::Exchange(ExchangeOwner& owner, const llm::Tokenizer& tokenizer, std::string id,
                   AnswerNote note, std::size_t prompt_tokens, bool stream,
                   std::unique_ptr<Responder> client)
    : owner_(owner),
      id_(std::move(id)),
      note_(std::move(note)),
      prompt_tokens_(prompt_tokens),
      stream_(stream),
      client_(std::move(client)),
      text_(tokenizer, note_),
      json_(tokenizer, id_, note_) {
  client_->OnGone([this] { owner_.OnClientGone(*this); });
}

void Exchange::Begin() {
  if (!stream_) return;
  client_->Begin(200, {{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-cache"}});
  if (note_.kind == AnswerKind::kChat) Event(json_.RoleChunk());
}

void Exchange::Catch(std::span<const llm::SampledToken> tokens) {
  std::string text;
  for (const llm::SampledToken& token : tokens) text += text_.Feed(token);
  Show(text);
  if (text_.stopped()) Finish(pipeline::AnswerEnd::kStopped, {});
}

void Exchange::Refuse(const Status& status) { ReplyError(*client_, ToApiError(status)); }

void Exchange::OnToken(std::size_t /*index*/, const llm::SampledToken& token) {
  if (text_.stopped()) return;  // They were drawn before the head heard of it.
  Show(text_.Feed(token));
  if (!text_.stopped()) return;
  Finish(pipeline::AnswerEnd::kStopped, {});
  owner_.OnStopString(*this);
}

void Exchange::OnEnd(pipeline::AnswerEnd how, const Status& status) {
  Finish(how, status);
  owner_.OnDone(*this);
}

void Exchange::OnWaiting(const std::string& why) {
  if (client_ == nullptr || !stream_ || why.empty()) return;
  std::string line = why;
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < ' '; }, ' ');
  client_->Write(": waiting: " + line + "\n\n");
}

void Exchange::Show(const std::string& text) {
  if (!stream_) {
    whole_ += text;
  } else if (!text.empty() && client_ != nullptr) {
    Event(json_.TextChunk(text, text_.TakeLogprobs()));
  }
}

// The last text, and logprobs of tokens that had none to show.
void Exchange::ShowRest() {
  Show(text_.Flush());
  const std::vector<llm::SampledToken> tokens =
      stream_ ? text_.TakeLogprobs() : std::vector<llm::SampledToken>();
  if (!tokens.empty()) Event(json_.TextChunk("", tokens));
}

void Exchange::Event(const std::string& data) { client_->Write("data: " + data + "\n\n"); }

void Exchange::Finish(pipeline::AnswerEnd how, const Status& status) {
  if (client_ == nullptr) return;
  ShowRest();
  const Usage usage{.prompt_tokens = prompt_tokens_,
                    .completion_tokens = text_.tokens(),
                    .energy = owner_.EnergyOf(*this)};
  const bool failed = how == pipeline::AnswerEnd::kFailed && !text_.stopped();
  if (!stream_ && failed) {
    ReplyError(*client_, ToApiError(status));
  } else if (!stream_) {
    ReplyJson(*client_, json_.Whole(whole_, text_.TakeLogprobs(), text_.FinishReason(how), usage));
  } else if (failed) {
    Event(ToJson(ToApiError(status)));  // Without [DONE]: it is not.
    client_->End();
  } else {
    Event(json_.EndChunk(text_.FinishReason(how)));
    if (note_.include_usage) Event(json_.UsageChunk(usage));
    Event("[DONE]");
    client_->End();
  }
  client_ = nullptr;
}

}  // namespace shoal::api
