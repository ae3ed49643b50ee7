// The head's report (GET /shoal/status) as a screen for people: who holds what, how fast, how hot,
// what it costs, what is wrong in words, and what happened last.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace shoal {

struct StatusView {
  std::size_t columns = 80;  // The table has more of them from 100 and from 120 on.
  std::size_t rows = 0;      // Lines that there is room for; 0: enough.
  bool color = false;        // Escape sequences for bold and red.
  // "14:05:09" of a Unix time.
  std::function<std::string(std::int64_t)> time_of_day;
};

// Lines that end with '\n', none longer than the columns. A function of its arguments.
std::string ShowStatus(const nlohmann::json& report, const StatusView& view);

}  // namespace shoal
