// LayerServer: gives layers to nodes that may have them. Sends no more than the network takes, and
// goes on when it takes more.
//
// Belongs to one event loop.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>

#include "base/network.h"
#include "pipeline/layer_store.h"
#include "wire/piece.h"

namespace shoal::pipeline {

class LayerServer {
 public:
  // Both outlive it.
  LayerServer(Network& network, LayerStore& store) : network_(network), store_(store) {}

  // `node` may have the layer from now on, until it is gone.
  void Grant(NodeId node, const std::string& sha256) { granted_[node].insert(sha256); }
  void OnPeerDown(NodeId node);

  // Somebody wants a chunk. What nobody granted is refused, and so are more questions at once than
  // a correct node has.
  void OnGet(NodeId from, const wire::Piece& piece);
  void OnWritable(NodeId node);

  // Questions that were refused, of nodes that asked for what they were not given.
  std::uint64_t refused() const { return refused_; }

 private:
  struct Sending {
    std::shared_ptr<const LayerBytes> layer;
    wire::Sha256Bytes name;
    std::uint32_t chunk;
    std::size_t offset;
  };
  static constexpr std::size_t kSendingMax = 8;

  void Refuse(NodeId to, const wire::Piece& piece);
  void SendOn(NodeId node);

  Network& network_;
  LayerStore& store_;
  std::map<NodeId, std::set<std::string>> granted_;
  std::map<NodeId, std::deque<Sending>> sending_;
  std::uint64_t refused_ = 0;
};

}  // namespace shoal::pipeline
