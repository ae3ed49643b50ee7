#include "bench/blas_bench.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include "bench/conv_runner.h"
#include "bench/conv_shapes.h"
#include "bench/interleave.h"
#include "kernels/conv.h"

namespace shoal::bench {
namespace {

using kernels::ConvImplementation;

constexpr double kNever = std::numeric_limits<double>::infinity();

// One network: the seconds of our best rows, and of each row that is not ours.
class NetRace {
 public:
  NetRace(const BlasBenchOptions& options, Parallel& parallel)
      : parallel_(parallel), quick_(options.quick) {
    if (quick_) effort_.turn = std::chrono::milliseconds(1);
    for (const ConvImplementation& row : kernels::ConvImplementations()) {
      if (!row.portable) peers_.push_back({&row, 0});
    }
  }

  void Run(const ConvLayer& layer) {
    if (quick_ && !layer.quick) return;
    batch_ = layer.shape.batch;
    ConvBlobs blobs(layer.shape);
    for (const ConvPassKind kind :
         {ConvPassKind::kForward, ConvPassKind::kBackwardData, ConvPassKind::kBackwardWeights}) {
      if (layer.first && kind == ConvPassKind::kBackwardData) continue;
      RunPass(layer, kind, blobs);
    }
  }

  Row Result(std::string_view net) const {
    Row row;
    row.name = fmt::format("{}{} batch {} t={}", net, quick_ ? " (some layers)" : "", batch_,
                           parallel_.workers());
    row.unit = "ms";
    row.higher_is_better = false;
    row.ours = ours_ * 1e3;
    for (const Peer& peer : peers_) {
      if (peer.seconds < kNever) row.peers.emplace_back(peer.row->name, peer.seconds * 1e3);
    }
    return row;
  }

 private:
  struct Peer {
    const ConvImplementation* row;
    double seconds;  // Infinite if it cannot run some layer.
  };

  void RunPass(const ConvLayer& layer, ConvPassKind kind, ConvBlobs& blobs) {
    std::vector<Contender> contenders;
    for (const ConvImplementation& row : kernels::ConvImplementations()) {
      auto run = MakeConvRun(row, layer.shape, kind, blobs, parallel_, kernels::BestTarget());
      if (run != nullptr) contenders.push_back({std::string(row.name), std::move(run)});
    }
    const std::vector<double> seconds = RunInterleaved(contenders, effort_);
    const auto best_of = [&](const auto& counts) {
      double best = kNever;
      for (std::size_t i = 0; i < contenders.size(); ++i) {
        if (counts(contenders[i].name)) best = std::min(best, seconds[i]);
      }
      return best;
    };
    const auto count = static_cast<double>(layer.count);
    for (Peer& peer : peers_) {
      peer.seconds +=
          count * best_of([&](const std::string& name) { return name == peer.row->name; });
    }
    ours_ += count * best_of([&](const std::string& name) {
               return std::none_of(peers_.begin(), peers_.end(),
                                   [&](const Peer& peer) { return name == peer.row->name; });
             });
  }

  Parallel& parallel_;
  bool quick_;
  Effort effort_;
  std::size_t batch_ = 0;
  double ours_ = 0;
  std::vector<Peer> peers_;
};

// What is missing is said, and the rest is compared.
void Enable(std::string_view name) {
  const Status status = kernels::EnableConvImplementation(name);
  if (!status.ok()) fmt::print(stderr, "without {}: {}\n", name, status.message());
}

}  // namespace

std::vector<std::string> BlasBenchNets() {
  std::vector<std::string> nets;
  for (const ConvLayer& layer : ConvLayers()) {
    if (std::find(nets.begin(), nets.end(), layer.net) == nets.end()) nets.emplace_back(layer.net);
  }
  return nets;
}

Report RunBlasBench(const BlasBenchOptions& options, const MakeParallel& make_parallel) {
  const std::unique_ptr<Parallel> parallel = make_parallel(options.threads);
  Enable("im2col-openblas");
  if (options.opencl) Enable("opencl");
  Report report{.bench = "blas", .rows = {}};
  for (const std::string& net : BlasBenchNets()) {
    if (!options.net.empty() && net != options.net) continue;
    NetRace race(options, *parallel);
    for (const ConvLayer& layer : ConvLayers()) {
      if (layer.net == net) race.Run(layer);
    }
    report.rows.push_back(race.Result(net));
  }
  return report;
}

}  // namespace shoal::bench
