// ParamLayout: how a parameter of Caffe's files lies in our memory. Files hold convolution weights
// as (outputs, channels, h, w) and the weights of an inner product as (outputs, inputs), inputs
// counted in the order channels, h, w; kernels want the outputs last and the channels before them.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/shape.h"

namespace shoal::nn {

class ParamLayout {
 public:
  ParamLayout() = default;
  // Lies as in the file.
  static ParamLayout Plain(const Shape& shape);
  // File (outputs, channels, h, w), memory [h, w, channels, outputs].
  static ParamLayout Convolution(const Shape& shape);
  // File (outputs, channels · pixels), memory [pixels, channels, outputs]; `transposed`: the file
  // holds (channels · pixels, outputs).
  static ParamLayout InnerProduct(std::size_t outputs, std::size_t channels, std::size_t pixels,
                                  bool transposed);

  // The file's.
  const Shape& shape() const { return shape_; }
  std::size_t elements() const { return static_cast<std::size_t>(shape_.elements()); }

  // REQUIRES: both spans hold elements(), and do not overlap.
  void FromFile(std::span<const float> file, std::span<float> memory) const;
  void ToFile(std::span<const float> memory, std::span<float> file) const;

  bool operator==(const ParamLayout&) const = default;

 private:
  // Memory is [pixels, channels, outputs]; the file's element of (o, c, p) is at
  // o · file_output + c · file_channel + p.
  Shape shape_;
  std::size_t outputs_ = 1;
  std::size_t channels_ = 1;
  std::size_t pixels_ = 1;
  std::size_t file_output_ = 0;
  std::size_t file_channel_ = 0;
  std::size_t file_pixel_ = 1;
};

}  // namespace shoal::nn
