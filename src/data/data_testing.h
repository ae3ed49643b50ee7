// What several tests of this module need. For tests only.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/check.h"
#include "data/record.h"

namespace shoal::data {

// A directory that is empty at first and gone at the end.
class TempDirectory {
 public:
  TempDirectory() : path_(::testing::TempDir() + "shoal_dataXXXXXX") {
    SHOAL_CHECK(::mkdtemp(path_.data()) != nullptr);
  }
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

  // Makes the file and the directories it is in; returns its path.
  std::string Write(std::string_view name, std::string_view bytes) const {
    const std::string path = *this / name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path;
  }

 private:
  std::string path_;
};

// Every element is different from its neighbours in all directions.
inline Record TestRecord(std::int64_t channels, std::int64_t height, std::int64_t width,
                         std::int32_t label) {
  Record record{.channels = channels, .height = height, .width = width, .label = label};
  for (std::int64_t i = 0; i < record.elements(); ++i) {
    record.bytes.push_back(static_cast<std::uint8_t>(i * 7 + label * 31));
  }
  return record;
}

inline std::string Message(const Status& status) { return std::string(status.message()); }

}  // namespace shoal::data
