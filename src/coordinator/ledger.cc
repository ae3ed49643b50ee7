#include "coordinator/ledger.h"

#include <algorithm>
#include <utility>

#include "wire/row_hash.h"

namespace shoal::coordinator {
namespace {

// Batches in flight are few; what is older than so many will not be accounted for any more.
constexpr std::size_t kOpenMax = 4096;

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
  open.plan = wire::PlanHash(batch);
  open.runs = batch.runs;
  open.stages.assign(route.stages.begin(), route.stages.begin() + batch.last + 1);
  open.words.resize(open.stages.size(), Word::kOwed);
  open.sent.resize(open.stages.size() + 1);
  open.got.resize(open.stages.size() + 1);
  open.seen.resize(open.stages.size() + 1);
  open.altered.resize(open.stages.size() + 1);
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
  if (open_.size() <= kOpenMax) return;
  for (std::size_t s = 0; s < open_.front().stages.size(); ++s) {
    GiveUp(open_.front(), s, Word::kSkipped);
  }
  open_.pop_front();
}

void Ledger::GiveUp(Open& open, std::size_t stage, Word word) {
  if (open.words[stage] != Word::kOwed) return;
  open.words[stage] = word;
  const NodeId node = open.stages[stage].node;
  for (const wire::Run& run : open.runs) {
    const auto found = accounts_.find(run.sequence);
    if (found != accounts_.end()) --found->second.owed[node];
  }
  if (open.back && word == Word::kSkipped) NoteEvasive(open, node);
}

void Ledger::NoteEvasive(const Open& open, NodeId node) {
  for (const wire::Run& run : open.runs) {
    const auto found = accounts_.find(run.sequence);
    if (found == accounts_.end()) continue;
    BatchName& last = found->second.evasive[node];
    last = std::max(last, BatchName(open.epoch, open.step));
  }
}

void Ledger::Lost(NodeId node) {
  said_.erase(node);
  for (Open& open : open_) {
    for (std::size_t s = 0; s < open.stages.size(); ++s) {
      if (open.stages[s].node == node) GiveUp(open, s, Word::kLost);
    }
  }
  // It may come back with an empty log, or have computed what it did not get to tell of.
  ForgetWordsOf(node);
}

void Ledger::ForgetWordsOf(NodeId node) {
  for (auto& [sequence, account] : accounts_) {
    for (auto* columns : {&account.given, &account.made}) {
      std::erase_if(*columns, [&](const auto& column) { return column.second.by == node; });
    }
  }
}

// A stage says that it was given another batch than the head had made. Either it lies, or the stage
// before has spoilt whatever this one remembers, of any answer.
void Ledger::Mislead(Open& open, std::size_t stage, std::vector<Dispute>& disputes) {
  const NodeId node = open.stages[stage].node;
  if (stage == 0) return GiveUp(open, stage, Word::kSkipped);  // It had it from the head itself.
  if (!open.seen[stage].empty()) contradicted_.push_back(node);
  GiveUp(open, stage, Word::kLost);
  ForgetWordsOf(node);
  misled_.push_back(node);
  for (const auto& [sequence, account] : accounts_) {
    const auto has = [&](const auto& held) { return held.node == node; };
    if (std::any_of(account.stages.begin(), account.stages.end(), has)) {
      disputes.push_back({open.stages[stage - 1].node, node, sequence});
    }
  }
}

Ledger::Open* Ledger::Find(std::uint64_t epoch, std::uint64_t step) {
  const auto found = std::find_if(open_.begin(), open_.end(), [&](const Open& open) {
    return open.epoch == epoch && open.step == step;
  });
  return found == open_.end() ? nullptr : &*found;
}

std::vector<Dispute> Ledger::Returned(const wire::Batch& batch) {
  std::vector<Dispute> disputes;
  Open* const open = Find(batch.epoch, batch.step);
  if (open == nullptr || open->back || wire::PlanHash(batch) != open->plan ||
      batch.rows.size() != batch.RowsBack() * batch.dim) {
    return disputes;
  }
  open->back = true;
  for (std::size_t s = 0; s < open->stages.size(); ++s) {
    if (open->words[s] == Word::kSkipped) NoteEvasive(*open, open->stages[s].node);
  }
  // Of rows that did not come back, the head has seen nothing: 0 stands for them.
  std::vector<std::uint64_t>& got = open->got.back();
  const std::vector<std::uint64_t> hashes = wire::RowHashes(batch.rows, batch.dim);
  std::size_t at = 0;
  for (const wire::Run& run : open->runs) {
    got.insert(got.end(), run.count - run.wanted, 0);
    for (std::size_t i = 0; i < run.wanted && at < hashes.size(); ++i) got.push_back(hashes[at++]);
  }
  Compare(*open, open->stages.size(), disputes);
  return disputes;
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
    const BatchName name = {receipts.epoch(), receipts.steps(i)};
    Open* const open = Find(name.first, name.second);
    if (open == nullptr) continue;
    const auto own = std::find_if(open->stages.begin(), open->stages.end(),
                                  [&](const auto& stage) { return stage.node == from; });
    if (own == open->stages.end()) continue;
    const auto s = static_cast<std::size_t>(own - open->stages.begin());
    const auto [said, is_first] = said_.emplace(from, name);
    if (!is_first && name <= said->second) continue;
    said->second = name;
    for (Open& former : open_) {
      if (BatchName(former.epoch, former.step) >= name) continue;
      for (std::size_t f = 0; f < former.stages.size(); ++f) {
        if (former.stages[f].node == from) GiveUp(former, f, Word::kSkipped);
      }
    }
    if (open->words[s] != Word::kOwed) continue;
    if (rows != CountRows(open->runs) || i >= receipts.plans_size() ||
        receipts.plans(i) != open->plan) {
      Mislead(*open, s, disputes);
      continue;
    }
    open->words[s] = Word::kSaid;
    if (open->altered[s + 1]) contradicted_.push_back(from);
    open->got[s].assign(receipts.given().begin() + static_cast<std::ptrdiff_t>(begin),
                        receipts.given().begin() + static_cast<std::ptrdiff_t>(at));
    open->sent[s + 1].assign(receipts.made().begin() + static_cast<std::ptrdiff_t>(begin),
                             receipts.made().begin() + static_cast<std::ptrdiff_t>(at));
    Record(*open, s);
    for (const std::size_t boundary : {s, s + 1}) Compare(*open, boundary, disputes);
  }
  while (!open_.empty() && open_.front().back &&
         std::find(open_.front().words.begin(), open_.front().words.end(), Word::kOwed) ==
             open_.front().words.end()) {
    open_.pop_front();
  }
  return disputes;
}

