#include "bench/peers/conv_peer.h"

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "base/check.h"

namespace shoal::bench {
namespace {

// The functions that we call, from the library as it is loaded: linked, it would start OpenMP
// before we can tell it to bind its threads (peers/blas.cc).
struct Library {
  void* dnnl = nullptr;
  void* gomp = nullptr;

  template <class Function>
  Function* Find(const char* name) const {
    return dnnl == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(dnnl, name));
  }
};

Library& Loaded() {
  static Library library = [] {
    setenv("OMP_PROC_BIND", "true", 0);
    Library loaded;
    loaded.gomp = dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL);
    loaded.dnnl = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
    return loaded;
  }();
  return library;
}

// Calls a function of the library by its name in the header.
#define SHOAL_DNNL(name) (*Loaded().Find<decltype(name)>(#name))

void Check(dnnl_status_t status) { SHOAL_CHECK_EQ(static_cast<int>(status), 0); }

dnnl_engine_t Engine() {
  static dnnl_engine_t engine = [] {
    dnnl_engine_t made = nullptr;
    Check(SHOAL_DNNL(dnnl_engine_create)(&made, dnnl_cpu, 0));
    return made;
  }();
  return engine;
}

dnnl_stream_t Stream() {
  static dnnl_stream_t stream = [] {
    dnnl_stream_t made = nullptr;
    Check(SHOAL_DNNL(dnnl_stream_create)(&made, Engine(), dnnl_stream_default_flags));
    return made;
  }();
  return stream;
}

dnnl_memory_desc_t Describe(std::initializer_list<std::size_t> sizes, dnnl_format_tag_t tag) {
  dnnl_dims_t dims = {};
  std::copy(sizes.begin(), sizes.end(), dims);
  dnnl_memory_desc_t description;
  Check(SHOAL_DNNL(dnnl_memory_desc_init_by_tag)(&description, static_cast<int>(sizes.size()), dims,
                                                 dnnl_f32, tag));
  return description;
}

struct Descriptions {
  dnnl_memory_desc_t x, w, y;
  dnnl_dims_t strides, dilates, pads, pads_end;
};

std::size_t PadEnd(std::size_t size, std::size_t pad, std::size_t reach) {
  return std::max(reach, size + pad) - size - pad;
}

Descriptions Describe(const kernels::ConvShape& s, dnnl_format_tag_t tag) {
  Descriptions d;
  d.x = Describe({s.batch, s.channels, s.height, s.width}, tag);
  d.y = Describe({s.batch, s.outputs, s.out_height(), s.out_width()}, tag);
  const std::size_t g = s.groups;
  d.w = g == 1 ? Describe({s.outputs, s.channels, s.kernel_h, s.kernel_w}, dnnl_format_tag_any)
               : Describe({g, s.outputs / g, s.channels / g, s.kernel_h, s.kernel_w},
                          dnnl_format_tag_any);
  const auto set = [](dnnl_dims_t& dims, std::size_t h, std::size_t w) {
    dims[0] = static_cast<dnnl_dim_t>(h);
    dims[1] = static_cast<dnnl_dim_t>(w);
  };
  set(d.strides, s.stride_h, s.stride_w);
  set(d.dilates, s.dilation_h - 1, s.dilation_w - 1);
  set(d.pads, s.pad_h, s.pad_w);
  // What the last patch reads beyond the image; it may end before the pad does.
  const std::size_t reach_h =
      (s.out_height() - 1) * s.stride_h + (s.kernel_h - 1) * s.dilation_h + 1;
  const std::size_t reach_w =
      (s.out_width() - 1) * s.stride_w + (s.kernel_w - 1) * s.dilation_w + 1;
  set(d.pads_end, PadEnd(s.height, s.pad_h, reach_h), PadEnd(s.width, s.pad_w, reach_w));
  return d;
}

// A primitive and its memory, which live as long as the contender.
class Primitive {
 public:
  Primitive(dnnl_primitive_desc_t description, std::span<const std::pair<int, dnnl_query_t>> args) {
    Check(SHOAL_DNNL(dnnl_primitive_create)(&primitive_, description));
    for (const auto& [name, query] : args) {
      const dnnl_memory_desc_t* memory_description =
          SHOAL_DNNL(dnnl_primitive_desc_query_md)(description, query, 0);
      dnnl_memory_t memory = nullptr;
      Check(SHOAL_DNNL(dnnl_memory_create)(&memory, memory_description, Engine(),
                                           DNNL_MEMORY_ALLOCATE));
      void* data = nullptr;
      Check(SHOAL_DNNL(dnnl_memory_get_data_handle)(memory, &data));
      const std::size_t bytes = SHOAL_DNNL(dnnl_memory_desc_get_size)(memory_description);
      std::fill_n(static_cast<float*>(data), bytes / sizeof(float), 0.25F);
      args_.push_back({name, memory});
    }
  }
  ~Primitive() {
    for (const dnnl_exec_arg_t& arg : args_) SHOAL_DNNL(dnnl_memory_destroy)(arg.memory);
    SHOAL_DNNL(dnnl_primitive_destroy)(primitive_);
  }
  Primitive(const Primitive&) = delete;
  Primitive& operator=(const Primitive&) = delete;

