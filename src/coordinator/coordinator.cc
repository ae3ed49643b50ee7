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

// Of sequences that are over, as many as the book has answers.
constexpr std::size_t kOverMax = pipeline::AnswerBook::kEndedMax;

CoordinatorOptions WithReceipts(CoordinatorOptions options) {
  options.model.receipts = options.audit > 0;
  return options;
}

pipeline::ReplicaOptions ObservedBy(pipeline::ReplicaOptions options, Auditor* auditor) {
  options.observer = auditor;
  return options;
}

}  // namespace

Coordinator::Coordinator(const Seams& seams, CoordinatorOptions options,
                         std::shared_ptr<pipeline::HeadModel> model, pipeline::LayerStore& layers,
                         pipeline::AnswerStore& store)
    : seams_(seams),
      options_(WithReceipts(std::move(options))),
      model_(std::move(model)),
      accounts_(seams.clock, options_.accounts),
      server_(seams.network, layers),
      book_(seams.clock, store, options_.model.id),
      auditor_(MakeAuditor(layers)),
      quarantined_(options_.quarantined),
      // Above all epochs of former lives: a frame of theirs must not look like one of ours.
      lines_({seams, roster_, options_.model, model_, ObservedBy(options_.replica, auditor_.get()),
              server_, &accounts_},
             seams.random.Bits() << 32U, *this),
      caretaker_(options_.local_minute, options_.rules) {
  revoked_ = options_.revoked;
  for (const auto& [node, rules] : options_.rules) NoteTrust(node, rules);
  seams_.network.Attach(this);
  waiting_since_ = last_tick_ = seams_.clock.Now();
  for (const std::string& id : book_.Restore()) queue_.push_back(id);
  OnLinesChanged();
  tick_ = seams_.clock.CallAfter(kTickInterval, [this] { Tick(); });
}

std::unique_ptr<Auditor> Coordinator::MakeAuditor(pipeline::LayerStore& layers) {
  if (options_.audit <= 0) return nullptr;
  AuditorEvents& events = *this;
  return std::make_unique<Auditor>(seams_, roster_, options_.model, model_, layers, options_.audit,
                                   events);
}

Coordinator::~Coordinator() {
  seams_.network.Attach(nullptr);
  seams_.clock.Cancel(tick_);
}

void Coordinator::OnPeerUp(NodeId peer) {
  roster_.Arrived(peer, seams_.clock.Now());
  roster_.Find(peer)->quarantined = quarantined_.contains(peer);
  roster_.Find(peer)->trusted = trusted_.contains(peer);
  roster_.Find(peer)->draining = drained_.contains(peer);
  accounts_.OnArrived(peer);
  Note("node " + std::to_string(ToNumber(peer)) + " is here");
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
  const bool rested = member->resting;
  roster_.Left(node);
  accounts_.OnLeft(node, std::string(why.message()));
  Note("node " + std::to_string(ToNumber(node)) + " is gone: " + std::string(why.message()));
  server_.OnPeerDown(node);
  if (auditor_) auditor_->OnLost(node);
  lines_.OnLost(node, heard, why);
  if (rested) OnLinesChanged();  // Answers may have waited for it to be rested.
}

