#include "nn/param_layout.h"

#include <cstdint>

#include "base/check.h"

namespace shoal::nn {

ParamLayout ParamLayout::Plain(const Shape& shape) {
  ParamLayout layout;
  layout.shape_ = shape;
  layout.pixels_ = layout.elements();
  return layout;
}

ParamLayout ParamLayout::Convolution(const Shape& shape) {
  SHOAL_CHECK_EQ(shape.rank(), 4U);
  ParamLayout layout;
  layout.shape_ = shape;
  layout.outputs_ = static_cast<std::size_t>(shape[0]);
  layout.channels_ = static_cast<std::size_t>(shape[1]);
  layout.pixels_ = static_cast<std::size_t>(shape[2] * shape[3]);
  layout.file_output_ = layout.channels_ * layout.pixels_;
  layout.file_channel_ = layout.pixels_;
  return layout;
}

ParamLayout ParamLayout::InnerProduct(std::size_t outputs, std::size_t channels, std::size_t pixels,
                                      bool transposed) {
  ParamLayout layout;
  const auto rows = static_cast<std::int64_t>(channels * pixels);
  const auto columns = static_cast<std::int64_t>(outputs);
  layout.shape_ = transposed ? Shape{rows, columns} : Shape{columns, rows};
  layout.outputs_ = outputs;
  layout.channels_ = channels;
  layout.pixels_ = pixels;
  layout.file_output_ = transposed ? 1 : channels * pixels;
  layout.file_channel_ = transposed ? pixels * outputs : pixels;
  layout.file_pixel_ = transposed ? outputs : 1;
  return layout;
}

void ParamLayout::FromFile(std::span<const float> file, std::span<float> memory) const {
  SHOAL_CHECK_EQ(file.size(), elements());
  SHOAL_CHECK_EQ(memory.size(), elements());
  float* out = memory.data();
  for (std::size_t p = 0; p < pixels_; ++p) {
    for (std::size_t c = 0; c < channels_; ++c) {
      const float* in = file.data() + c * file_channel_ + p * file_pixel_;
      for (std::size_t o = 0; o < outputs_; ++o) *out++ = in[o * file_output_];
    }
  }
}

void ParamLayout::ToFile(std::span<const float> memory, std::span<float> file) const {
  SHOAL_CHECK_EQ(file.size(), elements());
  SHOAL_CHECK_EQ(memory.size(), elements());
  const float* in = memory.data();
  for (std::size_t p = 0; p < pixels_; ++p) {
    for (std::size_t c = 0; c < channels_; ++c) {
      float* out = file.data() + c * file_channel_ + p * file_pixel_;
      for (std::size_t o = 0; o < outputs_; ++o) out[o * file_output_] = *in++;
    }
  }
}

}  // namespace shoal::nn
