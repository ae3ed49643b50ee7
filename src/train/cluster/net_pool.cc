#include "train/cluster/net_pool.h"

#include <algorithm>
#include <utility>

namespace shoal::train {
namespace {

// Pieces of a share differ by one sample at most.
constexpr std::size_t kNetsMax = 2;

}  // namespace

void NetPool::SetPlan(const nn::GradientPlan& plan) {
  plan_ = plan;
  for (PooledNet& pooled : nets_) pooled.stages = nn::StepsOfStages(plan_, pooled.net->plan());
}

// Before the next network is built: two of them take memory only where there is enough.
void NetPool::MakeRoom(std::int64_t batch) {
  if (nets_.size() >= kNetsMax) nets_.erase(nets_.begin());
  if (nets_.empty() || options_.bytes_max == 0) return;
  const auto arena = static_cast<double>(nets_[0].net->arena_bytes());
  const double times = static_cast<double>(batch) / static_cast<double>(nets_[0].batch);
  if (arena * (1 + times) > static_cast<double>(options_.bytes_max)) nets_.clear();
}

Result<PooledNet*> NetPool::Get(std::int64_t batch) {
  const auto found = std::find_if(nets_.begin(), nets_.end(),
                                  [&](const PooledNet& pooled) { return pooled.batch == batch; });
  if (found != nets_.end()) {
    std::rotate(found, found + 1, nets_.end());
    return &nets_.back();
  }
  MakeRoom(batch);
  SHOAL_ASSIGN_OR_RETURN(auto net, nn::Net::Build(model_.def(),
                                                  {.input_shapes = model_.InputShapes(batch),
                                                   .backward = true,
                                                   .bytes_max = options_.bytes_max,
                                                   .seed = options_.seed},
                                                  params_, chooser_, parallel_));
  nets_.push_back({.batch = batch, .net = std::move(net), .stages = {}});
  nets_.back().stages = nn::StepsOfStages(plan_, nets_.back().net->plan());
  return &nets_.back();
}

}  // namespace shoal::train
