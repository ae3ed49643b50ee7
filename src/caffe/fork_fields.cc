#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "caffe/fork_fields_internal.h"

namespace shoal::caffe::internal {
namespace {

struct MessageField {
  std::string_view message;
  std::string_view field;
  bool operator==(const MessageField&) const = default;
};

constexpr MessageField kHarmless[] = {
    // Intel: engines, clusters, quantised inference, detection metrics.
    {"NetParameter", "bn_stats_batch_size"},
    {"NetParameter", "compile_net_state"},
    {"NetParameter", "engine"},
    {"NetParameter", "multinode"},
    {"LayerParameter", "engine"},
    {"LayerParameter", "multinode"},
    {"SolverParameter", "ap_version"},
    {"SolverParameter", "engine"},
    {"SolverParameter", "eval_type"},
    {"SolverParameter", "show_per_class_result"},
    {"DataParameter", "shuffle"},
    // Random changes of images that we do not make; what comes out has the same size.
    {"TransformationParameter", "distort_param"},
    {"TransformationParameter", "img_rand_resize_lower"},
    {"TransformationParameter", "img_rand_resize_upper"},
    {"TransformationParameter", "noise_param"},
    {"TransformationParameter", "rand_resize_ratio_lower"},
    {"TransformationParameter", "rand_resize_ratio_upper"},
    {"TransformationParameter", "random_aspect_ratio_param"},
    // NVIDIA: precision of its kernels, threads of its readers, reduction of its gradients.
    {"NetParameter", "default_backward_math"},
    {"NetParameter", "default_backward_type"},
    {"NetParameter", "default_conv_algos_override"},
    {"NetParameter", "default_cudnn_math_override"},
    {"NetParameter", "default_forward_math"},
    {"NetParameter", "default_forward_type"},
    {"NetParameter", "eltwise_mem_sharing"},
    {"NetParameter", "global_grad_scale"},
    {"NetParameter", "global_grad_scale_adaptive"},
    {"NetParameter", "reduce_buckets"},
    {"LayerParameter", "backward_math"},
    {"LayerParameter", "backward_type"},
    {"LayerParameter", "cudnn_math_override"},
    {"LayerParameter", "forward_math"},
    {"LayerParameter", "forward_type"},
    {"ConvolutionParameter", "conv_algos_override"},
    {"ConvolutionParameter", "cudnn_convolution_algo_seeker"},
    {"ConvolutionParameter", "cudnn_math_override"},
    {"DataParameter", "cache"},
    {"DataParameter", "parser_threads"},
    {"DataParameter", "threads"},
    {"ImageDataParameter", "cache"},
    {"SolverParameter", "global_grad_scale"},
    {"SolverParameter", "global_grad_scale_adaptive"},
    {"SolverParameter", "per_parameter_reduce"},
    {"SolverParameter", "reduce_buckets"},
    {"SolverParameter", "solver_data_type"},
    {"SolverParameter", "store_blobs_in_old_format"},
    {"TransformationParameter", "display"},
    {"TransformationParameter", "random_seed"},
    {"TransformationParameter", "use_gpu_transform"},
};

// The number of letters to insert, remove or replace.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

bool IsHarmless(std::string_view message, std::string_view field) {
  // What a fork's layer is told in a block of its own concerns that layer alone, and a layer
  // of a type that we do not have is an error of its own.
  const bool in_layer = message == "LayerParameter" || message == "V1LayerParameter";
  if (in_layer && field.ends_with("_param")) return true;
  return std::find(std::begin(kHarmless), std::end(kHarmless), MessageField{message, field}) !=
         std::end(kHarmless);
}

std::string LikelyField(const google::protobuf::Descriptor& message, std::string_view name) {
  constexpr std::size_t kLongestName = 64;
  if (name.size() > kLongestName) return "";
  std::string best;
  std::size_t best_distance = 3;  // Two letters may be wrong, but not half of a short name.
  for (int i = 0; i < message.field_count(); ++i) {
    const std::string& candidate = message.field(i)->name();
    const std::size_t distance = EditDistance(name, candidate);
    if (distance < best_distance && distance * 2 <= name.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace shoal::caffe::internal
