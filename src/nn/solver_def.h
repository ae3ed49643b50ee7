// SolverDef: how a network is trained. What a solver prototxt means; plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shoal::nn {

enum class SolverKind : std::uint8_t { kSgd, kNesterov, kAdaGrad, kRmsProp, kAdaDelta, kAdam };

// The learning rate as a function of the iteration (solver.cc says which).
enum class LrPolicy : std::uint8_t {
  kFixed,
  kStep,
  kExp,
  kInv,
  kMultiStep,
  kPoly,
  kSigmoid,
  kPlateau,  // Intel's fork: × gamma when the loss has not fallen for a window of iterations.
};

enum class Regularization : std::uint8_t { kL2, kL1 };

// Layer-wise adaptive rates (LARS), as the forks have them.
struct LarsDef {
  bool clip = false;  // NVCaffe's policy "clip": never more than the global rate.
  float eta = 0.001F;
};

struct SolverDef {
  SolverKind kind = SolverKind::kSgd;
  LrPolicy lr_policy = LrPolicy::kFixed;
  float base_lr = 0;
  float gamma = 0;
  float power = 0;
  std::int64_t stepsize = 0;
  std::vector<std::int64_t> stepvalues = {};       // kMultiStep
  std::vector<std::int64_t> plateau_winsize = {};  // kPlateau
  std::int64_t warmup_iter = 0;  // Linear from warmup_start_lr up to the policy's rate.
  float warmup_start_lr = 0;
  float min_lr = 0;

  std::int64_t max_iter = 0;
  std::int64_t iter_size = 1;
  float momentum = 0;
  // kSgd, kNesterov: the history, which contains the rate, follows it when it changes. Caffe does
  // not; large batches with a warm-up need it.
  bool momentum_correction = false;
  float momentum2 = 0.999F;  // kAdam
  float rms_decay = 0.99F;   // kRmsProp
  float delta = 1e-8F;
  float weight_decay = 0;
  Regularization regularization = Regularization::kL2;
  float clip_gradients = -1;  // < 0: not at all.
  std::optional<LarsDef> lars = {};

  std::int64_t display = 0;
  std::int64_t average_loss = 1;
  std::vector<std::int64_t> test_iter = {};  // One per test net.
  std::int64_t test_interval = 0;
  bool test_initialization = true;
  bool test_compute_loss = false;

  std::int64_t snapshot = 0;
  std::string snapshot_prefix = {};
  bool snapshot_after_train = true;
  bool debug_info = false;
  std::int64_t random_seed = -1;  // < 0: any.
};

}  // namespace shoal::nn
