#include "data/image_files.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/check.h"
#include "data/files.h"
#include "data/image.h"

namespace shoal::data {
namespace {

constexpr std::int64_t kImageFileBytesMax = std::int64_t{256} << 20U;

bool IsImageName(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  std::string ending(name.substr(dot));
  for (char& c : ending) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

std::string_view TrimEnd(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \t\r");
  return text.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

Result<ImageFiles::Entry> ParseLine(std::string_view line) {
  const std::size_t space = line.find_last_of(" \t");
  if (space == std::string_view::npos) {
    return Status(Code::kInvalidArgument, "expected \"path label\"");
  }
  const std::string_view number = line.substr(space + 1);
  ImageFiles::Entry entry;
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), entry.label);
  if (error != std::errc() || end != number.data() + number.size()) {
    return Status(Code::kInvalidArgument, "not a label: " + std::string(number));
  }
  entry.name = TrimEnd(line.substr(0, space));
  if (entry.name.empty()) return Status(Code::kInvalidArgument, "expected \"path label\"");
  return entry;
}

}  // namespace

Result<ImageFiles> ImageFiles::FromList(const ImageListDef& def) {
  if ((def.new_height > 0) != (def.new_width > 0) || def.new_height < 0 || def.new_width < 0) {
    return Status(Code::kInvalidArgument,
                  "new_height and new_width are given both or not at all: " + def.path);
  }
  SHOAL_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(def.path, kListBytesMax));
  ImageFiles files(def.root_folder);
  files.ResizeTo(def.new_height, def.new_width);
  files.SetColors(def.color ? Colors::kColor : Colors::kGray);
  std::string_view rest = text;
  for (std::int64_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = TrimEnd(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.empty()) continue;
    Result<Entry> entry = ParseLine(line);
    if (!entry.ok()) {
      return std::move(entry).status().Annotate(def.path + ":" + std::to_string(number));
    }
    files.entries_.push_back(*std::move(entry));
  }
  if (files.entries_.empty()) return Status(Code::kInvalidArgument, "no images: " + def.path);
  return files;
}

Result<ImageFiles> ImageFiles::FromFolder(const std::string& root) {
  SHOAL_ASSIGN_OR_RETURN(const DirectoryNames names, ListNames(root));
  ImageFiles files(root + "/");
  for (const std::string& name : names.directories) {
    SHOAL_RETURN_IF_ERROR(files.AddClass(root, name));
  }
  if (files.entries_.empty()) {
    return Status(Code::kInvalidArgument,
                  "no directories with .jpg or .png files in them: " + root);
  }
  return files;
}

Status ImageFiles::AddClass(const std::string& root, const std::string& name) {
  SHOAL_ASSIGN_OR_RETURN(const DirectoryNames names, ListNames(root + "/" + name));
  const auto label = static_cast<std::int32_t>(classes_.size());
  classes_.push_back(name);
  for (const std::string& file : names.files) {
    if (IsImageName(file)) entries_.push_back({.name = name + "/" + file, .label = label});
  }
  return {};
}

const ImageFiles::Entry& ImageFiles::At(std::int64_t index) const {
  SHOAL_CHECK(index >= 0 && index < size());
  return entries_[static_cast<std::size_t>(index)];
}

Status ImageFiles::Read(std::int64_t index, Record& out) const {
  const std::string path = Path(index);
  SHOAL_ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(path, kImageFileBytesMax));
  Image image;
  image.pixels.swap(out.bytes);  // Its memory.
  Status status = DecodeImage(bytes, colors_, image);
  if (!status.ok()) return std::move(status).Annotate(path);
  if (new_height_ > 0) image = Resize(image, new_height_, new_width_);
  out.channels = image.channels;
  out.height = image.height;
  out.width = image.width;
  out.label = At(index).label;
  out.bytes = std::move(image.pixels);
  out.floats.clear();
  return {};
}

Result<std::optional<std::string>> ImageFiles::ReadEncoded(std::int64_t index) const {
  if (new_height_ > 0) return std::optional<std::string>();
  SHOAL_ASSIGN_OR_RETURN(std::string bytes, ReadWholeFile(Path(index), kImageFileBytesMax));
  return std::optional(std::move(bytes));
}

}  // namespace shoal::data
