// LayerSource: where a node gets the layers that it is given to hold. Behind it are its flash, the
// head and other nodes.
//
// Belongs to one event loop: calls are made on it, and callbacks come on it, never inside a call.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_function.h"
#include "llm/layer.h"
#include "llm/model_config.h"
#include "wire/control.h"

namespace shoal::agent {

using Layers = std::vector<std::shared_ptr<const llm::Layer>>;

class LayerSource {
 public:
  virtual ~LayerSource() = default;

  struct Progress {
    std::uint64_t bytes = 0;
    std::uint64_t bytes_total = 0;
  };

  // Gets the layers of `assign`, which are of a model with `config`. A new call replaces one that
  // is under way, whose callbacks do not come any more; what it has got is kept.
  virtual void Load(const wire::pb::Assign& assign, const llm::ModelConfig& config,
                    UniqueFunction<void(Progress)> progress,
                    UniqueFunction<void(Result<Layers>)> done) = 0;

  // SHA-256 of the layers that it can load without a network.
  virtual std::vector<std::string> Cached() const = 0;
};

}  // namespace shoal::agent
