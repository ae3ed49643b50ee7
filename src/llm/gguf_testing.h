// GGUF files made by tests.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "llm/gguf_writer.h"

namespace shoal::llm {

inline std::span<const std::byte> AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// The file that `writer` describes, with tensors of `count` zero bytes each.
inline std::string WithZeroTensors(const GgufWriter& writer, std::size_t count) {
  std::string out = writer.Header();
  for (std::size_t i = 0; i < count; ++i) {
    out.append(writer.TensorBytes(i) + writer.Padding(i), '\0');
  }
  return out;
}

}  // namespace shoal::llm
