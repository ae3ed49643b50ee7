#include "train/cluster/memory_record_cache.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "data/datum.h"

namespace shoal::train {
namespace {

std::string NameOf(std::int64_t index) { return "record " + std::to_string(index); }

}  // namespace

MemoryRecordCache::MemoryRecordCache(std::int64_t records, std::uint64_t bytes_max,
                                     data::Colors colors)
    : records_(records), bytes_max_(bytes_max), colors_(colors) {
  SHOAL_CHECK_GT(records, 0);
}

bool MemoryRecordCache::Has(std::int64_t index) const {
  const MutexLock lock(mutex_);
  return kept_.contains(index);
}

Status MemoryRecordCache::Put(std::int64_t index, std::span<const std::byte> datum) {
  SHOAL_RETURN_IF_ERROR(CheckRecord(records_, index, datum));
  if (datum.size() > bytes_max_) {
    return Status(Code::kResourceExhausted, NameOf(index) + " has " + std::to_string(datum.size()) +
                                                " bytes: more than all may have together");
  }
  auto bytes = std::make_shared<const std::vector<std::byte>>(datum.begin(), datum.end());
  const MutexLock lock(mutex_);
  if (!kept_.try_emplace(index, std::move(bytes)).second) return {};
  oldest_.push_back(index);
  bytes_ += datum.size();
  while (bytes_ > bytes_max_) {
    // The last is the new one: if nothing else may go, it does.
    auto oldest = oldest_.begin();
    while (held_.contains(*oldest) && oldest + 1 != oldest_.end()) ++oldest;
    const auto goes = kept_.find(*oldest);
    const bool itself = *oldest == index;
    bytes_ -= goes->second->size();
    kept_.erase(goes);
    oldest_.erase(oldest);
    if (itself) {
      return Status(Code::kResourceExhausted,
                    NameOf(index) + " has " + std::to_string(datum.size()) +
                        " bytes: there is no room for it beside those that are needed");
    }
  }
  return {};
}

void MemoryRecordCache::Hold(std::span<const std::int64_t> indices) {
  const MutexLock lock(mutex_);
  held_ = {indices.begin(), indices.end()};
}

std::vector<std::int64_t> MemoryRecordCache::Present() const {
  const MutexLock lock(mutex_);
  std::vector<std::int64_t> present(oldest_.begin(), oldest_.end());
  std::sort(present.begin(), present.end());
  return present;
}

Status MemoryRecordCache::Read(std::int64_t index, data::Record& out) const {
  Bytes bytes;
  {
    const MutexLock lock(mutex_);
    const auto found = kept_.find(index);
    if (found == kept_.end()) return RecordNotHere(index);
    bytes = found->second;
  }
  return DecodeRecord(index, *bytes, colors_, out);
}

Status CheckRecord(std::int64_t records, std::int64_t index, std::span<const std::byte> datum) {
  if (index < 0 || index >= records) {
    return Status(Code::kInvalidArgument,
                  NameOf(index) + " of a data set of " + std::to_string(records));
  }
  return data::InspectDatum(datum).status();
}

Status DecodeRecord(std::int64_t index, std::span<const std::byte> datum, data::Colors colors,
                    data::Record& out) {
  return data::DecodeDatum(datum, colors, out).Annotate(NameOf(index));
}

Status RecordNotHere(std::int64_t index) {
  return Status(Code::kNotFound, NameOf(index) + " is not here");
}

}  // namespace shoal::train
