// How a convolution is cut for oneDNN, and the memory of its parts. Internal to conv_onednn.cc.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "kernels/conv.h"

namespace shoal::kernels {

// oneDNN on the calling thread alone while it lives.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

const dnnl::engine& OneDnnEngine();

inline std::size_t WholeLines(std::size_t floats) { return (floats + 15) / 16 * 16; }

// Which side of a pass is cut into ranges of channels; a depthwise convolution is cut on both.
enum class OneDnnCut : std::uint8_t { kChannels, kOutputs };

struct OneDnnLimits {
  std::size_t image_tasks = 1;  // At most, if images can be put together.
  // A group with so many weights is cut by channels rather than by images.
  std::size_t heavy_weights = 0;
};

// Blocks of channels (a group, or a range of one) times runs of images. All blocks, and all runs,
// are of one size, so that one primitive computes each of them.
struct OneDnnParts {
  // Cuts images, then channels until there are some tasks.
  OneDnnParts(const ConvShape& shape, OneDnnCut cut, const OneDnnLimits& limits);

  std::size_t tasks() const { return blocks * runs; }
  std::size_t x_begin(std::size_t block) const;
  std::size_t y_begin(std::size_t block) const;
  // Of the first weight of a block.
  std::size_t w_begin(std::size_t block) const;
  std::size_t x_pixels() const { return part.in_pixels(); }
  std::size_t y_pixels() const { return part.out_pixels(); }

  ConvShape whole;
  ConvShape part;  // What one task computes; its groups are its channels or 1.
  std::size_t blocks = 1;
  std::size_t runs = 1;  // Of images.
  std::size_t cuts = 1;  // Blocks in a group.
  OneDnnCut cut = OneDnnCut::kOutputs;
};

// The descriptions of a part's operands: dense pixels, any or our order of weights.
struct OneDnnOperands {
  explicit OneDnnOperands(const OneDnnParts& parts);

  dnnl::memory::desc x;
  dnnl::memory::desc y;
  dnnl::memory::desc any_w;
  dnnl::memory::desc our_w;
  dnnl::memory::desc bias;
  dnnl::memory::dims strides;
  dnnl::memory::dims dilations;
  dnnl::memory::dims pads;  // At either end.
};

// Memory without an address yet.
dnnl::memory Unbound(const dnnl::memory::desc& desc);
std::vector<dnnl::memory> Unbound(const dnnl::memory::desc& desc, std::size_t count);

// Lets the library put what it needs while it runs into our workspace.
dnnl::primitive_attr OwnScratchpad();

struct OneDnnArg {
  int kind;
  const dnnl::memory& memory;
};
void Execute(const dnnl::primitive& primitive, const dnnl::stream& stream,
             std::initializer_list<OneDnnArg> args);

}  // namespace shoal::kernels
