#include "shoal/prepared_model.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "kernels/packed_weights.h"
#include "llm/layer.h"
#include "llm/layer_file.h"
#include "llm/model_config_text.h"
#include "llm/model_size.h"
#include "os/file.h"
#include "os/flash/layer_name.h"
#include "os/mapped_file.h"
#include "os/resumable_file.h"
#include "shoal/layer_manifest.h"
#include "wire/piece.h"

namespace shoal {
namespace {

// A model of 4 TB has 64 MB of hashes.
constexpr std::size_t kManifestBytesMax = std::size_t{256} << 20U;

// Writes a layer that gets its name from its bytes.
class LayerMaker {
 public:
  static Result<LayerMaker> Begin(const std::string& path) {
    SHOAL_ASSIGN_OR_RETURN(os::ResumableFile file, os::ResumableFile::Open(path));
    SHOAL_RETURN_IF_ERROR(file.Clear());
    return LayerMaker(std::move(file));
  }

  Status Add(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const std::size_t count = std::min(bytes.size(), wire::kChunkBytes - chunk_.size());
      chunk_.insert(chunk_.end(), bytes.begin(),
                    bytes.begin() + static_cast<std::ptrdiff_t>(count));
      bytes = bytes.subspan(count);
      if (chunk_.size() == wire::kChunkBytes) SHOAL_RETURN_IF_ERROR(EndChunk());
    }
    return {};
  }

  // REQUIRES: the last call.
  Result<wire::pb::LayerFile> Finish(const os::LayerDirectory& directory) {
    if (!chunk_.empty()) SHOAL_RETURN_IF_ERROR(EndChunk());
    layer_.set_bytes(file_.size());
    layer_.set_sha256(os::HashOf(layer_.chunks()));
    SHOAL_RETURN_IF_ERROR(os::CheckLayerName(layer_));
    SHOAL_RETURN_IF_ERROR(file_.MoveTo(directory.WholePath(layer_.sha256())));
    return std::move(layer_);
  }
  Status Remove() { return file_.Remove(); }

 private:
  explicit LayerMaker(os::ResumableFile file) : file_(std::move(file)) {
    chunk_.reserve(wire::kChunkBytes);
  }

  Status EndChunk() {
    *layer_.mutable_chunks() += os::HashOf(chunk_);
    SHOAL_RETURN_IF_ERROR(file_.Append(chunk_));
    chunk_.clear();
    return {};
  }

  os::ResumableFile file_;
  std::vector<std::byte> chunk_;
  wire::pb::LayerFile layer_;
};

class Preparation {
 public:
  Preparation(const OpenedModel& model, os::LayerDirectory& directory, Parallel& parallel)
      : model_(model), directory_(directory), parallel_(parallel) {}

  Result<PreparedModel> Run(const std::function<void(std::size_t, std::size_t)>& progress) {
    SHOAL_RETURN_IF_ERROR(ReadManifest());
    const auto layers = static_cast<std::size_t>(model_.config.layers);
    for (std::size_t i = 0; i < layers; ++i) {
      if (i < manifest_.layers.size() && IsThere(manifest_.layers[i])) {
        directory_.Touch(manifest_.layers[i].sha256());
        continue;
      }
      SHOAL_ASSIGN_OR_RETURN(wire::pb::LayerFile layer, Make(i));
      manifest_.layers.resize(std::max(manifest_.layers.size(), i + 1));
      manifest_.layers[i] = std::move(layer);
      SHOAL_RETURN_IF_ERROR(os::WriteFileAtomically(manifest_path_, SerializeManifest(manifest_),
                                                    os::FileAccess::kEveryone));
      progress(i + 1, layers);
    }
    PreparedModel prepared{.id = {}, .config = manifest_.config, .layers = manifest_.layers};
    std::string names;
    for (const wire::pb::LayerFile& layer : prepared.layers) names += layer.sha256();
    prepared.id = os::ToHex(os::HashOf(names + prepared.config));
    return prepared;
  }

