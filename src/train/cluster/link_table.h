// LinkTable: what is known of the links between pairs of nodes. Belongs to one event loop.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/node_id.h"
#include "collective/link_model.h"

namespace shoal::train {

class LinkTable {
 public:
  // Whether it was tried, with or without success.
  bool WasTried(NodeId a, NodeId b) const { return links_.contains(Key(a, b)); }
  // Null: nobody knows.
  const collective::LinkModel* Find(NodeId a, NodeId b) const {
    const auto found = links_.find(Key(a, b));
    return found == links_.end() || !found->second ? nullptr : &*found->second;
  }
  // None: it was tried in vain.
  void Set(NodeId a, NodeId b, std::optional<collective::LinkModel> link) {
    links_[Key(a, b)] = link;
  }
  // A node has come, or come back. Its links are what they were if it is where it was; those that
  // were tried in vain may be tried again.
  void Arrive(NodeId node, const std::string& address) {
    std::string& known = addresses_[node];
    const bool moved = known != address;
    known = address;
    std::erase_if(links_, [&](const auto& entry) {
      const auto& [pair, link] = entry;
      return (pair.first == node || pair.second == node) && (moved || !link);
    });
  }

 private:
  using Pair = std::pair<NodeId, NodeId>;
  static Pair Key(NodeId a, NodeId b) { return a < b ? Pair(a, b) : Pair(b, a); }

  std::map<Pair, std::optional<collective::LinkModel>> links_;
  std::map<NodeId, std::string> addresses_;
};

}  // namespace shoal::train
