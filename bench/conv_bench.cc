#include "bench/conv_bench.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "base/check.h"
#include "bench/conv_runner.h"
#include "bench/conv_shapes.h"
#include "bench/interleave.h"
#include "bench/peak_bench.h"
#include "bench/peers/conv_peer.h"
#include "kernels/conv.h"

namespace shoal::bench {
namespace {

using kernels::ConvImplementation;
using kernels::ConvShape;

std::string Describe(const ConvLayer& layer, ConvPassKind kind) {
  const ConvShape& s = layer.shape;
  const std::string groups = s.groups > 1 ? fmt::format(" g{}", s.groups) : "";
  return fmt::format("{} {}x{}x{} {}>{} {}x{} s{}{} {}", layer.net, s.batch, s.height, s.width,
                     s.channels, s.outputs, s.kernel_h, s.kernel_w, s.stride_h, groups,
                     KindName(kind));
}

// Milliseconds of a network's convolutions, of the fastest of ours and of theirs.
struct Total {
  double ours = 0;
  double peer = 0;
  double gflop = 0;
};

class Bench {
 public:
  Bench(const ConvBenchOptions& options, Parallel& parallel, Report& report)
      : options_(options), parallel_(parallel), report_(report) {
    if (options.quick) effort_.turn = std::chrono::milliseconds(10);
    peak_ = PeakGflops(parallel, options.target, effort_);
  }

  void Run() {
    for (const ConvLayer& layer : ConvLayers()) {
      if (options_.quick && !layer.quick) continue;
      std::optional<ConvBlobs> blobs;
      for (const ConvPassKind kind :
           {ConvPassKind::kForward, ConvPassKind::kBackwardData, ConvPassKind::kBackwardWeights}) {
        if (layer.first && kind == ConvPassKind::kBackwardData) continue;
        if (Describe(layer, kind).find(options_.filter) == std::string::npos) continue;
        if (!blobs.has_value()) blobs.emplace(layer.shape);
        RunRace(layer, kind, *blobs);
      }
    }
    for (const auto& [net, total] : totals_) AddTotal(net, total);
  }

 private:
  void RunRace(const ConvLayer& layer, ConvPassKind kind, ConvBlobs& blobs) {
    std::vector<Contender> contenders;
    for (const ConvImplementation& row : kernels::ConvImplementations()) {
      if (!row.portable) continue;  // oneDNN is a peer here, with its own threads and layouts.
      auto run = MakeConvRun(row, layer.shape, kind, blobs, parallel_, options_.target);
      if (run != nullptr) contenders.push_back({std::string(row.name), std::move(run)});
    }
    const std::size_t ours = contenders.size();
    if (options_.peers) {
      for (auto& run : MakeConvPeers(layer.shape, kind, parallel_.workers())) {
        contenders.push_back({"onednn", std::move(run)});
      }
    }
    const std::vector<double> seconds = RunInterleaved(contenders, effort_);
    double our_best = std::numeric_limits<double>::infinity();
    double peer_best = our_best;
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      double& best = i < ours ? our_best : peer_best;
      best = std::min(best, seconds[i]);
    }
    const double gflop = 2e-9 * layer.shape.multiply_adds();
    for (std::size_t i = 0; i < ours; ++i) {
      Row row;
      row.name =
          fmt::format("{} {} t={}", Describe(layer, kind), contenders[i].name, parallel_.workers());
      row.unit = "GFLOP/s";
      row.ours = gflop / seconds[i];
      if (ours < seconds.size()) row.peers.emplace_back("onednn", gflop / peer_best);
      row.limit = peak_;
      report_.rows.push_back(row);
    }
    const auto count = static_cast<double>(layer.count);
    Total& total = totals_[fmt::format("{} {}", layer.net, KindName(kind))];
    total.ours += count * our_best;
    total.peer += ours < seconds.size() ? count * peer_best : 0;
    total.gflop += count * gflop;
  }

  void AddTotal(const std::string& name, const Total& total) {
    Row row;
    row.name = fmt::format("{} together t={}", name, parallel_.workers());
    row.unit = "GFLOP/s";
    row.ours = total.gflop / total.ours;
    if (total.peer > 0) row.peers.emplace_back("onednn", total.gflop / total.peer);
    row.limit = peak_;
    report_.rows.push_back(row);
  }

  const ConvBenchOptions& options_;
  Parallel& parallel_;
  Report& report_;
  Effort effort_;
  double peak_ = 0;
  std::map<std::string, Total> totals_;
};

}  // namespace

Report RunConvBench(const ConvBenchOptions& options, const MakeParallel& make_parallel) {
  std::vector<std::unique_ptr<Parallel>> pools;
  for (const std::size_t threads : options.threads) pools.push_back(make_parallel(threads));
  Report report{.bench = "conv", .rows = {}};
  for (const std::unique_ptr<Parallel>& parallel : pools) {
    Bench(options, *parallel, report).Run();
  }
  return report;
}

}  // namespace shoal::bench
