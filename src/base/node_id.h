// NodeId: who a phone is, for as long as it is a member of the cluster. Given by
// the coordinator when a phone joins; over TLS it is proven by the certificate.
#pragma once

#include <cstdint>
#include <ostream>

namespace shoal {

enum class NodeId : std::uint64_t {};

// The head: whoever made the cluster is its first member.
inline constexpr NodeId kHeadNode{1};

constexpr std::uint64_t ToNumber(NodeId id) { return static_cast<std::uint64_t>(id); }

inline std::ostream& operator<<(std::ostream& out, NodeId id) {
  return out << "node " << ToNumber(id);
}

}  // namespace shoal
