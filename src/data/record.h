// Record: one image with its label, on the way from a data set to a batch.
// RecordSource: a data set, whatever it is stored as.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace shoal::data {

// Rows, columns, channels: a pixel's channels lie together, blue first if there are three.
struct Record {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int32_t label = 0;
  // One of the two is empty, the other has channels · height · width elements.
  std::vector<std::uint8_t> bytes{};
  std::vector<float> floats{};

  std::int64_t elements() const { return channels * height * width; }
};

// Thread-safe: const methods may be called from several threads.
class RecordSource {
 public:
  virtual ~RecordSource() = default;

  // At least 1.
  virtual std::int64_t size() const = 0;

  // Makes `out` the record at `index`, reusing its memory. A failure names the file or
  // record it is about; `out` is then unspecified. REQUIRES: 0 <= index < size().
  virtual Status Read(std::int64_t index, Record& out) const = 0;

  // What the record is called where it comes from (a file's path in its folder), or nothing.
  virtual std::string Name(std::int64_t /*index*/) const { return {}; }

  // The compressed image that the record is stored as, or nothing if it is not stored so.
  virtual Result<std::optional<std::string>> ReadEncoded(std::int64_t /*index*/) const {
    return std::optional<std::string>();
  }
};

// What a source does with the colours of compressed images.
enum class Colors : std::uint8_t {
  kAsStored,  // One channel if the file is gray, else three; transparency is dropped.
  kColor,     // Three.
  kGray,      // One.
};

}  // namespace shoal::data
