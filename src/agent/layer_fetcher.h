// LayerFetcher: where a node gets the layers that it is given to hold. Those that its store has are
// mapped; the others are fetched chunk by chunk from other nodes that have them or from the head,
// checked, and stored. Whatever has come stays: a fetch that was broken off goes on where it was.
//
// Belongs to one event loop. Its owner passes on what the network says.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/news.h"
#include "base/clock.h"
#include "base/network.h"
#include "base/status.h"
#include "base/unique_function.h"
#include "llm/layer.h"
#include "llm/model_config.h"
#include "pipeline/layer_store.h"
#include "wire/control.h"
#include "wire/piece.h"

namespace shoal::agent {

using Layers = std::vector<std::shared_ptr<const llm::Layer>>;

class LayerFetcher {
 public:
  struct Progress {
    std::uint64_t bytes = 0;
    std::uint64_t bytes_total = 0;
  };

  // Nothing comes from a source for so long: another one is tried.
  static constexpr Duration kSilenceMax = std::chrono::seconds(5);
  static constexpr Duration kRetryAfter = std::chrono::milliseconds(500);
  static constexpr Duration kProgressInterval = std::chrono::milliseconds(500);

  // Everything outlives it.
  LayerFetcher(Clock& clock, Network& network, pipeline::LayerStore& store, NodeId head, News& news)
      : clock_(clock), network_(network), store_(store), head_(head), news_(news) {}
  ~LayerFetcher();
  LayerFetcher(const LayerFetcher&) = delete;
  LayerFetcher& operator=(const LayerFetcher&) = delete;

  // Gets the layers of `assign`, which are of a model with `config`. A new call replaces one that
  // is under way, whose callbacks do not come any more; what it has got is kept. Callbacks never
  // come inside this call.
  void Load(const wire::pb::Assign& assign, const llm::ModelConfig& config,
            UniqueFunction<void(Progress)> progress, UniqueFunction<void(Result<Layers>)> done);

  void OnPeerUp(NodeId peer);
  void OnPeerDown(NodeId peer);
  // Data or a refusal.
  void OnPiece(NodeId from, const wire::Piece& piece);

 private:
  // A layer that is being fetched.
  struct Fetch {
    wire::pb::LayerFile layer;
    std::uint32_t chunk = 0;       // The next to be stored.
    std::vector<std::byte> bytes;  // Of it, as far as they have come.
    bool storing = false;
    NodeId source{};
  };

  void Next();
  void OnOpened(Result<std::uint32_t> chunks);
  void Ask();
  void OnStored(const Status& status);
  void OnWrongBytes();
  void TryAnother(const std::string& why);
  void Tick();
  void Finish(Result<Layers> result);
  Result<Layers> Map();

  Clock& clock_;
  Network& network_;
  pipeline::LayerStore& store_;
  const NodeId head_;
  News& news_;

  // The call that is under way; `call_` tells callbacks of earlier ones.
  std::uint64_t call_ = 0;
  bool loading_ = false;
  std::vector<wire::pb::LayerFile> layers_;
  llm::ModelConfig config_;
  std::map<NodeId, std::string> sources_;  // And where they are.
  std::set<NodeId> bad_;                   // Sent wrong bytes, or refused.
  std::set<NodeId> up_;
  UniqueFunction<void(Progress)> progress_;
  UniqueFunction<void(Result<Layers>)> done_;
  std::size_t next_ = 0;
  std::uint64_t bytes_done_ = 0;
  std::uint64_t bytes_total_ = 0;
  // Those before next_; held, so that the store does not remove one to make room for another.
  std::vector<std::shared_ptr<const pipeline::LayerBytes>> found_;
  std::optional<Fetch> fetch_;
  Instant heard_;
  Instant told_;
  std::size_t failures_ = 0;
  std::size_t wrong_from_head_ = 0;  // Of the chunk that is being fetched.
  TimerId tick_{};
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // Callbacks may come after its end.
};

}  // namespace shoal::agent
