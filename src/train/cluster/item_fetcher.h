// ItemFetcher: the job and the records that a worker has from the head. Asks for what is missing,
// once, and puts items together from their pieces.
//
// Belongs to one event loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/network.h"
#include "base/status.h"
#include "train/cluster/record_cache.h"
#include "wire/item.h"

namespace shoal::train {

class ItemFetcher {
 public:
  // `network` outlives it.
  ItemFetcher(Network& network, NodeId head) : network_(network), head_(head) {}

  // From now on all is about `job`; what was asked for before is forgotten. So too when the link
  // to the head was lost.
  void Start(const std::string& job);
  // Where records go.
  void SetCache(std::shared_ptr<RecordCache> cache) { cache_ = std::move(cache); }

  void AskForJob();
  // What is computed next: those of `indices` that are not here, each once; asks for those that
  // nobody asked for yet, and holds the others. Until the next call.
  std::set<std::int64_t> Need(std::span<const std::int64_t> indices);
  // What may be needed later: asked for, and kept if there is room.
  void Prefetch(std::span<const std::int64_t> indices) { (void)Ask(indices); }

  struct Arrival {
    std::optional<std::string> job = {};  // The serialised TrainJob.
    std::optional<std::int64_t> record = {};
  };
  // What a piece from the head makes whole, if anything. kCorruption: nobody asked for it, or it
  // does not go on where the last one ended, or it is no image. Others: it is needed, and there is
  // no room for it.
  Result<Arrival> OnPiece(const wire::ItemPiece& piece);

 private:
  // Those that are not here, each once.
  std::set<std::int64_t> Ask(std::span<const std::int64_t> indices);

  Network& network_;
  const NodeId head_;
  std::string job_;
  std::shared_ptr<RecordCache> cache_;
  bool job_asked_ = false;
  std::set<std::int64_t> asked_;
  std::set<std::int64_t> needed_;
  // The item that is coming. The head sends one after the other.
  wire::ItemPiece::Kind kind_ = wire::ItemPiece::Kind::kJob;
  std::uint64_t index_ = 0;
  std::string bytes_;
};

}  // namespace shoal::train
