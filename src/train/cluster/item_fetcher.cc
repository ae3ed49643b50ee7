#include "train/cluster/item_fetcher.h"

#include <utility>

#include "wire/control.h"

namespace shoal::train {
namespace {

// So that a question fits a control frame.
constexpr int kRecordsPerAsk = 8192;

}  // namespace

void ItemFetcher::Start(const std::string& job) {
  job_ = job;
  job_asked_ = false;
  asked_.clear();
  needed_.clear();
  bytes_.clear();
}

void ItemFetcher::AskForJob() {
  job_asked_ = true;
  wire::pb::ToHead message;
  message.mutable_train()->mutable_ask()->set_job(job_);
  message.mutable_train()->mutable_ask()->set_files(true);
  (void)network_.Send(head_, Traffic::kControl, wire::Encode(message)).ok();
}

std::set<std::int64_t> ItemFetcher::Need(std::span<const std::int64_t> indices) {
  needed_ = {indices.begin(), indices.end()};
  cache_->Hold(indices);
  return Ask(indices);
}

std::set<std::int64_t> ItemFetcher::Ask(std::span<const std::int64_t> indices) {
  std::set<std::int64_t> missing;
  wire::pb::ToHead message;
  wire::pb::TrainAsk& ask = *message.mutable_train()->mutable_ask();
  ask.set_job(job_);
  const auto send = [&] {
    if (ask.records().empty()) return;
    (void)network_.Send(head_, Traffic::kControl, wire::Encode(message)).ok();
    ask.clear_records();
  };
  for (const std::int64_t index : indices) {
    if (cache_->Has(index) || !missing.insert(index).second) continue;
    if (!asked_.insert(index).second) continue;
    ask.add_records(static_cast<std::uint64_t>(index));
    if (ask.records_size() == kRecordsPerAsk) send();
  }
  send();
  return missing;
}

Result<ItemFetcher::Arrival> ItemFetcher::OnPiece(const wire::ItemPiece& piece) {
  const bool is_job = piece.kind == wire::ItemPiece::Kind::kJob;
  const auto index = static_cast<std::int64_t>(piece.index);
  if (is_job ? !job_asked_ : !asked_.contains(index)) {
    return Status(Code::kCorruption, "an item that nobody asked for");
  }
  if (piece.offset == 0) {
    kind_ = piece.kind;
    index_ = piece.index;
    bytes_.clear();
  } else if (piece.kind != kind_ || piece.index != index_ || piece.offset != bytes_.size()) {
    return Status(Code::kCorruption, "a piece of an item is missing");
  }
  bytes_.append(reinterpret_cast<const char*>(piece.data.data()), piece.data.size());
  Arrival arrival;
  if (bytes_.size() < piece.total) return arrival;
  if (is_job) {
    job_asked_ = false;
    arrival.job = std::exchange(bytes_, {});
    return arrival;
  }
  asked_.erase(index);
  // What does not fit the flash is kept in memory, and asked for again after a restart.
  const Status kept = cache_->Put(index, std::as_bytes(std::span(bytes_)));
  bytes_.clear();
  if (cache_->Has(index)) {
    arrival.record = index;
    return arrival;
  }
  // What was only fetched ahead is asked for again when it is needed.
  if (!needed_.contains(index) && kept.code() == Code::kResourceExhausted) return arrival;
  return kept.ok() ? Status(Code::kResourceExhausted, "no room") : kept;
}

}  // namespace shoal::train
