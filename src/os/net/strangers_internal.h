// Strangers: who was refused at a door, by address. Each address is logged at most once
// a minute, however often it knocks, and the table has a limit: a log and a memory that
// outsiders fill at will are ways in.
//
// Belongs to one event loop.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "base/time.h"

namespace shoal::os {

using LogLine = std::function<void(const std::string& line)>;

class Strangers {
 public:
  static constexpr Duration kWindow = std::chrono::minutes(1);
  // More than a rack of phones; beyond them, all others share one entry.
  static constexpr std::size_t kAddressesMax = 1024;

  // `log` may be empty. `clock` outlives this.
  Strangers(const Clock& clock, std::string door, LogLine log);

  // "DOOR: refused 192.168.1.9: WHY"; a later line says how many were not logged.
  void Refuse(const std::string& address, std::string_view why);

  // How often `address` was refused within the last window or so.
  std::size_t Refusals(const std::string& address) const;

 private:
  struct Entry {
    Instant begin;
    std::size_t refusals = 0;
  };
  bool IsOld(const Entry& entry) const { return clock_.Now() - entry.begin >= kWindow; }
  // Under which an address is kept.
  std::string KeyOf(const std::string& address) const;

  const Clock& clock_;
  std::string door_;
  LogLine log_;
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace shoal::os
