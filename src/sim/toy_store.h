// What a simulated phone and a simulated head keep while their processes die: layers on flash, and
// answers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/answer_store.h"
#include "pipeline/layer_store.h"
#include "sim/toy_model.h"
#include "sim/world.h"

namespace shoal::sim {

class MemoryStore final : public pipeline::AnswerStore {
 public:
  Status Save(const std::string& id, std::string_view bytes) override {
    saved_[id] = bytes;
    return {};
  }
  void Remove(const std::string& id) override { saved_.erase(id); }
  std::vector<std::string> LoadAll() override;

 private:
  std::map<std::string, std::string> saved_;
};

// A phone's flash: how many chunks of each layer are on it.
using Flash = std::map<std::string, std::uint32_t>;

// Keeps no bytes of its own: those of a layer that is whole are the model's.
class ToyStore final : public pipeline::LayerStore {
 public:
  // Everything outlives it.
  ToyStore(const ToyModel& model, Flash& flash, const Surroundings& around);

  std::shared_ptr<const pipeline::LayerBytes> Find(const std::string& sha256) override;
  std::vector<std::string> Whole() const override;
  void Open(const wire::pb::LayerFile& layer,
            UniqueFunction<void(Result<std::uint32_t>)> done) override;
  void Append(const wire::pb::LayerFile& layer, std::uint32_t chunk, std::vector<std::byte> bytes,
              UniqueFunction<void(Status)> done) override;

 private:
  void Later(UniqueFunction<void()> task);

  Flash& flash_;
  const Surroundings around_;
  std::map<std::string, const ToyModel::File*> files_;
};

}  // namespace shoal::sim