 private:
  // What is to be in the manifest, with the layers that one from before names.
  Status ReadManifest() {
    SHOAL_ASSIGN_OR_RETURN(manifest_.sources, DescribeSources(model_.files));
    manifest_.packed_revision = kernels::kPackedRevision;
    manifest_.config = llm::SerializeConfig(model_.config);
    std::string paths;
    for (const SourceFile& source : manifest_.sources) paths += source.path + '\n';
    const std::string folder = directory_.path() + "/models";
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return os::ErrnoStatus(error.value(), folder);
    manifest_path_ = folder + "/" + os::ToHex(os::HashOf(paths)) + ".json";
    const Result<std::string> text = os::ReadFile(manifest_path_, kManifestBytesMax);
    if (!text.ok()) return {};
    std::optional<LayerManifest> before = ParseManifest(*text);
    if (before && before->HasSameOrigin(manifest_) &&
        before->layers.size() <= static_cast<std::size_t>(model_.config.layers)) {
      manifest_.layers = std::move(before->layers);
    }
    return {};
  }

  bool IsThere(const wire::pb::LayerFile& layer) const {
    const std::string path = directory_.WholePath(layer.sha256());
    const Result<os::MappedFile> file = os::MappedFile::Open(path);
    return file.ok() && file->bytes().size() == layer.bytes() &&
           llm::ReadLayer(path, file->bytes(), model_.config).ok();
  }

  Result<wire::pb::LayerFile> Make(std::size_t index) {
    SHOAL_ASSIGN_OR_RETURN(
        const llm::Layer layer,
        llm::LoadLayer(model_.weights, model_.config, static_cast<std::int64_t>(index), parallel_));
    SHOAL_RETURN_IF_ERROR(MakeRoom(index, llm::LayerFileBytes(layer, model_.config)));
    SHOAL_ASSIGN_OR_RETURN(LayerMaker maker, LayerMaker::Begin(directory_.NewPath()));
    Status written = llm::WriteLayer(
        layer, model_.config, [&](std::span<const std::byte> bytes) { return maker.Add(bytes); });
    if (written.ok()) {
      Result<wire::pb::LayerFile> file = maker.Finish(directory_);
      if (file.ok()) return file;
      written = std::move(file).status();
    }
    (void)maker.Remove().ok();
    return written;
  }

  // For layer `index`, which takes so many bytes, and those that follow, as far as can be known.
  Status MakeRoom(std::size_t index, std::uint64_t bytes) {
    const std::vector<std::uint64_t>& sizes = sizes_.layer_bytes;
    double rest = 0;
    for (std::size_t i = index + 1; i < sizes.size(); ++i) {
      if (i >= manifest_.layers.size() || !IsThere(manifest_.layers[i])) {
        rest += static_cast<double>(sizes[i]) / static_cast<double>(sizes[index]);
      }
    }
    const auto wanted = bytes + static_cast<std::uint64_t>(rest * static_cast<double>(bytes));
    return directory_
        .MakeRoom(wanted,
                  [&](const std::string& name) {
                    return std::any_of(
                        manifest_.layers.begin(), manifest_.layers.end(),
                        [&](const wire::pb::LayerFile& layer) { return layer.sha256() == name; });
                  })
        .status();
  }

  const OpenedModel& model_;
  os::LayerDirectory& directory_;
  Parallel& parallel_;
  const llm::ModelSize sizes_ = llm::MeasureModel(model_.weights, model_.config);
  LayerManifest manifest_;
  std::string manifest_path_;
};

}  // namespace

Result<PreparedModel> PrepareModel(
    const OpenedModel& model, os::LayerDirectory& directory, Parallel& parallel,
    const std::function<void(std::size_t made, std::size_t layers)>& progress) {
  return Preparation(model, directory, parallel).Run(progress);
}

}  // namespace shoal
