#include <utility>

#include "os/net/strangers_internal.h"

namespace shoal::os {
namespace {

constexpr const char* kOthers = "many addresses";

}  // namespace

Strangers::Strangers(const Clock& clock, std::string door, LogLine log)
    : clock_(clock), door_(std::move(door)), log_(std::move(log)) {}

std::string Strangers::KeyOf(const std::string& address) const {
  return entries_.contains(address) || entries_.size() < kAddressesMax ? address : kOthers;
}

void Strangers::Refuse(const std::string& address, std::string_view why) {
  if (entries_.size() >= kAddressesMax) {
    std::erase_if(entries_, [&](const auto& entry) { return IsOld(entry.second); });
  }
  const std::string key = KeyOf(address);
  Entry& entry = entries_[key];
  const bool is_new = entry.refusals == 0 || IsOld(entry);
  if (!is_new) {
    ++entry.refusals;
    return;
  }
  std::string line = door_ + ": refused " + key + ": " + std::string(why);
  if (entry.refusals > 1) {
    line += " (and " + std::to_string(entry.refusals - 1) + " times before, not logged)";
  }
  entry = {.begin = clock_.Now(), .refusals = 1};
  if (log_) log_(line);
}

std::size_t Strangers::Refusals(const std::string& address) const {
  const auto found = entries_.find(KeyOf(address));
  return found == entries_.end() || IsOld(found->second) ? 0 : found->second.refusals;
}

}  // namespace shoal::os
