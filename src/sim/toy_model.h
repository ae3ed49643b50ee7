// ToyModel: a language model of made-up weights, deep and narrow, so that a cluster of many nodes
// can run it with the real kernels in no time. Its text means nothing; that it is always the same
// is what counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <string>
#include <vector>

#include "llm/model_config.h"
#include "llm/model_weights.h"
#include "tensor/aligned_buffer.h"
#include "wire/control.h"

namespace shoal::sim {

// Stands for a SHA-256 in a world without enemies.
std::string ToyHash(std::span<const std::byte> bytes);

class ToyModel {
 public:
  ToyModel(std::int64_t layers, std::int64_t dim, std::uint64_t seed);
  ToyModel(const ToyModel&) = delete;
  ToyModel& operator=(const ToyModel&) = delete;

  const llm::ModelConfig& config() const { return config_; }
  const llm::ModelWeights& weights() const { return weights_; }

  // A layer as it travels.
  struct File {
    AlignedBuffer bytes;
    wire::pb::LayerFile name;
  };
  const std::vector<File>& files() const { return files_; }

  // What the model answers on one device, without anything between its layers.
  std::vector<std::int32_t> Answer(const std::vector<std::int32_t>& prompt,
                                   std::size_t tokens) const;

 private:
  llm::ModelConfig config_;
  std::list<std::vector<std::byte>> bytes_;
  llm::ModelWeights weights_;
  std::vector<File> files_;
};

}  // namespace shoal::sim
