#include "coordinator/auditor.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "kernels/revision.h"
#include "pipeline/row_log.h"
#include "wire/row_hash.h"

namespace shoal::coordinator {
namespace {

// Receipts come with telemetry, every 250 ms while a node works.
constexpr Duration kSettleFor = std::chrono::milliseconds(800);
// What has not been accounted for by then will not be.
constexpr Duration kSettleMax = std::chrono::seconds(10);
// Something must happen in an audit.
constexpr Duration kStepMax = std::chrono::seconds(20);
constexpr Duration kReadyMax = std::chrono::minutes(2);  // Layers are hashed, by the head too.
constexpr std::size_t kChunk = 16;
// Those that wait are dropped rather than that they pile up.
constexpr std::size_t kWaitingMax = 256;
// A node that gives no account of its work so often is as good as one that lies: it could choose
// what is looked at. Honest ones need no excuse, as far as we know.
constexpr double kExcusesMax = 16;
constexpr Duration kForgivenAfter = std::chrono::minutes(30);  // One of them.
constexpr std::size_t kTouchedMax = 4096;

std::string Name(NodeId node) {
  return node == kHeadNode ? "the head" : "node " + std::to_string(ToNumber(node));
}

std::string Hex(std::uint64_t hash) {
  std::array<char, 20> text{};
  (void)std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash));
  return text.data();
}

std::string Describe(const StageWork& work, std::size_t position) {
  return "sequence " + std::to_string(work.sequence) + ", position " + std::to_string(position) +
         ", layers [" + std::to_string(work.range.first) + "," + std::to_string(work.range.end) +
         ")";
}

}  // namespace

Auditor::Auditor(const Seams& seams, Roster& roster, const ModelPlan& model,
                 std::shared_ptr<pipeline::HeadModel> head, pipeline::LayerStore& layers,
                 double budget, AuditorEvents& events)
    : seams_(seams),
      roster_(roster),
      model_(model),
      head_(std::move(head)),
      lots_(budget, seams.random),
      events_(events),
      ledger_(seams.network.self()),
      recomputer_(seams, model, layers, head_->parallel()) {}

void Auditor::OnSent(const pipeline::Route& route, const wire::Batch& batch,
                     const std::vector<std::int32_t>& tokens, std::vector<std::uint64_t> hashes) {
  ledger_.Sent(route, batch, tokens, std::move(hashes));
  for (const pipeline::RouteStage& stage : route.stages) {
    std::set<std::uint64_t>& touched = touched_[stage.node];
    for (const wire::Run& run : batch.runs) touched.insert(run.sequence);
    while (touched.size() > kTouchedMax) touched.erase(touched.begin());
  }
}

void Auditor::OnReturned(const wire::Batch& batch) { HearDisputes(ledger_.Returned(batch)); }

bool Auditor::OnRelayed(const wire::Batch& batch) {
  const bool pass = ledger_.Relayed(batch);
  HearContradictions();
  return pass;
}

void Auditor::OnReceipts(NodeId from, const wire::pb::Receipts& receipts) {
  HearDisputes(ledger_.Add(from, receipts));
  tally_.of_work = ledger_.accounted();
  HearContradictions();
  HearMisled();
}

void Auditor::HearMisled() {
  for (const NodeId node : ledger_.TakeMisled()) {
    const auto is_of = [&](const Audit& audit) {
      return audit.work.node == node || audit.work.upstream == node;
    };
    std::erase_if(suspects_, [&](const Suspect& suspect) { return suspect.node == node; });
    std::erase_if(waiting_, is_of);
    if (audit_ && is_of(*audit_)) Void();
  }
}

void Auditor::BlameSuspects() {
  const Instant now = seams_.clock.Now();
  const auto due = [&](const Suspect& suspect) { return now - suspect.at >= kSettleFor; };
  const std::vector<Suspect> all = suspects_;
  std::erase_if(suspects_, due);
  for (const Suspect& suspect : all) {
    if (due(suspect)) Blame(suspect.node, suspect.evidence);
  }
}

// What comes back to the head the head has seen itself; between two nodes, it is one word against
// another.
void Auditor::HearDisputes(const std::vector<Dispute>& disputes) {
  for (const Dispute& dispute : disputes) {
    const NodeId self = seams_.network.self();
    if (dispute.receiver == self || dispute.sender == self) {
      const NodeId node = dispute.receiver == self ? dispute.sender : dispute.receiver;
      Blame(node, "of rows of sequence " + std::to_string(dispute.sequence) +
                      (dispute.receiver == self ? " it says that it sent others than came"
                                                : " it says that others came than were sent"));
    } else {
      events_.OnDispute(dispute);
    }
  }
}

