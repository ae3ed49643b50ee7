// FloatScratch: room for packed operands that grows to the largest use and is then
// reused without allocation. Starts on a cache line, and on huge pages when large.
#pragma once

#include <cstddef>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "tensor/aligned_buffer.h"

namespace shoal::kernels {

// Move-only. Contents are undefined until written.
class FloatScratch {
 public:
  // At least `count` floats; what was there before is lost if it has to grow. A machine
  // without that much memory ends the process: budgets are kept by those who choose shapes.
  float* Reserve(std::size_t count) {
    if (count * sizeof(float) > buffer_.size()) {
      buffer_ = AlignedBuffer();  // Gives back the old before it asks for the new.
      Result<AlignedBuffer> larger = AlignedBuffer::Make(count * sizeof(float));
      SHOAL_CHECK(larger.ok());
      buffer_ = *std::move(larger);
    }
    return reinterpret_cast<float*>(buffer_.data());
  }

  const float* data() const { return reinterpret_cast<const float*>(buffer_.data()); }

 private:
  AlignedBuffer buffer_;
};

}  // namespace shoal::kernels
