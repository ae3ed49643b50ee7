#include "sim/trace.h"

#include <array>
#include <cstdio>
#include <string>

namespace shoal::sim {

void Trace::Say(Duration at, NodeId node, std::string_view text) const {
  if (!line_) return;
  std::array<char, 32> stamp{};
  (void)std::snprintf(stamp.data(), stamp.size(), "[%7.3fs] ", ToSeconds(at));
  std::string line = stamp.data();
  if (node != NodeId{0}) line += "node " + std::to_string(ToNumber(node)) + ": ";
  line_(line.append(text));
}

}  // namespace shoal::sim
