#include "data/open_source.h"

#include <filesystem>
#include <span>
#include <system_error>
#include <utility>
#include <variant>

#include "base/hash.h"
#include "data/files.h"
#include "data/image_files.h"
#include "data/lmdb_source.h"

namespace shoal::data {
namespace {

template <class T>
Result<std::shared_ptr<const RecordSource>> Share(Result<T> source) {
  if (!source.ok()) return std::move(source).status();
  return std::shared_ptr<const RecordSource>(std::make_shared<T>(*std::move(source)));
}

Result<std::shared_ptr<const RecordSource>> Open(const SourceDef& def) {
  if (def.transform.force_color && def.transform.force_gray) {
    return Status(Code::kInvalidArgument, "both force_color and force_gray are set");
  }
  if (const auto* lmdb = std::get_if<LmdbDef>(&def.from)) {
    Colors colors = Colors::kAsStored;
    if (def.transform.force_color) colors = Colors::kColor;
    if (def.transform.force_gray) colors = Colors::kGray;
    return Share(LmdbSource::Open(lmdb->path, colors));
  }
  if (const auto* list = std::get_if<ImageListDef>(&def.from)) {
    return Share(ImageFiles::FromList(*list));
  }
  return Status(Code::kInvalidArgument, "its images are brought by the program, not by a file");
}

// What is not there is told of by whoever reads it.
void AddFile(const std::filesystem::path& path, Fingerprint& stamp) {
  std::error_code error;
  stamp.Add(std::filesystem::file_size(path, error));
  const auto changed = std::filesystem::last_write_time(path, error);
  stamp.Add(static_cast<std::uint64_t>(changed.time_since_epoch().count()));
}

}  // namespace

Result<std::shared_ptr<const RecordSource>> OpenSource(const SourceDef& def) {
  auto source = Open(def);
  if (source.ok() || def.layer.empty()) return source;
  return std::move(source).status().Annotate("layer \"" + def.layer + "\"");
}

std::uint64_t StampOf(const SourceDef& def) {
  Fingerprint stamp;
  if (const auto* lmdb = std::get_if<LmdbDef>(&def.from)) {
    std::error_code error;
    const std::filesystem::path path(lmdb->path);
    AddFile(std::filesystem::is_directory(path, error) ? path / "data.mdb" : path, stamp);
  }
  if (const auto* list = std::get_if<ImageListDef>(&def.from)) {
    const Result<std::string> text = ReadWholeFile(list->path, kListBytesMax);
    if (text.ok()) stamp.AddBytes(std::as_bytes(std::span(*text)));
    const Result<ImageFiles> files = ImageFiles::FromList(*list);
    for (std::int64_t i = 0; files.ok() && i < files->size(); ++i) AddFile(files->Path(i), stamp);
  }
  return stamp.value();
}

bool IsShuffled(const SourceDef& def) {
  const auto* list = std::get_if<ImageListDef>(&def.from);
  return list != nullptr && list->shuffle;
}

std::int64_t RandSkip(const SourceDef& def) {
  if (const auto* lmdb = std::get_if<LmdbDef>(&def.from)) return lmdb->rand_skip;
  if (const auto* list = std::get_if<ImageListDef>(&def.from)) return list->rand_skip;
  return 0;
}

}  // namespace shoal::data