  void Run() const {
    Check(SHOAL_DNNL(dnnl_primitive_execute)(primitive_, Stream(), static_cast<int>(args_.size()),
                                             args_.data()));
    Check(SHOAL_DNNL(dnnl_stream_wait)(Stream()));
  }

 private:
  dnnl_primitive_t primitive_ = nullptr;
  std::vector<dnnl_exec_arg_t> args_;
};

// Null if the library cannot.
dnnl_primitive_desc_t Create(const dnnl_convolution_desc_t& convolution,
                             const_dnnl_primitive_desc_t hint) {
  dnnl_primitive_desc_t made = nullptr;
  const dnnl_status_t status =
      SHOAL_DNNL(dnnl_primitive_desc_create)(&made, &convolution, nullptr, Engine(), hint);
  return status == dnnl_success ? made : nullptr;
}

dnnl_primitive_desc_t CreateForward(const Descriptions& d) {
  dnnl_convolution_desc_t convolution;
  Check(SHOAL_DNNL(dnnl_dilated_convolution_forward_desc_init)(
      &convolution, dnnl_forward_training, dnnl_convolution_direct, &d.x, &d.w, nullptr, &d.y,
      d.strides, d.dilates, d.pads, d.pads_end));
  return Create(convolution, nullptr);
}

dnnl_primitive_desc_t CreateBackward(const Descriptions& d, bool data,
                                     const_dnnl_primitive_desc_t hint) {
  dnnl_convolution_desc_t convolution;
  if (data) {
    Check(SHOAL_DNNL(dnnl_dilated_convolution_backward_data_desc_init)(
        &convolution, dnnl_convolution_direct, &d.x, &d.w, &d.y, d.strides, d.dilates, d.pads,
        d.pads_end));
  } else {
    Check(SHOAL_DNNL(dnnl_dilated_convolution_backward_weights_desc_init)(
        &convolution, dnnl_convolution_direct, &d.x, &d.w, nullptr, &d.y, d.strides, d.dilates,
        d.pads, d.pads_end));
  }
  return Create(convolution, hint);
}

std::shared_ptr<Primitive> Make(const kernels::ConvShape& shape, ConvPassKind kind,
                                dnnl_format_tag_t tag) {
  using Arg = std::pair<int, dnnl_query_t>;
  const Arg x{DNNL_ARG_SRC, dnnl_query_src_md};
  const Arg w{DNNL_ARG_WEIGHTS, dnnl_query_weights_md};
  const Arg y{DNNL_ARG_DST, dnnl_query_dst_md};
  const Arg dx{DNNL_ARG_DIFF_SRC, dnnl_query_diff_src_md};
  const Arg dw{DNNL_ARG_DIFF_WEIGHTS, dnnl_query_diff_weights_md};
  const Arg dy{DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md};
  const Descriptions d = Describe(shape, tag);
  dnnl_primitive_desc_t forward = CreateForward(d);
  if (forward == nullptr) return nullptr;
  dnnl_primitive_desc_t description = forward;
  std::array<Arg, 3> args = {x, w, y};
  if (kind != ConvPassKind::kForward) {
    const bool data = kind == ConvPassKind::kBackwardData;
    description = CreateBackward(d, data, forward);
    args = data ? std::array<Arg, 3>{dx, w, dy} : std::array<Arg, 3>{x, dw, dy};
  }
  std::shared_ptr<Primitive> made;
  if (description != nullptr) made = std::make_shared<Primitive>(description, args);
  if (description != forward) SHOAL_DNNL(dnnl_primitive_desc_destroy)(description);
  SHOAL_DNNL(dnnl_primitive_desc_destroy)(forward);
  return made;
}

}  // namespace

std::vector<std::function<void()>> MakeConvPeers(const kernels::ConvShape& shape, ConvPassKind kind,
                                                 std::size_t threads) {
  std::vector<std::function<void()>> peers;
  if (Loaded().dnnl == nullptr || Loaded().gomp == nullptr) return peers;
  auto* set_threads = reinterpret_cast<void (*)(int)>(dlsym(Loaded().gomp, "omp_set_num_threads"));
  set_threads(static_cast<int>(threads));  // Before a primitive is made: it plans for them.
  for (const dnnl_format_tag_t tag : {dnnl_nhwc, dnnl_format_tag_any}) {
    const std::shared_ptr<Primitive> primitive = Make(shape, kind, tag);
    if (primitive != nullptr) peers.emplace_back([primitive] { primitive->Run(); });
  }
  return peers;
}

}  // namespace shoal::bench
