#include "bench/gemm_bench.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "base/random.h"
#include "bench/interleave.h"
#include "bench/peak_bench.h"
#include "bench/peers/blas.h"
#include "kernels/gemm.h"
#include "tensor/tensor.h"

namespace shoal::bench {
namespace {

struct Problem {
  std::size_t m, n, k;
};

constexpr Problem kSquare[] = {
    {256, 256, 256}, {512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048}};

// Convolutions as GEMM, one image: m output pixels, n output channels, k = input
// channels × filter. From the first layers of ResNet-50 and VGG-like nets to the last.
constexpr Problem kConvolutions[] = {
    {12544, 64, 147}, {12544, 64, 576}, {3136, 64, 64},   {3136, 64, 256}, {3136, 64, 576},
    {3136, 256, 64},  {784, 128, 512},  {784, 128, 1152}, {784, 512, 128}, {196, 256, 1024},
    {196, 256, 2304}, {196, 512, 1024}, {196, 512, 4608}};

constexpr Problem kQuick[] = {
    {256, 256, 256}, {1024, 1024, 1024}, {3136, 64, 576}, {196, 256, 2304}};

Tensor RandomMatrix(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  Result<Tensor> matrix = Tensor::Make(
      DType::kF32, {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)});
  SHOAL_CHECK(matrix.ok());
  Random random(seed);
  for (std::size_t i = 0; i < rows * columns; ++i) {
    matrix->data<float>()[i] = static_cast<float>(random.Unit() - 0.5);
  }
  return *std::move(matrix);
}

// One problem, everybody who is there, in turns.
class Race {
 public:
  Race(const Problem& problem, Parallel& parallel, kernels::Target target,
       const std::vector<BlasPeer>& peers)
      : a_(RandomMatrix(problem.m, problem.k, 1)),
        b_(RandomMatrix(problem.k, problem.n, 2)),
        c_(RandomMatrix(problem.m, problem.n, 3)) {
    kernels::GemmArgs args;
    args.m = problem.m;
    args.n = problem.n;
    args.k = problem.k;
    args.a = {.data = a_.data<float>(), .stride = problem.k};
    args.b = {.data = b_.data<float>(), .stride = problem.n};
    args.c = c_.data<float>();
    args.c_stride = problem.n;
    contenders_.push_back({"ours", [this, args, &parallel, target] {
                             kernels::Gemm(args, workspace_, parallel, target);
                           }});
    const BlasProblem blas = {problem.m, problem.n, problem.k, args.a.data, args.b.data, args.c};
    for (const BlasPeer& peer : peers) {
      peer.set_threads(parallel.workers());
      contenders_.push_back({peer.name, [multiply = peer.multiply, blas] { multiply(blas); }});
    }
  }

  std::vector<double> Seconds(const Effort& effort) { return RunInterleaved(contenders_, effort); }
  const std::vector<Contender>& contenders() const { return contenders_; }

 private:
  Tensor a_;
  Tensor b_;
  Tensor c_;
  kernels::GemmWorkspace workspace_;
  std::vector<Contender> contenders_;
};

Row RunRace(const Problem& problem, Parallel& parallel, kernels::Target target,
            const std::vector<BlasPeer>& peers, const Effort& effort) {
  Race race(problem, parallel, target, peers);
  const std::vector<double> seconds = race.Seconds(effort);
  const double gflop = 2e-9 * static_cast<double>(problem.m) * static_cast<double>(problem.n) *
                       static_cast<double>(problem.k);
  Row row;
  row.name =
      fmt::format("m={} n={} k={} t={}", problem.m, problem.n, problem.k, parallel.workers());
  row.unit = "GFLOP/s";
  row.ours = gflop / seconds[0];
  for (std::size_t i = 1; i < seconds.size(); ++i) {
    row.peers.emplace_back(race.contenders()[i].name, gflop / seconds[i]);
  }
  return row;
}

}  // namespace

Report RunGemmBench(const GemmBenchOptions& options, const MakeParallel& make_parallel) {
  Effort effort;
  std::vector<Problem> problems(std::begin(kQuick), std::end(kQuick));
  if (options.quick) {
    effort.turn = std::chrono::milliseconds(10);
  } else {
    problems.assign(std::begin(kSquare), std::end(kSquare));
    problems.insert(problems.end(), std::begin(kConvolutions), std::end(kConvolutions));
  }
  std::vector<std::unique_ptr<Parallel>> pools;
  for (const std::size_t threads : options.threads) pools.push_back(make_parallel(threads));
  const std::vector<BlasPeer> peers = LoadBlasPeers();
  Report report{.bench = "gemm", .rows = {}};
  for (const std::unique_ptr<Parallel>& parallel : pools) {
    const double peak = PeakGflops(*parallel, options.target, effort);
    for (const Problem& problem : problems) {
      report.rows.push_back(RunRace(problem, *parallel, options.target, peers, effort));
      report.rows.back().limit = peak;
    }
  }
  return report;
}

}  // namespace shoal::bench
