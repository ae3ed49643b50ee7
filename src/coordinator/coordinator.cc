#include "coordinator/coordinator.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "llm/kv_cache.h"
#include "wire/enrol.h"
#include "wire/piece.h"

namespace shoal::coordinator {
namespace {

using pipeline::AnswerEnd;

constexpr Duration kSleptAfter = 6 * kTickInterval;

// Whole pages, and one more for guesses.
std::size_t PositionsFor(std::size_t tokens) {
  return (tokens / llm::kPagePositions + 2) * llm::kPagePositions;
}

}  // namespace

Coordinator::Coordinator(const Seams& seams, CoordinatorOptions options,
                         std::shared_ptr<pipeline::HeadModel> model, pipeline::LayerStore& layers,
                         pipeline::AnswerStore& store)
    : seams_(seams),
      options_(std::move(options)),
      model_(std::move(model)),
      server_(seams.network, layers),
      book_(seams.clock, store, options_.model.id),
      replica_(seams, model_, options_.replica, *this),
      // Above all epochs of former lives: a frame of theirs must not look like one of ours.
      formation_(seams, roster_, options_.model, replica_, server_, seams.random.Bits() << 32U,
                 *this) {
  revoked_ = options_.revoked;
  seams_.network.Attach(this);
  waiting_since_ = last_tick_ = seams_.clock.Now();
  for (const std::string& id : book_.Restore()) queue_.push_back(id);
  book_.SetWaiting(formation_.why_waiting());
  Admit();
  tick_ = seams_.clock.CallAfter(kTickInterval, [this] { Tick(); });
}

Coordinator::~Coordinator() {
  seams_.network.Attach(nullptr);
  seams_.clock.Cancel(tick_);
}

void Coordinator::OnPeerUp(NodeId peer) {
  roster_.Arrived(peer, seams_.clock.Now());
  TellRevoked(peer);
}

void Coordinator::OnPeerDown(NodeId peer, const Status& why) { Lose(peer, why); }

void Coordinator::OnWritable(NodeId peer, Traffic traffic) {
  if (traffic == Traffic::kBulk) server_.OnWritable(peer);
}

void Coordinator::Lose(NodeId node, const Status& why) {
  const Member* const member = roster_.Find(node);
  if (member == nullptr) return;
  const Instant heard = member->heard;
  roster_.Left(node);
  server_.OnPeerDown(node);
  formation_.OnLost(node, heard, why);
}

void Coordinator::OnFrame(NodeId from, Traffic traffic, Frame frame) {
  Member* const member = roster_.Find(from);
  if (member == nullptr) return;
  member->heard = seams_.clock.Now();
  if (traffic == Traffic::kActivations) {
    const NodeId to = wire::BatchDestination(frame);
    if (to != seams_.network.self()) {
      // Two nodes that cannot reach each other. If this fails, the batch is late.
      (void)seams_.network.Send(to, Traffic::kActivations, std::move(frame)).ok();
      return;
    }
    Result<wire::Batch> batch = wire::DecodeBatch(frame);
    if (!batch.ok()) return Ignore(from, batch.status());
    return replica_.OnBatch(from, *std::move(batch));
  }
  if (traffic == Traffic::kBulk) {
    const Result<wire::Piece> piece = wire::DecodePiece(frame);
    if (!piece.ok()) return Ignore(from, piece.status());
    if (piece->kind != wire::Piece::Kind::kGet) return;
    const std::uint64_t refused = server_.refused();
    server_.OnGet(from, *piece);
    if (server_.refused() != refused && !member->told_of_refusal) {
      member->told_of_refusal = true;
      OnNews("node " + std::to_string(ToNumber(from)) +
             " asked for a layer that it was not given; refused");
    }
    return;
  }
  const Result<wire::pb::ToHead> message = wire::DecodeToHead(frame);
  if (!message.ok()) return Ignore(from, message.status());
  switch (message->body_case()) {
    case wire::pb::ToHead::kHello:
      member->hello = message->hello();
      // It is shown to operators and told to other nodes.
      if (!wire::IsPlainText(member->hello.address())) member->hello.clear_address();
      member->greeted = true;
      member->layers = {message->hello().cached().begin(), message->hello().cached().end()};
      return formation_.OnArrived();
    case wire::pb::ToHead::kTelemetry:
      member->telemetry = message->telemetry();
      return;
    case wire::pb::ToHead::kState:
      return formation_.OnState(from, message->state());
    case wire::pb::ToHead::kTrouble:
      return formation_.OnTrouble(from, message->trouble());
    case wire::pb::ToHead::kPing: {
      wire::pb::ToNode pong;
      pong.set_pong(message->ping());
      (void)seams_.network.Send(from, Traffic::kControl, wire::Encode(pong)).ok();
      return;
    }
    default:
      return;
  }
}

void Coordinator::Ignore(NodeId from, const Status& why) {
  Member* const member = roster_.Find(from);
  if (member == nullptr || std::exchange(member->told_of_garbage, true)) return;
  OnNews("node " + std::to_string(ToNumber(from)) + " sends what no node sends (" +
         std::string(why.message()) + "); ignored");
}

Status Coordinator::Ask(pipeline::Question question, pipeline::AnswerEvents* events) {
  if (question.id.empty() || question.id.size() > pipeline::kAnswerIdBytesMax ||
      question.note.size() > pipeline::kAnswerNoteBytesMax) {
    return {Code::kInvalidArgument, "the answer's id or note has a bad size"};
  }
  if (question.prompt.empty() || question.tokens_max == 0) {
    return {Code::kInvalidArgument, "an empty prompt, or no token to answer with"};
  }
  if (question.prompt.size() >= options_.context) {
    return {Code::kInvalidArgument, "the prompt has " + std::to_string(question.prompt.size()) +
                                        " tokens, and the context " +
                                        std::to_string(options_.context)};
  }
  for (const std::int32_t token : question.prompt) {
    if (token < 0 || static_cast<std::size_t>(token) >= model_->vocab()) {
      return {Code::kInvalidArgument, "the model has no token " + std::to_string(token)};
    }
  }
  SHOAL_RETURN_IF_ERROR(llm::CheckSamplingOptions(question.sampling, model_->vocab()));
  if (book_.open() >= options_.open_max) {
    return {Code::kResourceExhausted,
            std::to_string(book_.open()) + " answers are under way; try again later"};
  }
  question.tokens_max = std::min(question.tokens_max, options_.context - question.prompt.size());
  const std::string id = question.id;
  SHOAL_RETURN_IF_ERROR(book_.Open(std::move(question), events));
  queue_.push_back(id);
  Admit();
  return {};
}

// As many as there is room for in the stages, in the order in which they came.
void Coordinator::Admit() {
  while (!queue_.empty()) {
    const std::string id = queue_.front();
    const pipeline::AnswerRecord* const record = book_.Find(id);
    if (record == nullptr || record->ended) {
      queue_.pop_front();
      continue;
    }
    const pipeline::Question& question = record->question;
    const std::size_t positions =
        PositionsFor(question.prompt.size() + question.tokens_max + options_.replica.guesses);
    if (positions_used_ + positions > options_.model.positions && positions_used_ > 0) return;
    queue_.pop_front();
    positions_used_ += positions;
    const std::uint64_t number = next_number_++;
    running_[number] = {id, positions};
    numbers_[id] = number;
    std::vector<std::int32_t> history = question.prompt;
    for (const llm::SampledToken& token : record->tokens) history.push_back(token.token);
    replica_.Add(number, std::move(history), std::make_shared<llm::Sampler>(question.sampling));
  }
}

void Coordinator::OnDrawn(std::uint64_t sequence, const llm::SampledToken& token) {
  formation_.OnDrawn();
  const std::string id = running_.at(sequence).id;
  book_.Add(id, token);
  // Whoever was told may have stopped it.
  if (!running_.contains(sequence)) return;
  const pipeline::AnswerRecord& record = *book_.Find(id);
  const std::vector<std::int32_t>& ends = record.question.end_tokens;
  if (std::find(ends.begin(), ends.end(), token.token) != ends.end()) {
    Finish(sequence, AnswerEnd::kEndToken, {});
  } else if (record.tokens.size() >= record.question.tokens_max) {
    Finish(sequence, AnswerEnd::kLength, {});
  }
}

void Coordinator::OnDamaged(std::uint64_t sequence) {
  Finish(sequence, AnswerEnd::kFailed,
         {Code::kCorruption, "the model computes infinities or NaN: its weights are damaged"});
}

void Coordinator::Finish(std::uint64_t sequence, AnswerEnd how, const Status& status) {
  const auto found = running_.find(sequence);
  SHOAL_CHECK(found != running_.end());
  const Running running = found->second;
  running_.erase(found);
  numbers_.erase(running.id);
  positions_used_ -= running.positions;
  replica_.Remove(sequence);
  book_.End(running.id, how, status);
  Admit();
}

void Coordinator::Stop(const std::string& id) {
  if (const auto found = numbers_.find(id); found != numbers_.end()) {
    return Finish(found->second, AnswerEnd::kStopped, {});
  }
  const pipeline::AnswerRecord* const record = book_.Find(id);
  if (record != nullptr && !record->ended) book_.End(id, AnswerEnd::kStopped, {});
}

Status Coordinator::Listen(const std::string& id, std::size_t first,
                           pipeline::AnswerEvents* events) {
  return book_.Listen(id, first, events);
}

const pipeline::AnswerRecord* Coordinator::Find(const std::string& id) const {
  return book_.Find(id);
}

void Coordinator::Forget(pipeline::AnswerEvents* events) { book_.Forget(events); }

Status Coordinator::Drain(NodeId node, bool draining) {
  Member* const member = roster_.Find(node);
  if (member == nullptr) {
    return {Code::kNotFound, "node " + std::to_string(ToNumber(node)) + " is not here"};
  }
  member->draining = draining;
  if (draining) {
    formation_.OnDraining(node);
  } else {
    formation_.OnArrived();
  }
  return {};
}

void Coordinator::Revoke(NodeId node, const std::set<std::uint64_t>& serials) {
  revoked_ = serials;
  OnUnfit(node, {Code::kInvalidArgument, "it was evicted"});
  for (const auto& [id, member] : roster_.members()) TellRevoked(id);
}

void Coordinator::TellRevoked(NodeId node) {
  wire::pb::ToNode message;
  for (const std::uint64_t serial : revoked_) message.mutable_revoked()->add_serials(serial);
  if (!revoked_.empty()) {
    (void)seams_.network.Send(node, Traffic::kControl, wire::Encode(message)).ok();
  }
}

void Coordinator::OnBroken(const Status& why) { formation_.OnBroken(why); }

void Coordinator::OnFormationState(const std::string& why_waiting) {
  if (!why_waiting.empty()) waiting_since_ = seams_.clock.Now();
  book_.SetWaiting(why_waiting);
}

void Coordinator::OnUnfit(NodeId node, const Status& why) {
  seams_.network.Disconnect(node);
  Lose(node, why);
}

void Coordinator::OnNews(const std::string& line) {
  if (options_.news) options_.news(line);
}

void Coordinator::Tick() {
  const Instant now = seams_.clock.Now();
  // The head itself was asleep: that it heard nothing says nothing about the others.
  const bool slept = now - last_tick_ > kSleptAfter;
  last_tick_ = now;
  tick_ = seams_.clock.CallAfter(kTickInterval, [this] { Tick(); });
  if (slept) {
    for (auto& [id, member] : roster_.members()) member.heard = now;
  }
  const bool busy = replica_.size() > 0;
  std::vector<NodeId> silent;
  for (const auto& [id, member] : roster_.members()) {
    const bool needed = busy && formation_.Needs(id);
    if (now - member.heard > (needed ? kSilenceBusy : kSilenceIdle)) silent.push_back(id);
  }
  for (const NodeId node : silent) {
    OnUnfit(node, {Code::kDeadlineExceeded, "silent for too long"});
  }
  formation_.Tick();
  if (!formation_.why_waiting().empty() && now - waiting_since_ > options_.wait_max) {
    const Status why(Code::kUnavailable, "no phones for too long: " + formation_.why_waiting());
    while (!running_.empty()) Finish(running_.begin()->first, AnswerEnd::kFailed, why);
    waiting_since_ = now;
  }
}

}  // namespace shoal::coordinator