void Coordinator::OnFrame(NodeId from, Traffic traffic, Frame frame) {
  Member* const member = roster_.Find(from);
  if (member == nullptr) return;
  member->heard = seams_.clock.Now();
  if (traffic == Traffic::kActivations) {
    const NodeId to = wire::BatchDestination(frame);
    if (to != seams_.network.self()) return Relay(from, to, std::move(frame));
    Result<wire::Batch> batch = wire::DecodeBatch(frame);
    if (!batch.ok()) return Ignore(from, batch.status());
    if (auditor_) auditor_->OnBatch(from, *batch);
    return lines_.OnBatch(from, *std::move(batch));
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
      caretaker_.OnHello(from, member->hello);
      Tend(from);
      return lines_.OnArrived();
    case wire::pb::ToHead::kTelemetry:
      member->telemetry = message->telemetry();
      if (member->telemetry.has_slowness()) {
        roster_.Measured(from, member->telemetry.slowness(), seams_.clock.Now());
      }
      accounts_.OnTelemetry(from, member->telemetry);
      caretaker_.OnTelemetry(from, member->telemetry, member->heard);
      return Tend(from);
    case wire::pb::ToHead::kReceipts:
      if (auditor_) auditor_->OnReceipts(from, message->receipts());
      return;
    case wire::pb::ToHead::kRowsGone:
      if (auditor_) auditor_->OnRowsGone(from, message->rows_gone());
      return;
    case wire::pb::ToHead::kState:
      if (auditor_) auditor_->OnState(from, message->state());
      return lines_.OnState(from, message->state());
    case wire::pb::ToHead::kTrouble:
      return lines_.OnTrouble(from, message->trouble());
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

// For two nodes that cannot reach each other, or contradict each other. What comes from the head is
// believed, so it must come from the stage that it is said to come from.
void Coordinator::Relay(NodeId from, NodeId to, Frame frame) {
  const Result<wire::Batch> batch = wire::DecodeBatch(frame);
  if (!batch.ok()) return Ignore(from, batch.status());
  if (!lines_.MayPass(from, *batch)) return;
  if (auditor_ && !auditor_->OnRelayed(*batch)) return;
  // If this fails, the batch is late.
  (void)seams_.network.Send(to, Traffic::kActivations, std::move(frame)).ok();
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

// As many as the lines have room for, in the order in which they came.
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
    if (!lines_.HasRoom(positions)) return;
    queue_.pop_front();
    const std::uint64_t number = next_number_++;
    running_[number] = id;
    numbers_[id] = number;
    accounts_.Open(number, record->energy);
    std::vector<std::int32_t> history = question.prompt;
    for (const llm::SampledToken& token : record->tokens) history.push_back(token.token);
    lines_.Add(number, positions, std::move(history),
               std::make_shared<llm::Sampler>(question.sampling));
  }
}

void Coordinator::OnDrawn(std::uint64_t sequence, const llm::SampledToken& token) {
  const std::string id = running_.at(sequence);
  accounts_.OnToken(sequence);
  book_.SetEnergy(id, accounts_.EnergyOf(sequence));
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

std::string Coordinator::Close(std::uint64_t sequence) {
  const auto found = running_.find(sequence);
  SHOAL_CHECK(found != running_.end());
  std::string id = std::move(found->second);
  running_.erase(found);
  numbers_.erase(id);
  book_.SetEnergy(id, accounts_.EnergyOf(sequence));
  accounts_.Close(sequence);
  return id;
}

void Coordinator::Finish(std::uint64_t sequence, AnswerEnd how, const Status& status) {
  const std::string id = Close(sequence);
  lines_.Remove(sequence);
  NoteOver(sequence, id);
  book_.End(id, how, status);
  Admit();
}

void Coordinator::EndEarly(const std::string& id, AnswerEnd how) {
  if (const auto found = numbers_.find(id); found != numbers_.end()) {
    return Finish(found->second, how, {});
  }
  const pipeline::AnswerRecord* const record = book_.Find(id);
  if (record != nullptr && !record->ended) book_.End(id, how, {});
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
  if (member == nullptr && !drained_.contains(node)) {
    return {Code::kNotFound, "node " + std::to_string(ToNumber(node)) + " is not here"};
  }
  if (draining) {
    drained_.insert(node);
  } else {
    drained_.erase(node);
  }
  if (member == nullptr) return {};
  member->draining = draining;
  if (draining) {
    lines_.OnDraining(node);
  } else {
    lines_.OnArrived();
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

void Coordinator::SetRules(NodeId node, const WorkRules& rules) {
  caretaker_.SetRules(node, rules);
  NoteTrust(node, rules);
  Tend(node);
}

// Counts from the next route on: whoever is trusted no more keeps what it has seen anyway.
void Coordinator::NoteTrust(NodeId node, const WorkRules& rules) {
  const bool trusted = rules.trusted.value_or(false);
  if (trusted) {
    trusted_.insert(node);
  } else {
    trusted_.erase(node);
  }
  if (Member* const member = roster_.Find(node)) member->trusted = trusted;
}

void Coordinator::Tend(NodeId node) {
  Member* const member = roster_.Find(node);
  if (member == nullptr || !member->greeted) return;
  for (const std::string& line : caretaker_.Look(node, seams_.clock.Now())) OnNews(line);
  const CareVerdict& verdict = caretaker_.VerdictOn(node);
  if (std::exchange(member->duty, verdict.duty) != verdict.duty) {
    wire::pb::ToNode message;
    message.mutable_limit()->set_duty(verdict.duty);
    (void)seams_.network.Send(node, Traffic::kControl, wire::Encode(message)).ok();
  }
  const bool rests = Rests(verdict.state);
  if (std::exchange(member->resting, rests) != rests) {
    if (!rests) lines_.OnArrived();
    OnLinesChanged();
  }
  // Every time: what was to take its layers may have gone, too.
  if (rests) lines_.OnResting(node, verdict.state == CareState::kStopped);
}

// What they have heard so far is in the book: they go on from there wherever there is room, before
// those who have not begun.
void Coordinator::OnHomeless(const std::vector<std::uint64_t>& sequences) {
  for (auto at = sequences.rbegin(); at != sequences.rend(); ++at) {
    std::string id = Close(*at);
    NoteOver(*at, id);
    queue_.push_front(std::move(id));
  }
  Admit();
}

void Coordinator::NoteOver(std::uint64_t sequence, const std::string& id) {
  if (!auditor_) return;
  auditor_->OnOver(sequence);
  over_[sequence] = id;
  if (over_.size() > kOverMax) over_.erase(over_.begin());
}

// Later: it is found out in the middle of a batch.
void Coordinator::OnGuilty(NodeId node, const std::string& evidence) {
  guilty_.emplace_back(node, evidence);
}

void Coordinator::OnDispute(const Dispute& dispute) { disputes_.push_back(dispute); }

void Coordinator::Settle(const Dispute& dispute) {
  lines_.OnDispute(dispute.sender, dispute.receiver);
  MakeAgain(dispute.sequence,
            {Code::kCorruption, "nodes " + std::to_string(ToNumber(dispute.sender)) + " and " +
                                    std::to_string(ToNumber(dispute.receiver)) +
                                    " disagree about what passed between them; the answer is "
                                    "being made again"});
  Admit();
}

void Coordinator::Quarantine(NodeId node, const std::string& evidence) {
  if (!quarantined_.emplace(node, evidence).second) return;
  OnNews("node " + std::to_string(ToNumber(node)) + " is quarantined: " + evidence);
  if (options_.on_quarantine) options_.on_quarantine(node, evidence);
  OnUnfit(node, {Code::kCorruption, "it computes wrongly"});
  const Status why(Code::kCorruption,
                   "node " + std::to_string(ToNumber(node)) +
                       " computed wrongly and had a part in this answer; it is being made again");
  for (const std::uint64_t sequence : auditor_->TakeTouched(node)) MakeAgain(sequence, why);
  Admit();
}

// As a new sequence: what stages hold of the old one was made from wrong rows.
void Coordinator::MakeAgain(std::uint64_t sequence, const Status& why) {
  std::string id;
  if (const auto over = over_.find(sequence); over != over_.end()) {
    id = over->second;
    over_.erase(over);
    // It may go on in another line, from tokens that were drawn in this one.
    if (const auto found = numbers_.find(id); found != numbers_.end()) sequence = found->second;
  }
  if (running_.contains(sequence)) {
    id = Close(sequence);
    lines_.Remove(sequence);
    auditor_->OnOver(sequence);
  }
  if (id.empty()) return;
  // What other sequences of it there were does not matter any more.
  std::erase_if(over_, [&](const auto& over) { return over.second == id; });
  if (!book_.Restart(id, why)) return;
  OnNews("answer " + id + " is made again: " + std::string(why.message()));
  if (std::find(queue_.begin(), queue_.end(), id) == queue_.end()) queue_.push_back(id);
}

void Coordinator::Pardon(NodeId node) {
  if (quarantined_.erase(node) == 0) return;
  if (Member* const member = roster_.Find(node)) member->quarantined = false;
  lines_.OnArrived();
}

void Coordinator::OnLinesChanged() {
  const std::string why = caretaker_.WhyWaiting(lines_.why_waiting(), roster_);
  if (why != why_waiting_) {
    if (!why.empty()) waiting_since_ = seams_.clock.Now();
    why_waiting_ = why;
    book_.SetWaiting(why);
  }
  Admit();
}

void Coordinator::OnUnfit(NodeId node, const Status& why) {
  seams_.network.Disconnect(node);
  Lose(node, why);
}

void Coordinator::Note(const std::string& line) {
  events_.Add(options_.unix_time ? options_.unix_time() : 0, line);
}

void Coordinator::OnNews(const std::string& line) {
  Note(line);
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
  std::vector<NodeId> silent;
  for (const auto& [id, member] : roster_.members()) {
    if (now - member.heard > (lines_.Needs(id) ? kSilenceBusy : kSilenceIdle)) silent.push_back(id);
  }
  for (const NodeId node : silent) {
    OnUnfit(node, {Code::kDeadlineExceeded, "silent for too long"});
  }
  if (now >= tend_at_) {
    tend_at_ = now + kTendInterval;
    std::vector<NodeId> here;
    for (const auto& [id, member] : roster_.members()) here.push_back(id);
    for (const NodeId node : here) Tend(node);
  }
  lines_.Tick();
  if (auditor_) auditor_->Tick();
  for (const auto& [node, evidence] : std::exchange(guilty_, {})) Quarantine(node, evidence);
  for (const Dispute& dispute : std::exchange(disputes_, {})) Settle(dispute);
  accounts_.Tick();
  if (!why_waiting_.empty() && now - waiting_since_ > options_.wait_max) {
    FailAll({Code::kUnavailable, "no phones for too long: " + why_waiting_});
    waiting_since_ = now;
  }
}

void Coordinator::FailAll(const Status& why) {
  while (!running_.empty()) Finish(running_.begin()->first, AnswerEnd::kFailed, why);
  for (const std::string& id : std::exchange(queue_, {})) {
    const pipeline::AnswerRecord* const record = book_.Find(id);
    if (record != nullptr && !record->ended) book_.End(id, AnswerEnd::kFailed, why);
  }
}

}  // namespace shoal::coordinator
