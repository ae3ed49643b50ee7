#include "bench/peers/blas.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <optional>

#include "base/check.h"
#include "kernels/target.h"

namespace shoal::bench {
namespace {

// A function of a loaded library; the library stays loaded. Null if there is none.
template <class Function>
Function* Find(void* library, const char* name) {
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

// OpenBLAS 0.3.21 takes CPUs that came after it for very old ones and is then five times
// slower than it can be; whoever compares gives it the kernels the CPU can run. Its Zen
// kernel for F32 is Haswell's.
void ChooseOpenBlasKernels() {
  const kernels::Target best = kernels::BestTarget();
  if (best == kernels::Target::kAvx512) setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
  if (best == kernels::Target::kAvx2) setenv("OPENBLAS_CORETYPE", "Haswell", 0);
}

std::optional<BlasPeer> LoadOpenBlas() {
  // CBLAS's enums: row-major, and not transposed.
  constexpr int kRowMajor = 101;
  constexpr int kNoTrans = 111;
  using SetThreads = void(int);
  using Sgemm = void(int, int, int, int, int, int, float, const float*, int, const float*, int,
                     float, float*, int);
  ChooseOpenBlasKernels();
  void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  auto* set_threads = Find<SetThreads>(library, "openblas_set_num_threads");
  auto* sgemm = Find<Sgemm>(library, "cblas_sgemm");
  if (set_threads == nullptr || sgemm == nullptr) return std::nullopt;
  return BlasPeer{
      "openblas", [set_threads](std::size_t threads) { set_threads(static_cast<int>(threads)); },
      [sgemm](const BlasProblem& p) {
        const int m = static_cast<int>(p.m);
        const int n = static_cast<int>(p.n);
        const int k = static_cast<int>(p.k);
        sgemm(kRowMajor, kNoTrans, kNoTrans, m, n, k, 1.0F, p.a, k, p.b, n, 0.0F, p.c, n);
      }};
}

std::optional<BlasPeer> LoadOneDnn() {
  using SetThreads = void(int);
  using Sgemm = int(char, char, std::int64_t, std::int64_t, std::int64_t, float, const float*,
                    std::int64_t, const float*, std::int64_t, float, float*, std::int64_t);
  // Debian's takes its threads from OpenMP, which leaves two of them on one core for seconds
  // unless told to bind them: 5 instead of 370 GFLOP/s at 256 cubed. It binds the calling
  // thread too, so whoever plans threads of his own does that before.
  setenv("OMP_PROC_BIND", "true", 0);
  auto* set_threads =
      Find<SetThreads>(dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL), "omp_set_num_threads");
  auto* sgemm = Find<Sgemm>(dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL), "dnnl_sgemm");
  if (set_threads == nullptr || sgemm == nullptr) return std::nullopt;
  return BlasPeer{"onednn",
                  [set_threads](std::size_t threads) { set_threads(static_cast<int>(threads)); },
                  [sgemm](const BlasProblem& p) {
                    const auto m = static_cast<std::int64_t>(p.m);
                    const auto n = static_cast<std::int64_t>(p.n);
                    const auto k = static_cast<std::int64_t>(p.k);
                    const int status = sgemm('N', 'N', m, n, k, 1.0F, p.a, k, p.b, n, 0.0F, p.c, n);
                    SHOAL_CHECK_EQ(status, 0);
                  }};
}

}  // namespace

std::vector<BlasPeer> LoadBlasPeers() {
  std::vector<BlasPeer> peers;
  if (std::optional<BlasPeer> peer = LoadOpenBlas()) peers.push_back(*std::move(peer));
  if (std::optional<BlasPeer> peer = LoadOneDnn()) peers.push_back(*std::move(peer));
  return peers;
}

}  // namespace shoal::bench
