#include "os/flash/layer_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <system_error>

#include "os/file.h"
#include "os/file_internal.h"
#include "os/flash/layer_name.h"

namespace shoal::os {
namespace {

constexpr std::string_view kWhole = ".layer";
constexpr std::string_view kPart = ".part";

// Rounded up: less than what is asked for would not do.
std::string Megabytes(std::uint64_t bytes) {
  return std::to_string(bytes / 1'000'000 + (bytes % 1'000'000 != 0 ? 1 : 0)) + " MB";
}

Result<std::optional<std::uint64_t>> ReadQuota(const std::string& path) {
  const std::string file = path + "/quota";
  const Result<std::string> text = ReadFile(file, 64);
  if (!text.ok() && text.status().code() == Code::kNotFound) return std::optional<std::uint64_t>();
  if (!text.ok()) return text.status();
  std::uint64_t quota = 0;
  const char* end = text->data() + text->size();
  const auto [at, error] = std::from_chars(text->data(), end, quota);
  if (error != std::errc() || std::string_view(at, end) != "\n") {
    return Status(Code::kCorruption, "not a number of bytes: " + file + "; remove it");
  }
  return std::optional(quota);
}

// What a file's name says of it. Nothing: it is not ours.
std::optional<StoredLayer> Parse(std::string_view file) {
  StoredLayer layer;
  layer.whole = file.ends_with(kWhole);
  if (!layer.whole && !file.ends_with(kPart)) return std::nullopt;
  file.remove_suffix(layer.whole ? kWhole.size() : kPart.size());
  const std::optional<std::string> name = NameFromHex(file);
  if (!name) return std::nullopt;
  layer.name = *name;
  return layer;
}

Status RemoveFile(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return ErrnoStatus(errno, path);
}

}  // namespace

Result<LayerUsage> ReadLayerUsage(const std::string& path) {
  LayerUsage usage;
  SHOAL_ASSIGN_OR_RETURN(usage.quota, ReadQuota(path));
  const std::filesystem::path directory = std::filesystem::path(path) / "layers";
  const Result<std::vector<std::string>> files = ListDirectory(directory.string());
  if (!files.ok() && files.status().code() == Code::kNotFound) return usage;
  if (!files.ok()) return files.status();
  for (const std::string& file : *files) {
    std::optional<StoredLayer> layer = Parse(file);
    std::error_code error;
    if (!layer || !std::filesystem::is_regular_file(directory / file, error)) continue;
    layer->bytes = std::filesystem::file_size(directory / file, error);
    if (!error) layer->used = std::filesystem::last_write_time(directory / file, error);
    if (error) continue;  // Gone since it was listed.
    usage.bytes += layer->bytes;
    usage.layers.push_back(*std::move(layer));
  }
  std::stable_sort(usage.layers.begin(), usage.layers.end(),
                   [](const StoredLayer& a, const StoredLayer& b) { return a.used < b.used; });
  return usage;
}

Result<LayerDirectory> LayerDirectory::Open(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path) / "layers", error);
  if (error) return ErrnoStatus(error.value(), path + "/layers");
  const std::string lock = path + "/lock";
  UniqueFd fd(
      Retry([&] { return ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644); }));
  if (!fd.valid()) return ErrnoStatus(errno, lock);
  // Ends with the process, also when it is killed. A file system without locks (another errno) is
  // used without.
  if (Retry([&] { return ::flock(fd.get(), LOCK_EX | LOCK_NB); }) != 0 && errno == EWOULDBLOCK) {
    return Status(Code::kUnavailable, "another shoal is using the layers in " + path +
                                          "; stop it, or give this one another directory");
  }
  LayerDirectory directory(path, std::move(fd));
  SHOAL_RETURN_IF_ERROR(RemoveFile(directory.NewPath()));
  return directory;
}

std::string LayerDirectory::WholePath(const std::string& name) const {
  return path_ + "/layers/" + ToHex(name) + std::string(kWhole);
}

std::string LayerDirectory::PartPath(const std::string& name) const {
  return path_ + "/layers/" + ToHex(name) + std::string(kPart);
}

std::string LayerDirectory::NewPath() const { return path_ + "/layers/new.part"; }

Status LayerDirectory::SetQuota(std::optional<std::uint64_t> bytes) {
  const std::string file = path_ + "/quota";
  if (!bytes) return RemoveFile(file);
  return WriteFileAtomically(file, std::to_string(*bytes) + "\n", FileAccess::kEveryone);
}

Result<std::vector<std::string>> LayerDirectory::MakeRoom(
    std::uint64_t bytes, const std::function<bool(const std::string& name)>& needed) {
  SHOAL_ASSIGN_OR_RETURN(const LayerUsage usage, Usage());
  SHOAL_ASSIGN_OR_RETURN(const std::uint64_t free, FreeSpace(path_));
  const auto above = [](std::uint64_t wanted, std::uint64_t limit) {
    return wanted > limit ? wanted - limit : 0;
  };
  const std::uint64_t over_quota = usage.quota ? above(usage.bytes + bytes, *usage.quota) : 0;
  const std::uint64_t over_disk = above(bytes + kKeptFree, free);
  const std::uint64_t missing = std::max(over_quota, over_disk);
  std::vector<StoredLayer> victims;
  std::uint64_t gained = 0;
  for (const StoredLayer& layer : usage.layers) {
    if (gained >= missing) break;
    if (needed(layer.name)) continue;
    gained += layer.bytes;
    victims.push_back(layer);
  }
  if (gained < missing) {
    std::string message = "no room for " + Megabytes(bytes) + " of layers in " + path_ + ": " +
                          Megabytes(missing - gained) + " are missing";
    message +=
        over_quota > over_disk
            ? "; its quota is " + Megabytes(*usage.quota) + ", raise it with `shoal cache quota`"
            : "; make room on the disk, of which " + Megabytes(kKeptFree) + " stay free";
    return Status(Code::kResourceExhausted, std::move(message));
  }
  std::vector<std::string> removed;
  for (const StoredLayer& victim : victims) {
    SHOAL_RETURN_IF_ERROR(
        RemoveFile(victim.whole ? WholePath(victim.name) : PartPath(victim.name)));
    removed.push_back(victim.name);
  }
  return removed;
}

Status LayerDirectory::Remove(const std::string& name) {
  SHOAL_RETURN_IF_ERROR(RemoveFile(WholePath(name)));
  return RemoveFile(PartPath(name));
}

void LayerDirectory::Touch(const std::string& name) const {
  // Where that is not possible, layers go in the order in which they came.
  (void)::utimensat(AT_FDCWD, WholePath(name).c_str(), nullptr, 0);
}

}  // namespace shoal::os
