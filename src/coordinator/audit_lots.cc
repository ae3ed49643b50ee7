#include "coordinator/audit_lots.h"

namespace shoal::coordinator {

bool AuditLots::Draw(NodeId node) {
  const auto [found, is_new] = lines_.try_emplace(node);
  Line& line = found->second;
  if (is_new) line.point = random_.Unit();
  line.length += share_;
  if (line.length <= line.point) return false;
  ++line.unit;
  line.point = static_cast<double>(line.unit) + random_.Unit();
  return true;
}

}  // namespace shoal::coordinator