void Auditor::HearContradictions() {
  for (const NodeId node : ledger_.TakeContradicted()) {
    if (node != seams_.network.self()) {
      Blame(node, "of rows that passed the head it says something else than the head saw");
    }
  }
}

void Auditor::OnOver(std::uint64_t sequence) {
  over_.insert(sequence);
  if (over_.size() > kTouchedMax) over_.erase(over_.begin());
  ended_.push_back({sequence, seams_.clock.Now(), ledger_.rows_sent()});
}

void Auditor::Tick() {
  Settle();
  BlameSuspects();
  const Member* const where = audit_ ? roster_.Find(recomputer_.where()) : nullptr;
  if (where != nullptr && where->resting) {
    TryAtHead();
  } else if (audit_ && seams_.clock.Now() > deadline_) {
    if (wants_rows_) {
      RowsMissing("it does not show the rows that it made");
    } else {
      TryAtHead();
    }
  }
  if (!audit_) StartNext();
}

void Auditor::Settle() {
  const Instant now = seams_.clock.Now();
  std::erase_if(ended_, [&](const Ended& ended) {
    if (now - ended.at < kSettleFor) return false;
    if (now - ended.at < kSettleMax && !ledger_.Complete(ended.sequence)) return false;
    Pick(ended);
    return true;
  });
}

void Auditor::Pick(const Ended& ended) {
  const std::uint64_t sequence = ended.sequence;
  std::vector<StageWork> works = ledger_.WorkOn(sequence);
  for (StageWork& work : works) {
    if (!lots_.Draw(work.node)) continue;
    if (waiting_.size() == kWaitingMax) waiting_.pop_front();
    Audit audit;
    audit.tokens = ledger_.Tokens(sequence);
    audit.work = std::move(work);
    audit.ended = ended;
    waiting_.push_back(std::move(audit));
  }
  for (const auto& [node, batch] : ledger_.Evasive(sequence)) {
    if (roster_.Find(node) == nullptr || WasLostSince(node, ended.at)) continue;
    // One batch may concern many answers.
    if (batch <= excuses_[node].batch) continue;
    excuses_[node].batch = batch;
    Excuse(node, "it does not account for its work");
  }
  ledger_.Forget(sequence);
}

void Auditor::StartNext() {
  if (waiting_.empty()) return;
  Audit next = std::move(waiting_.front());
  waiting_.pop_front();
  Start(std::move(next));
}

// Nodes that have the layers; else the head, which has all. Of a second opinion, somebody who has
// not given the first.
NodeId Auditor::ChooseWhere(const Audit& audit) {
  const NodeId self = seams_.network.self();
  if (audit.settled || audit.at_head) return self;
  const auto ends = static_cast<std::int64_t>(model_.trusted_ends);
  const auto layers = static_cast<std::int64_t>(model_.layers.size());
  const bool of_ends = ends > 0 && (audit.work.range.first < ends ||  // Rows say much there.
                                    audit.work.range.end + ends > layers);
  std::vector<NodeId> able;
  for (const auto& [id, member] : roster_.members()) {
    if (id == audit.work.node || id == audit.doubter || !member.greeted || member.draining ||
        member.resting || member.quarantined || (of_ends && !member.trusted) ||
        member.hello.arithmetic() != kernels::kKernelRevision) {
      continue;
    }
    bool has_all = true;
    for (std::int64_t i = audit.work.range.first; has_all && i < audit.work.range.end; ++i) {
      has_all = member.layers.contains(model_.layers[static_cast<std::size_t>(i)].sha256());
    }
    if (has_all) able.push_back(id);
  }
  return able.empty() ? self : able[seams_.random.Below(able.size())];
}

void Auditor::Start(Audit audit) {
  audit_ = std::move(audit);
  at_ = 0;
  count_ = 0;
  wants_rows_ = false;
  deadline_ = seams_.clock.Now() + kReadyMax;
  recomputer_.Begin(events_.NextAudit(), ChooseWhere(*audit_), audit_->work.range,
                    audit_->work.given.size(), [this](const Status& status) {
                      if (!status.ok()) return TryAtHead();
                      Next();
                    });
}

void Auditor::TryAtHead() {
  if (audit_->at_head || recomputer_.where() == seams_.network.self()) return Void();
  Audit audit = *std::exchange(audit_, std::nullopt);
  recomputer_.End();
  audit.at_head = true;
  Start(std::move(audit));
}

