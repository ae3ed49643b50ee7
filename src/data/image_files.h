// JPEG and PNG files as a data set: named by a list, or sorted into a folder for each class.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/record.h"
#include "data/source_def.h"

namespace shoal::data {

// Of a list's text.
inline constexpr std::int64_t kListBytesMax = std::int64_t{1} << 30U;

class ImageFiles final : public RecordSource {
 public:
  struct Entry {
    std::string name;  // As the list has it, or "class/file".
    std::int32_t label = 0;
  };

  // Lines "path label"; a path may contain spaces. Empty lines are skipped. Failures name
  // the line. The files are not looked at yet.
  static Result<ImageFiles> FromList(const ImageListDef& def);
  // Every directory in `root` is a class; their sorted names give the labels from 0 on. Files
  // that do not end in .jpg, .jpeg or .png (in any case) are passed over.
  static Result<ImageFiles> FromFolder(const std::string& root);

  // Every image is brought to this size; 0: stays as it is.
  void ResizeTo(std::int64_t height, std::int64_t width) {
    new_height_ = height;
    new_width_ = width;
  }
  void SetColors(Colors colors) { colors_ = colors; }

  std::int64_t size() const override { return static_cast<std::int64_t>(entries_.size()); }
  Status Read(std::int64_t index, Record& out) const override;
  std::string Name(std::int64_t index) const override { return At(index).name; }
  Result<std::optional<std::string>> ReadEncoded(std::int64_t index) const override;

  // The names of the classes by label; empty if a list did not say.
  const std::vector<std::string>& classes() const { return classes_; }
  std::string Path(std::int64_t index) const { return prefix_ + At(index).name; }

 private:
  explicit ImageFiles(std::string prefix) : prefix_(std::move(prefix)) {}
  Status AddClass(const std::string& root, const std::string& name);
  const Entry& At(std::int64_t index) const;

  std::string prefix_;
  std::vector<Entry> entries_;
  std::vector<std::string> classes_;
  std::int64_t new_height_ = 0;
  std::int64_t new_width_ = 0;
  Colors colors_ = Colors::kColor;
};

}  // namespace shoal::data
