#include "shoal/layer_manifest.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <system_error>

#include "os/file.h"
#include "os/flash/layer_name.h"
#include "wire/piece.h"

namespace shoal {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kHexDigits = 2 * sizeof(wire::Sha256Bytes);

Json ToJson(const wire::pb::LayerFile& layer) {
  return {{"sha256", os::ToHex(layer.sha256())},
          {"bytes", std::uint64_t{layer.bytes()}},
          {"chunks", os::ToHex(layer.chunks())}};
}

std::optional<wire::pb::LayerFile> LayerOf(const Json& json) {
  wire::pb::LayerFile layer;
  const std::optional<std::string> name =
      os::NameFromHex(json.at("sha256").get_ref<const std::string&>());
  if (!name) return std::nullopt;
  layer.set_sha256(*name);
  layer.set_bytes(json.at("bytes").get<std::uint64_t>());
  const auto& chunks = json.at("chunks").get_ref<const std::string&>();
  for (std::size_t at = 0; at < chunks.size(); at += kHexDigits) {
    const std::optional<std::string> hash = os::NameFromHex(chunks.substr(at, kHexDigits));
    if (!hash) return std::nullopt;
    *layer.mutable_chunks() += *hash;
  }
  if (!os::CheckLayerName(layer).ok()) return std::nullopt;
  return layer;
}

}  // namespace

Result<std::vector<SourceFile>> DescribeSources(const std::vector<std::string>& paths) {
  std::vector<SourceFile> sources;
  for (const std::string& path : paths) {
    std::error_code error;
    SourceFile source;
    source.path = std::filesystem::absolute(path, error).string();
    if (!error) source.bytes = std::filesystem::file_size(path, error);
    if (!error) {
      source.changed = static_cast<std::int64_t>(
          std::filesystem::last_write_time(path, error).time_since_epoch().count());
    }
    if (error) return os::ErrnoStatus(error.value(), path);
    sources.push_back(std::move(source));
  }
  return sources;
}

std::string SerializeManifest(const LayerManifest& manifest) {
  Json sources = Json::array();
  for (const SourceFile& source : manifest.sources) {
    sources.push_back(
        {{"path", source.path}, {"bytes", source.bytes}, {"changed", source.changed}});
  }
  Json layers = Json::array();
  for (const wire::pb::LayerFile& layer : manifest.layers) layers.push_back(ToJson(layer));
  const Json json = {{"sources", sources},
                     {"packed_revision", manifest.packed_revision},
                     {"config", manifest.config},
                     {"layers", layers}};
  // Paths may be any bytes.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<LayerManifest> ParseManifest(const std::string& text) {
  // The library's way to say that a field is missing or of another type.
  try {
    const Json json = Json::parse(text);
    LayerManifest manifest;
    for (const Json& source : json.at("sources")) {
      manifest.sources.push_back({.path = source.at("path").get<std::string>(),
                                  .bytes = source.at("bytes").get<std::uint64_t>(),
                                  .changed = source.at("changed").get<std::int64_t>()});
    }
    manifest.packed_revision = json.at("packed_revision").get<std::uint32_t>();
    manifest.config = json.at("config").get<std::string>();
    for (const Json& layer : json.at("layers")) {
      std::optional<wire::pb::LayerFile> file = LayerOf(layer);
      if (!file) return std::nullopt;
      manifest.layers.push_back(*std::move(file));
    }
    return manifest;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace shoal