void Auditor::Next() {
  const StageWork& work = audit_->work;
  // A second opinion is asked about one position, and those before it.
  const bool second = audit_->doubter != NodeId{};
  const std::size_t end = second ? audit_->doubted_at + 1 : work.given.size();
  if (at_ == end) return Right();
  deadline_ = seams_.clock.Now() + kStepMax;
  count_ = std::min(kChunk, end - at_);
  if (work.upstream == seams_.network.self()) return EmbedRows(count_);
  wants_rows_ = true;
  wire::pb::ToNode message;
  wire::pb::RowsGet& get = *message.mutable_rows_get();
  get.set_audit(recomputer_.number());
  get.set_sequence(work.sequence);
  get.set_boundary(static_cast<std::uint32_t>(work.range.first));
  get.set_begin(static_cast<std::uint32_t>(at_));
  get.set_count(static_cast<std::uint32_t>(count_));
  if (!seams_.network.Send(work.upstream, Traffic::kControl, wire::Encode(message)).ok()) Void();
}

void Auditor::EmbedRows(std::size_t count) {
  struct Embedding {
    std::shared_ptr<pipeline::HeadModel> head;
    std::vector<std::int32_t> tokens;
    std::vector<std::uint16_t> rows;
  };
  const auto begin = audit_->tokens.begin() + static_cast<std::ptrdiff_t>(at_);
  const auto work = std::make_shared<Embedding>(
      Embedding{head_, {begin, begin + static_cast<std::ptrdiff_t>(count)}, {}});
  const double bytes = static_cast<double>(count * model_.dim) * 2;
  const Status submitted = seams_.executor.Submit(
      {.tag = {.step = at_, .epoch = recomputer_.number()},
       .work = {.operations = bytes, .bytes_moved = bytes},
       .run = [work] { work->rows = work->head->Embed(work->tokens); },
       .done =
           [this, work, alive = std::weak_ptr<int>(alive_)](JobTag tag) {
             if (alive.expired() || !audit_ || tag.epoch != recomputer_.number()) return;
             OnRows(std::move(work->rows));
           }});
  if (!submitted.ok()) Void();
}

void Auditor::OnBatch(NodeId from, const wire::Batch& batch) {
  if (audit_ && wants_rows_ && from == audit_->work.upstream &&
      batch.epoch == recomputer_.number()) {
    wants_rows_ = false;
    if (batch.dim != model_.dim || batch.rows.size() != count_ * model_.dim) {
      return RowsMissing("it shows other rows than it was asked for");
    }
    return OnRows(batch.rows);
  }
  recomputer_.OnBatch(from, batch);
}

void Auditor::OnRowsGone(NodeId from, std::uint64_t audit) {
  if (!audit_ || !wants_rows_ || from != audit_->work.upstream || audit != recomputer_.number()) {
    return;
  }
  RowsMissing("it has not kept the rows that it made");
}

void Auditor::RowsMissing(const std::string& what) {
  const NodeId upstream = audit_->work.upstream;
  const bool must_be_kept = MustBeKept(*audit_);
  Void();
  if (must_be_kept) Excuse(upstream, what);
}

// A log is cut down to its size, sequences that are over first and the oldest of those before
// others (pipeline/row_log.h): what this one shared it with while it ran, and what came since, must
// fit. A node that was gone may have been started again, with an empty one.
bool Auditor::MustBeKept(const Audit& audit) const {
  const std::uint64_t rows = audit.work.rows_beside + ledger_.rows_sent() - audit.ended.rows_sent;
  return rows * model_.dim * sizeof(std::uint16_t) <= pipeline::kRowLogBytes &&
         !WasLostSince(audit.work.upstream, audit.ended.at);
}

bool Auditor::WasLostSince(NodeId node, Instant then) const {
  const auto found = lost_.find(node);
  return found != lost_.end() && found->second > then - kSettleMax;
}

// What the stage was given.
void Auditor::OnRows(std::vector<std::uint16_t> rows) {
  const StageWork& work = audit_->work;
  const std::vector<std::uint64_t> hashes = wire::RowHashes(rows, model_.dim);
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    const std::size_t position = at_ + i;
    if (!work.upstream_made.empty() && hashes[i] != work.upstream_made[position]) {
      const NodeId upstream = work.upstream;
      const std::string evidence = Describe(work, position) + ": it said that it had made " +
                                   Hex(work.upstream_made[position]) + " and shows " +
                                   Hex(hashes[i]);
      Void();
      suspects_.push_back({upstream, evidence, seams_.clock.Now()});
      return;
    }
    // Others were given to it by somebody who is not there any more: nothing follows.
    if (hashes[i] != work.given[position]) return Void();
  }
  recomputer_.Compute(at_, std::move(rows),
                      [this](const Result<std::vector<std::uint64_t>>& made) { OnMade(made); });
}

