// AlignedBuffer: memory for numbers. Starts on a cache line; large buffers start on
// a huge page and ask the kernel for huge pages, because reading weights through
// 4 KiB pages costs a quarter of the memory bandwidth (`./dev bench memory` measures it).
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/status.h"

namespace shoal {

// One cache line on every CPU we run on, and one AVX-512 vector.
inline constexpr std::size_t kTensorAlignment = 64;

// Move-only owner; contents start uninitialised. Empty when default-constructed.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;

  // kResourceExhausted if the system has no `bytes` to give. Zero bytes are fine.
  static Result<AlignedBuffer> Make(std::size_t bytes);

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  std::span<std::byte> bytes() { return {data(), size_}; }
  std::span<const std::byte> bytes() const { return {data(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace shoal
