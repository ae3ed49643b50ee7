#include "kernels/onednn_parts.h"

#include <algorithm>
#include <array>

#include "base/check.h"

// Of OpenMP's interface, which oneDNN brings its own implementation of: no header, because it is
// the compiler's and another one may be installed.
extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int count);
}

namespace shoal::kernels {
namespace {

using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;

constexpr dnnl::memory::data_type kF32 = dnnl::memory::data_type::f32;

// Tasks that a few cores want, and the most images of one: those share what they read of weights.
constexpr std::size_t kTasksMin = 4;
constexpr std::size_t kImagesMax = 8;
// Of weights that are better cut themselves than read for every image.
constexpr std::size_t kHeavyTasks = 8;
// Channels are cut in multiples of this: whole vectors of the library's kernels.
constexpr std::size_t kCutChannels = 16;

std::int64_t Dim(std::size_t size) { return static_cast<std::int64_t>(size); }

// The smallest divisor of `batch` that makes at most `tasks`, if it is not too large.
std::size_t ImagesPerTask(std::size_t batch, std::size_t tasks) {
  std::size_t best = 1;
  for (std::size_t images = 1; images <= std::min(batch, kImagesMax); ++images) {
    if (batch % images != 0) continue;
    best = images;
    if (batch / images <= tasks) break;
  }
  return best;
}

std::size_t CutsOf(std::size_t channels, std::size_t wanted) {
  std::size_t cuts = 1;
  while (cuts < wanted && channels % (2 * cuts * kCutChannels) == 0) cuts *= 2;
  return cuts;
}

}  // namespace

OneThread::OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
OneThread::~OneThread() { omp_set_num_threads(before_); }

const dnnl::engine& OneDnnEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

OneDnnParts::OneDnnParts(const ConvShape& shape, OneDnnCut cut_side, const OneDnnLimits& limits)
    : whole(shape), part(shape), cut(cut_side) {
  const bool depthwise = shape.groups == shape.channels && shape.groups == shape.outputs;
  const std::size_t units = depthwise ? 1 : shape.groups;
  const bool heavy = shape.weights() / units >= limits.heavy_weights;
  part.batch = ImagesPerTask(shape.batch, heavy ? 1 : limits.image_tasks);
  runs = shape.batch / part.batch;
  part.channels = shape.channels / units;
  part.outputs = shape.outputs / units;
  const std::size_t wanted =
      ((heavy ? kHeavyTasks : kTasksMin) + runs * units - 1) / (runs * units);
  cuts = CutsOf(cut == OneDnnCut::kChannels ? part.channels : part.outputs, wanted);
  if (cut == OneDnnCut::kChannels || depthwise) part.channels /= cuts;
  if (cut == OneDnnCut::kOutputs || depthwise) part.outputs /= cuts;
  part.groups = depthwise ? part.channels : 1;
  blocks = units * cuts;
}

std::size_t OneDnnParts::x_begin(std::size_t block) const {
  if (part.groups > 1 || cut == OneDnnCut::kChannels) return block * part.channels;
  return block / cuts * part.channels;
}

std::size_t OneDnnParts::y_begin(std::size_t block) const {
  if (part.groups > 1 || cut == OneDnnCut::kOutputs) return block * part.outputs;
  return block / cuts * part.outputs;
}

std::size_t OneDnnParts::w_begin(std::size_t block) const {
  const std::size_t channel = x_begin(block) % (whole.channels / whole.groups);
  return channel * whole.outputs + y_begin(block);
}

OneDnnOperands::OneDnnOperands(const OneDnnParts& parts) {
  const ConvShape& s = parts.part;
  const Dims x_dims = {Dim(s.batch), Dim(s.channels), Dim(s.height), Dim(s.width)};
  const Dims y_dims = {Dim(s.batch), Dim(s.outputs), Dim(s.out_height()), Dim(s.out_width())};
  x = {x_dims, kF32, Tag::nhwc};
  y = {y_dims, kF32, Tag::nhwc};
  bias = {{Dim(s.outputs)}, kF32, Tag::x};
  const std::int64_t tap = Dim(parts.whole.channels / parts.whole.groups * parts.whole.outputs);
  Dims w_dims = {Dim(s.outputs), Dim(s.channels), Dim(s.kernel_h), Dim(s.kernel_w)};
  Dims w_strides = {1, Dim(parts.whole.outputs), Dim(s.kernel_w) * tap, tap};
  if (s.groups > 1) {
    w_dims = {Dim(s.groups), 1, 1, Dim(s.kernel_h), Dim(s.kernel_w)};
    w_strides.insert(w_strides.begin(), 1);
  }
  any_w = {w_dims, kF32, Tag::any};
  our_w = {w_dims, kF32, w_strides};
  strides = {Dim(s.stride_h), Dim(s.stride_w)};
  dilations = {Dim(s.dilation_h) - 1, Dim(s.dilation_w) - 1};
  pads = {Dim(s.pad_h), Dim(s.pad_w)};
}

dnnl::memory Unbound(const dnnl::memory::desc& desc) {
  return {desc, OneDnnEngine(), DNNL_MEMORY_NONE};
}

std::vector<dnnl::memory> Unbound(const dnnl::memory::desc& desc, std::size_t count) {
  std::vector<dnnl::memory> memories;
  memories.reserve(count);
  for (std::size_t i = 0; i < count; ++i) memories.push_back(Unbound(desc));
  return memories;
}

dnnl::primitive_attr OwnScratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

void Execute(const dnnl::primitive& primitive, const dnnl::stream& stream,
             std::initializer_list<OneDnnArg> args) {
  // The library's C interface takes an array where its C++ interface takes a map.
  constexpr std::size_t kArgsMax = 8;
  std::array<dnnl_exec_arg_t, kArgsMax> array{};
  SHOAL_CHECK(args.size() <= kArgsMax);
  std::size_t count = 0;
  for (const OneDnnArg& arg : args) array[count++] = {arg.kind, arg.memory.get()};
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive.get(), stream.get(), static_cast<int>(count), array.data());
  SHOAL_CHECK_EQ(static_cast<int>(status), static_cast<int>(dnnl_success));
}

}  // namespace shoal::kernels