void Auditor::OnMade(const Result<std::vector<std::uint64_t>>& made) {
  if (!made.ok()) return TryAtHead();
  tally_.work += static_cast<double>(made->size()) * static_cast<double>(audit_->work.range.size());
  for (std::size_t i = 0; i < made->size(); ++i) {
    const std::size_t position = at_ + i;
    if ((*made)[i] != audit_->work.made[position]) return Differs(position, (*made)[i]);
  }
  at_ += made->size();
  Next();
}

// All that passed the node before has then been looked at by chance, and nothing was found.
void Auditor::Right() {
  const Audit audit = *std::exchange(audit_, std::nullopt);
  const NodeId where = recomputer_.where();
  recomputer_.End();
  if (audit.doubter != NodeId{}) {
    // The second opinion is what the node made: the first one was wrong.
    ++tally_.wrong;
    if (audit.doubter == seams_.network.self()) {
      return events_.OnNews("this head computes something else than " + Name(audit.work.node) +
                            " and " + Name(where) + " (" + Describe(audit.work, audit.doubted_at) +
                            "): its memory may be broken");
    }
    return Blame(audit.doubter, Describe(audit.work, audit.doubted_at) + ": it makes " +
                                    Hex(audit.doubter_made) + ", " + Name(audit.work.node) +
                                    " and " + Name(where) + " make " +
                                    Hex(audit.work.made[audit.doubted_at]));
  }
  ++tally_.right;
  std::set<std::uint64_t>& touched = touched_[audit.work.node];
  std::erase_if(touched, [&](std::uint64_t sequence) {
    return sequence <= audit.work.sequence && over_.contains(sequence);
  });
}

void Auditor::Differs(std::size_t position, std::uint64_t made) {
  Audit audit = *std::exchange(audit_, std::nullopt);
  const NodeId where = recomputer_.where();
  recomputer_.End();
  const bool first = audit.doubter == NodeId{};
  if (!first && position == audit.doubted_at && made == audit.doubter_made) {
    ++tally_.wrong;
    return Blame(
        audit.work.node,
        Describe(audit.work, position) + ": it made " + Hex(audit.work.made[position]) + ", " +
            (where == audit.doubter ? Name(where) + ", asked twice, makes "
                                    : Name(audit.doubter) + " and " + Name(where) + " make ") +
            Hex(made));
  }
  if (!first && where == seams_.network.self()) {
    // Three results: the head's counts, because there is nobody else to believe.
    ++tally_.wrong;
    return Blame(audit.work.node, Describe(audit.work, position) + ": it made " +
                                      Hex(audit.work.made[position]) + ", the head makes " +
                                      Hex(made));
  }
  audit.settled = !first;
  audit.at_head = false;  // This time somebody else may answer.
  audit.doubter = where;
  audit.doubted_at = position;
  audit.doubter_made = made;
  Start(std::move(audit));
}

void Auditor::Void() {
  if (!audit_) return;
  ++tally_.voided;
  audit_.reset();
  recomputer_.End();
}

void Auditor::Excuse(NodeId node, const std::string& what) {
  ++tally_.excuses;
  Excuses& excuses = excuses_[node];
  const Instant now = seams_.clock.Now();
  const double forgiven = ToSeconds(now - excuses.at) / ToSeconds(kForgivenAfter);
  excuses.count = std::max(0.0, excuses.count - forgiven) + 1;
  excuses.at = now;
  if (excuses.count < kExcusesMax) return;
  Blame(node, what + ", and it was not the first time");
}

void Auditor::Blame(NodeId node, const std::string& evidence) {
  excuses_.erase(node);
  if (audit_ && (audit_->work.node == node || audit_->work.upstream == node)) Void();
  std::erase_if(waiting_, [&](const Audit& audit) {
    return audit.work.node == node || audit.work.upstream == node;
  });
  events_.OnGuilty(node, evidence);
}

std::vector<std::uint64_t> Auditor::TakeTouched(NodeId node) {
  const std::set<std::uint64_t> touched = std::exchange(touched_[node], {});
  return {touched.begin(), touched.end()};
}

void Auditor::OnLost(NodeId node) {
  lost_[node] = seams_.clock.Now();
  ledger_.Lost(node);
  recomputer_.OnLost(node);
  if (audit_ && wants_rows_ && audit_->work.upstream == node) Void();
}

}  // namespace shoal::coordinator
