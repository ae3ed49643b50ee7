// AlignedBuffer: floats that start on a cache line, for packed operands.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace shoal::kernels {

// Owns what it points to. Contents are undefined until written.
class AlignedBuffer {
 public:
  // A cache line here and on every phone of ours, and the widest vector.
  static constexpr std::size_t kAlignment = 64;

  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t count) { Reserve(count); }

  // At least `count` floats. What was there before is lost if it has to grow.
  float* Reserve(std::size_t count) {
    if (count > count_) {
      data_.reset();
      data_.reset(static_cast<float*>(
          ::operator new (count * sizeof(float), std::align_val_t{kAlignment})));
      count_ = count;
    }
    return data_.get();
  }

  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  std::size_t count() const { return count_; }

 private:
  struct Free {
    void operator()(float* p) const { ::operator delete (p, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<float, Free> data_;
  std::size_t count_ = 0;
};

}  // namespace shoal::kernels
