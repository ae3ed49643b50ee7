// News: lines for whoever looks at the device. One that comes again and again, as when a link
// flaps, is said a few times a minute and no more.
//
// Belongs to one event loop.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/time.h"

namespace shoal::agent {

class News {
 public:
  static constexpr Duration kWindow = std::chrono::minutes(1);
  static constexpr std::size_t kRepeatsMax = 3;  // Of one line in a window.
  static constexpr std::size_t kLinesMax = 256;  // Different ones in a window.

  // `say` may be empty. `clock` outlives it.
  News(const Clock& clock, std::function<void(const std::string&)> say)
      : clock_(clock), say_(std::move(say)) {}

  void Say(const std::string& line);

 private:
  const Clock& clock_;
  const std::function<void(const std::string&)> say_;
  Instant begin_;
  std::map<std::string, std::size_t> said_;  // In the window that began then.
};

}  // namespace shoal::agent
