#include "sim/toy_store.h"

#include <utility>

#include "wire/piece.h"

namespace shoal::sim {
namespace {

class ToyBytes final : public pipeline::LayerBytes {
 public:
  explicit ToyBytes(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes() const override { return bytes_; }

 private:
  const std::span<const std::byte> bytes_;
};

}  // namespace

std::vector<std::string> MemoryStore::LoadAll() {
  std::vector<std::string> all;
  for (const auto& [id, bytes] : saved_) all.push_back(bytes);
  return all;
}

ToyStore::ToyStore(const ToyModel& model, Flash& flash, const Surroundings& around)
    : flash_(flash), around_(around) {
  for (const ToyModel::File& file : model.files()) files_[file.name.sha256()] = &file;
}

std::shared_ptr<const pipeline::LayerBytes> ToyStore::Find(const std::string& sha256) {
  const auto found = flash_.find(sha256);
  if (found == flash_.end()) return nullptr;
  const std::span<const std::byte> bytes = files_.at(sha256)->bytes.bytes();
  if (found->second < pipeline::ChunkCount(bytes.size())) return nullptr;
  return std::make_shared<ToyBytes>(bytes);
}

std::vector<std::string> ToyStore::Whole() const {
  std::vector<std::string> whole;
  for (const auto& [sha256, chunks] : flash_) {
    if (chunks == pipeline::ChunkCount(files_.at(sha256)->bytes.size())) whole.push_back(sha256);
  }
  return whole;
}

void ToyStore::Open(const wire::pb::LayerFile& layer,
                    UniqueFunction<void(Result<std::uint32_t>)> done) {
  Later([done = std::move(done), chunks = flash_[layer.sha256()]]() mutable { done(chunks); });
}

void ToyStore::Append(const wire::pb::LayerFile& layer, std::uint32_t chunk,
                      std::vector<std::byte> bytes, UniqueFunction<void(Status)> done) {
  Status status;
  if (ToyHash(bytes) !=
      layer.chunks().substr(chunk * sizeof(wire::Sha256Bytes), sizeof(wire::Sha256Bytes))) {
    status = Status(Code::kCorruption, "another hash");
  } else {
    flash_[layer.sha256()] = chunk + 1;
  }
  Later([done = std::move(done), status]() mutable { done(status); });
}

// Flash takes its time.
void ToyStore::Later(UniqueFunction<void()> task) {
  around_.clock.CallAfter(std::chrono::microseconds(around_.random.Between(50, 5000)),
                          std::move(task));
}

}  // namespace shoal::sim