bool Ledger::Relayed(const wire::Batch& batch) {
  Open* const open = Find(batch.epoch, batch.step);
  if (open == nullptr || batch.stage == 0 || batch.stage >= open->stages.size()) return false;
  if (wire::PlanHash(batch) != open->plan ||
      batch.rows.size() != CountRows(open->runs) * batch.dim) {
    // Who altered it? If this stage was misled by the one before, it says so.
    open->altered[batch.stage] = true;
    if (open->words[batch.stage - 1] == Word::kSaid) {
      contradicted_.push_back(open->stages[batch.stage - 1].node);
    }
    return false;
  }
  // The next stage takes no other after the first.
  if (!open->seen[batch.stage].empty()) return false;
  open->seen[batch.stage] = wire::RowHashes(batch.rows, batch.dim);
  std::vector<Dispute> none;  // It is not one word against another.
  Compare(*open, batch.stage, none);
  return true;
}

std::vector<NodeId> Ledger::TakeContradicted() { return std::exchange(contradicted_, {}); }

// Whom the head has seen to be wrong is no longer a matter of one word against another.
void Ledger::Compare(const Open& open, std::size_t boundary, std::vector<Dispute>& disputes) {
  const std::vector<std::uint64_t>& sent = open.sent[boundary];
  const std::vector<std::uint64_t>& got = open.got[boundary];
  const std::vector<std::uint64_t>& seen = open.seen[boundary];
  const NodeId sender = boundary == 0 ? head_ : open.stages[boundary - 1].node;
  const NodeId receiver = boundary == open.stages.size() ? head_ : open.stages[boundary].node;
  if (!seen.empty()) {
    if (!sent.empty() && sent != seen) contradicted_.push_back(sender);
    if (!got.empty() && got != seen) contradicted_.push_back(receiver);
    return;
  }
  if (sent.empty() || got.empty()) return;
  std::size_t row = 0;
  for (const wire::Run& run : open.runs) {
    bool differ = false;
    for (std::size_t i = 0; i < run.count; ++i, ++row) {
      if (receiver == head_ && i + run.wanted < run.count) continue;
      differ = differ || row >= sent.size() || row >= got.size() || sent[row] != got[row];
    }
    if (differ) disputes.push_back({sender, receiver, run.sequence});
  }
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

std::map<NodeId, Ledger::BatchName> Ledger::Evasive(std::uint64_t sequence) const {
  const auto found = accounts_.find(sequence);
  if (found == accounts_.end()) return {};
  std::map<NodeId, BatchName> evasive = found->second.evasive;
  for (const Open& open : open_) {
    if (!open.back || std::none_of(open.runs.begin(), open.runs.end(), [&](const wire::Run& run) {
          return run.sequence == sequence;
        })) {
      continue;
    }
    for (std::size_t s = 0; s < open.stages.size(); ++s) {
      if (open.words[s] != Word::kOwed) continue;
      BatchName& last = evasive[open.stages[s].node];
      last = std::max(last, BatchName(open.epoch, open.step));
    }
  }
  return evasive;
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
