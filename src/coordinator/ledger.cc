#include "coordinator/ledger.h"

#include <algorithm>
#include <utility>

#include "wire/row_hash.h"

namespace shoal::coordinator {
namespace {

// Batches in flight are few; what is older than so many will not be accounted for any more.
constexpr std::size_t kOpenMax = 512;

std::size_t CountRows(const std::vector<wire::Run>& runs) {
  std::size_t rows = 0;
  for (const wire::Run& run : runs) rows += run.count;
  return rows;
}

}  // namespace

void Ledger::Column::Put(NodeId node, std::size_t begin, std::span<const std::uint64_t> said) {
  if (by != node || begin > hashes.size() || begin < first) first = begin;
  by = node;
  hashes.resize(begin);
  hashes.insert(hashes.end(), said.begin(), said.end());
}

void Ledger::Sent(const pipeline::Route& route, const wire::Batch& batch,
                  std::span<const std::int32_t> tokens, std::vector<std::uint64_t> hashes) {
  if (batch.runs.empty()) return;
  Open open;
  open.epoch = batch.epoch;
  open.step = batch.step;
  open.runs = batch.runs;
  open.stages.assign(route.stages.begin(), route.stages.begin() + batch.last + 1);
  open.sent.resize(open.stages.size() + 1);
  open.got.resize(open.stages.size() + 1);
  open.seen.resize(open.stages.size() + 1);
  open.sent.front() = std::move(hashes);
  for (const wire::Run& run : batch.runs) {
    Account& account = accounts_[run.sequence];
    account.stages = route.stages;
    for (const pipeline::RouteStage& stage : open.stages) ++account.owed[stage.node];
    rows_now_ -= account.tokens.size();
    account.tokens.resize(run.begin);
    account.tokens.insert(account.tokens.end(), tokens.begin(),
                          tokens.begin() + static_cast<std::ptrdiff_t>(run.count));
    rows_now_ += account.tokens.size();
    rows_sent_ += run.count;
    tokens = tokens.subspan(run.count);
  }
  for (const wire::Run& run : batch.runs) {
    std::size_t& beside = accounts_[run.sequence].rows_beside;
    beside = std::max(beside, rows_now_);
  }
  open_.push_back(std::move(open));
  if (open_.size() > kOpenMax) open_.pop_front();
}

Ledger::Open* Ledger::Find(std::uint64_t epoch, std::uint64_t step) {
  const auto found = std::find_if(open_.begin(), open_.end(), [&](const Open& open) {
    return open.epoch == epoch && open.step == step;
  });
  return found == open_.end() ? nullptr : &*found;
}

std::optional<Dispute> Ledger::Returned(const wire::Batch& batch) {
  Open* const open = Find(batch.epoch, batch.step);
  if (open == nullptr || batch.rows.size() != batch.RowsBack() * batch.dim) return std::nullopt;
  // Of rows that did not come back, the head has seen nothing: 0 stands for them.
  std::vector<std::uint64_t>& got = open->got.back();
  const std::vector<std::uint64_t> hashes = wire::RowHashes(batch.rows, batch.dim);
  std::size_t at = 0;
  got.clear();
  for (const wire::Run& run : open->runs) {
    got.insert(got.end(), run.count - run.wanted, 0);
    for (std::size_t i = 0; i < run.wanted && at < hashes.size(); ++i) got.push_back(hashes[at++]);
  }
  return Compare(*open, open->stages.size());
}

std::vector<Dispute> Ledger::Add(NodeId from, const wire::pb::Receipts& receipts) {
  std::vector<Dispute> disputes;
  std::size_t at = 0;
  for (int i = 0; i < receipts.steps_size() && i < receipts.rows_size(); ++i) {
    const std::size_t rows = receipts.rows(i);
    const std::size_t begin = at;
    at += rows;
    if (at > static_cast<std::size_t>(receipts.given_size()) ||
        at > static_cast<std::size_t>(receipts.made_size())) {
      break;
    }
    Open* const open = Find(receipts.epoch(), receipts.steps(i));
    if (open == nullptr || rows != CountRows(open->runs)) continue;
    for (std::size_t s = 0; s < open->stages.size(); ++s) {
      if (open->stages[s].node != from || !open->got[s].empty()) continue;
      open->got[s].assign(receipts.given().begin() + static_cast<std::ptrdiff_t>(begin),
                          receipts.given().begin() + static_cast<std::ptrdiff_t>(at));
      open->sent[s + 1].assign(receipts.made().begin() + static_cast<std::ptrdiff_t>(begin),
                               receipts.made().begin() + static_cast<std::ptrdiff_t>(at));
      Record(*open, s);
      for (const std::size_t boundary : {s, s + 1}) {
        if (const auto dispute = Compare(*open, boundary)) disputes.push_back(*dispute);
      }
    }
  }
  while (!open_.empty() &&
         std::all_of(open_.front().got.begin(), open_.front().got.end() - 1,
                     [](const auto& got) { return !got.empty(); }) &&
         !open_.front().got.back().empty()) {
    open_.pop_front();
  }
  return disputes;
}

void Ledger::Relayed(const wire::Batch& batch) {
  Open* const open = Find(batch.epoch, batch.step);
  if (open == nullptr || batch.stage > open->stages.size() ||
      batch.rows.size() != CountRows(open->runs) * batch.dim) {
    return;
  }
  open->seen[batch.stage] = wire::RowHashes(batch.rows, batch.dim);
  (void)Compare(*open, batch.stage);
}

std::vector<NodeId> Ledger::TakeContradicted() { return std::exchange(contradicted_, {}); }

// Whom the head has seen to be wrong is no longer a matter of one word against another.
std::optional<Dispute> Ledger::Compare(const Open& open, std::size_t boundary) {
  const std::vector<std::uint64_t>& sent = open.sent[boundary];
  const std::vector<std::uint64_t>& got = open.got[boundary];
  const std::vector<std::uint64_t>& seen = open.seen[boundary];
  const NodeId sender = boundary == 0 ? head_ : open.stages[boundary - 1].node;
  const NodeId receiver = boundary == open.stages.size() ? head_ : open.stages[boundary].node;
  if (!seen.empty()) {
    if (!sent.empty() && sent != seen) contradicted_.push_back(sender);
    if (!got.empty() && got != seen) contradicted_.push_back(receiver);
    return std::nullopt;
  }
  if (sent.empty() || got.empty()) return std::nullopt;
  std::size_t row = 0;
  for (const wire::Run& run : open.runs) {
    for (std::size_t i = 0; i < run.count; ++i, ++row) {
      if (receiver == head_ && i + run.wanted < run.count) continue;
      if (row >= sent.size() || row >= got.size() || sent[row] != got[row]) {
        return Dispute{sender, receiver, run.sequence};
      }
    }
  }
  return std::nullopt;
}

void Ledger::Record(const Open& open, std::size_t stage) {
  const pipeline::RouteStage& own = open.stages[stage];
  std::span<const std::uint64_t> given = open.got[stage];
  std::span<const std::uint64_t> made = open.sent[stage + 1];
  accounted_ += static_cast<double>(given.size()) * static_cast<double>(own.range.size());
  for (const wire::Run& run : open.runs) {
    if (const auto found = accounts_.find(run.sequence); found != accounts_.end()) {
      --found->second.owed[own.node];
      found->second.given[own.range.first].Put(own.node, run.begin, given.first(run.count));
      found->second.made[own.range.end].Put(own.node, run.begin, made.first(run.count));
    }
    given = given.subspan(run.count);
    made = made.subspan(run.count);
  }
}

bool Ledger::Complete(std::uint64_t sequence) const {
  const auto found = accounts_.find(sequence);
  return found == accounts_.end() ||
         std::all_of(found->second.owed.begin(), found->second.owed.end(),
                     [](const auto& owed) { return owed.second == 0; });
}

std::vector<StageWork> Ledger::WorkOn(std::uint64_t sequence) const {
  std::vector<StageWork> all;
  const auto found = accounts_.find(sequence);
  if (found == accounts_.end()) return all;
  const Account& account = found->second;
  const auto whole = [](const std::map<std::int64_t, Column>& columns, std::int64_t boundary,
                        NodeId node) -> const Column* {
    const auto column = columns.find(boundary);
    if (column == columns.end() || column->second.by != node || column->second.first != 0) {
      return nullptr;
    }
    return &column->second;
  };
  for (std::size_t s = 0; s < account.stages.size(); ++s) {
    const pipeline::RouteStage& stage = account.stages[s];
    const Column* const given = whole(account.given, stage.range.first, stage.node);
    const Column* const made = whole(account.made, stage.range.end, stage.node);
    if (given == nullptr || made == nullptr || account.owed.at(stage.node) > 0) continue;
    const std::size_t rows =
        std::min({given->hashes.size(), made->hashes.size(), account.tokens.size()});
    if (rows == 0) continue;
    StageWork work;
    work.sequence = sequence;
    work.node = stage.node;
    work.range = stage.range;
    work.upstream = s == 0 ? head_ : account.stages[s - 1].node;
    work.rows_beside = account.rows_beside;
    const auto first = [&](const Column& column) {
      return std::vector<std::uint64_t>(column.hashes.begin(),
                                        column.hashes.begin() + static_cast<std::ptrdiff_t>(rows));
    };
    work.given = first(*given);
    work.made = first(*made);
    if (s > 0) {
      const Column* const before = whole(account.made, stage.range.first, work.upstream);
      if (before == nullptr || before->hashes.size() < rows || account.owed.at(work.upstream) > 0) {
        continue;
      }
      work.upstream_made = first(*before);
    }
    all.push_back(std::move(work));
  }
  return all;
}

std::vector<NodeId> Ledger::Silent(std::uint64_t sequence) const {
  std::vector<NodeId> silent;
  const auto found = accounts_.find(sequence);
  if (found == accounts_.end()) return silent;
  for (const pipeline::RouteStage& stage : found->second.stages) {
    const auto column = found->second.given.find(stage.range.first);
    if (column == found->second.given.end() || column->second.by != stage.node) {
      silent.push_back(stage.node);
    }
  }
  return silent;
}

std::vector<std::int32_t> Ledger::Tokens(std::uint64_t sequence) const {
  const auto found = accounts_.find(sequence);
  return found == accounts_.end() ? std::vector<std::int32_t>() : found->second.tokens;
}

void Ledger::Forget(std::uint64_t sequence) {
  const auto found = accounts_.find(sequence);
  if (found == accounts_.end()) return;
  rows_now_ -= found->second.tokens.size();
  accounts_.erase(found);
}

}  // namespace shoal::coordinator
