// Safetensors files made by tests.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/shape.h"

namespace shoal::llm {

// A file with this header and data.
inline std::string SafetensorsBytes(std::string_view header, std::string_view data) {
  std::string out;
  for (std::size_t i = 0; i < 8; ++i) out += static_cast<char>(header.size() >> (8 * i) & 255U);
  return out.append(header).append(data);
}

class SafetensorsWriter {
 public:
  void Add(std::string_view name, std::string_view type, const Shape& shape,
           std::string_view bytes) {
    std::string extents;
    for (const std::int64_t extent : shape.extents()) {
      extents += (extents.empty() ? "" : ",") + std::to_string(extent);
    }
    header_ += (header_.empty() ? "" : ",") + std::string("\"") + std::string(name) +
               "\":{\"dtype\":\"" + std::string(type) + "\",\"shape\":[" + extents +
               "],\"data_offsets\":[" + std::to_string(data_.size()) + "," +
               std::to_string(data_.size() + bytes.size()) + "]}";
    data_ += bytes;
  }
  std::string Bytes() const { return SafetensorsBytes("{" + header_ + "}", data_); }

 private:
  std::string header_;
  std::string data_;
};

}  // namespace shoal::llm
