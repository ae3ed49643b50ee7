#include "shoal/bench_links.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/report.h"
#include "collective/link_model.h"
#include "os/loop.h"
#include "shoal/cluster_home.h"
#include "shoal/commands.h"
#include "shoal/link_rows.h"
#include "shoal/trials.h"
#include "shoal/worker_cluster.h"
#include "train/cluster/link_of_echoes.h"
#include "train/cluster/trial.h"

namespace shoal {
namespace {

using Kind = wire::pb::TrainTrial;
using Pair = std::pair<std::size_t, std::size_t>;

constexpr double kMegabytesMax = 4e-6 * static_cast<double>(train::kTrialElementsMax);
constexpr std::size_t kEchoes = 11;  // Odd: there is a middle one.
constexpr std::size_t kPairsMax = 16;
// Opens TCP's windows before what counts.
constexpr std::uint64_t kWarmUpElements = std::uint64_t{1} << 18U;
// Processes measure themselves first; phones of a cluster may be slow to come.
constexpr Duration kLocalMax = std::chrono::seconds(60);
constexpr Duration kClusterMax = std::chrono::seconds(300);

struct Flags {
  std::size_t workers = 4;
  bool cluster = false;
  std::size_t members = 2;
  std::string dir;
  std::string listen;
  std::string enrol;
  std::vector<std::string> worker_options;
  double delay_ms = 0;
  double megabits = 0;
  std::vector<double> megabytes;
  std::size_t turns = 3;
  bool json = false;
};

std::uint64_t Elements(double megabytes) {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(megabytes * 1e6 / 4));
}

// The cluster and its head, with members that have come.
class Bench {
 public:
  explicit Bench(const Flags& flags) : flags_(flags), cluster_(loop_, OptionsOf(flags)) {}

  Status Open() {
    SHOAL_RETURN_IF_ERROR(cluster_.Open());
    head_ = std::make_unique<TrialHead>(loop_, cluster_.network(), [this] {
      return cluster_.Look().value_or(1) > 0 ? Status()
                                             : Status(Code::kUnavailable, "all workers have ended");
    });
    SHOAL_RETURN_IF_ERROR(cluster_.Start());
    if (flags_.cluster) {
      fmt::print(stderr, "waiting for {} members at {}, new ones at {} (see `shoal token`)\n",
                 flags_.members, cluster_.address(), cluster_.enrol_address());
    }
    SHOAL_ASSIGN_OR_RETURN(nodes_, head_->Members(flags_.cluster ? flags_.members : flags_.workers,
                                                  flags_.cluster ? kClusterMax : kLocalMax));
    return {};
  }

  std::size_t size() const { return nodes_.size(); }

  // Links up from each to the next of the first `count`.
  Status Connect(std::size_t count) {
    const TrialCall call{.kind = Kind::ALL_REDUCE, .members = First(count), .elements = {1}};
    return head_->Try({call}).status();
  }

  // All pairs at once; no node is in two.
  Result<std::vector<PairSpeed>> Echo(const std::vector<Pair>& pairs, double megabytes) {
    std::vector<std::uint64_t> elements(kEchoes, 1);
    elements.insert(elements.end(), flags_.turns, Elements(megabytes));
    std::vector<TrialCall> calls;
    for (const auto& [a, b] : pairs) {
      calls.push_back(
          {.kind = Kind::ECHO, .members = {nodes_[a], nodes_[b]}, .elements = elements});
    }
    SHOAL_ASSIGN_OR_RETURN(const auto seconds, head_->Try(calls));
    std::vector<PairSpeed> speeds;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      PairSpeed& speed = speeds.emplace_back();
      speed.pair = fmt::format("{} and {}", head_->NameOf(nodes_[pairs[i].first]),
                               head_->NameOf(nodes_[pairs[i].second]));
      Result<collective::LinkModel> link = train::LinkOfEchoes(elements, seconds[i]);
      if (!link.ok()) return Status(link.status()).Annotate(speed.pair);
      std::vector<double> echoes(seconds[i].begin(), seconds[i].begin() + kEchoes);
      std::sort(echoes.begin(), echoes.end());
      speed.round_trip_seconds = echoes[kEchoes / 2];
      speed.bytes_per_second = link->bytes_per_second;
    }
    return speeds;
  }

  // One after the other.
  Result<std::vector<PairSpeed>> EchoEach(const std::vector<Pair>& pairs, double megabytes) {
    std::vector<PairSpeed> speeds;
    for (const Pair& pair : pairs) {
      SHOAL_ASSIGN_OR_RETURN(const std::vector<PairSpeed> one, Echo({pair}, megabytes));
      speeds.push_back(one.front());
    }
    return speeds;
  }

  // The best of some turns.
  Result<double> Time(TrialCall call, double megabytes) {
    call.members = First(size());
    const std::uint64_t elements = Elements(megabytes);
    call.elements.assign(1 + flags_.turns, elements);
    call.elements.front() = std::min(elements, kWarmUpElements);
    SHOAL_ASSIGN_OR_RETURN(const auto seconds, head_->Try({call}));
    return *std::min_element(seconds[0].begin() + 1, seconds[0].end());
  }

 private:
  static WorkerClusterOptions OptionsOf(const Flags& flags) {
    WorkerClusterOptions options{
        .workers = flags.cluster ? 0 : flags.workers,
        .dir = flags.dir,
        .own_folder = "bench",
        .listen = flags.listen,
        .enrol = flags.enrol,
        .threads = 1,
        .memory = {},
        .worker_options = flags.worker_options,
        .options_of_all = {},
        .quiet_workers = true,
        .say = [](const std::string& line) { fmt::print(stderr, "shoal: {}\n", line); }};
    const auto add = [&](const char* name, double value) {
      if (value > 0)
        options.options_of_all.insert(options.options_of_all.end(),
                                      {name, fmt::format("{}", value)});
    };
    add("--delay-ms", flags.delay_ms);
    add("--megabits", flags.megabits);
    return options;
  }

  std::vector<NodeId> First(std::size_t count) const {
    return {nodes_.begin(), nodes_.begin() + static_cast<std::ptrdiff_t>(count)};
  }

  const Flags& flags_;
  os::Loop loop_;
  WorkerCluster cluster_;
  std::unique_ptr<TrialHead> head_;
  std::vector<NodeId> nodes_;
};

Result<bench::Report> RunLinkBench(const Flags& flags) {
  Bench bench(flags);
  SHOAL_RETURN_IF_ERROR(bench.Open());
  bench::Report report{.bench = "link", .rows = {}};
  const double megabytes = flags.megabytes.front();
  for (const std::size_t count : NodeCounts(bench.size())) {
    SHOAL_RETURN_IF_ERROR(bench.Connect(count));
    SHOAL_ASSIGN_OR_RETURN(const auto pairs,
                           bench.EchoEach(RingPairs(count, kPairsMax), megabytes));
    std::vector<PairSpeed> at_once;
    if (count >= 4) {
      SHOAL_ASSIGN_OR_RETURN(at_once, bench.Echo(DisjointPairs(count), megabytes));
    }
    const auto rows = LinkRows(count, pairs, at_once);
    report.rows.insert(report.rows.end(), rows.begin(), rows.end());
  }
  return report;
}

struct Way {
  std::string name;
  TrialCall call;
};

std::vector<Way> Ways(std::size_t nodes) {
  using collective::Algorithm;
  std::vector<Way> ways = {
      {"allreduce ring", {.kind = Kind::ALL_REDUCE, .members = {}, .elements = {}}}};
  Way packed = {"allreduce packed", ways[0].call};
  packed.call.options.pieces.elements = 0;
  ways.push_back(packed);
  Way halving = {"allreduce halving-doubling", ways[0].call};
  halving.call.options.algorithm = Algorithm::kHalvingDoubling;
  ways.push_back(halving);
  if (nodes >= 4) {
    Way groups = {"allreduce hierarchical", ways[0].call};
    groups.call.options.algorithm = Algorithm::kHierarchical;
    const auto root = static_cast<std::size_t>(std::sqrt(static_cast<double>(nodes)));
    groups.call.switches = collective::ConsecutiveGroups(nodes, root);
    ways.push_back(groups);
  }
  ways.push_back({"reduce", {.kind = Kind::REDUCE, .members = {}, .elements = {}}});
  ways.push_back({"broadcast", {.kind = Kind::BROADCAST, .members = {}, .elements = {}}});
  return ways;
}

Result<bench::Report> RunAllReduceBench(const Flags& flags) {
  constexpr double kEchoMegabytes = 4;
  Bench bench(flags);
  SHOAL_RETURN_IF_ERROR(bench.Open());
  SHOAL_RETURN_IF_ERROR(bench.Connect(bench.size()));
  SHOAL_ASSIGN_OR_RETURN(const auto pairs,
                         bench.EchoEach(RingPairs(bench.size(), kPairsMax), kEchoMegabytes));
  double rate = pairs.front().bytes_per_second;
  for (const PairSpeed& pair : pairs) rate = std::min(rate, pair.bytes_per_second);
  bench::Report report{.bench = "allreduce", .rows = {}};
  for (const double megabytes : flags.megabytes) {
    for (const Way& way : Ways(bench.size())) {
      SHOAL_ASSIGN_OR_RETURN(const double seconds, bench.Time(way.call, megabytes));
      const double bytes = 4 * static_cast<double>(Elements(megabytes));
      const auto rows = CollectiveRows(way.name, way.call.kind, bench.size(), bytes, seconds, rate);
      report.rows.insert(report.rows.end(), rows.begin(), rows.end());
    }
  }
  return report;
}

std::shared_ptr<Flags> AddFlags(CLI::App& command, const char* megabytes) {
  auto flags = std::make_shared<Flags>();  // Lives as long as the callback.
  command.add_flag("--json", flags->json, "Print one JSON object");
  CLI::Option* workers =
      command.add_option("--workers", flags->workers, "Processes on this machine; 4 unless given")
          ->check(CLI::Range(2, 256));
  CLI::Option* cluster =
      command.add_flag("--cluster", flags->cluster, "The members of the cluster in --dir instead")
          ->excludes(workers);
  command.add_option("--members", flags->members, "With --cluster: wait for so many, and use them")
      ->needs(cluster)
      ->check(CLI::Range(2, 4096));
  AddDirOption(command, flags->dir);
  command.add_option("--listen", flags->listen, "Where members dial");
  command.add_option("--enrol", flags->enrol, "Where new members knock");
  command.add_option("--worker-options", flags->worker_options,
                     "WORKER=OPTIONS: more options for `shoal join` of one of --workers");
  command.add_option("--delay-ms", flags->delay_ms, "Of the links of --workers, one way")
      ->excludes(cluster)
      ->check(CLI::Range(0.0, 10'000.0));
  command.add_option("--megabits", flags->megabits, "A second, of the links of --workers")
      ->excludes(cluster)
      ->check(CLI::Range(0.0, 1e6));
  command.add_option("--megabytes", flags->megabytes, megabytes)
      ->delimiter(',')
      ->check(CLI::Range(0.001, kMegabytesMax));
  command.add_option("--turns", flags->turns, "Of each case; the best counts. 3 unless given")
      ->check(CLI::Range(1, 50));
  return flags;
}

void SetUp(CLI::App& command, const std::shared_ptr<Flags>& flags,
           Result<bench::Report> (*run)(const Flags&)) {
  command.callback([flags, run] {
    const Result<bench::Report> report = run(*flags);
    ExitOnError(report.status());
    bench::Print(*report, flags->json);
  });
}

}  // namespace

void SetUpLinkBench(CLI::App& command) {
  const auto flags = AddFlags(command, "Of what is sent; 8 unless given");
  flags->megabytes = {8};
  SetUp(command, flags, RunLinkBench);
}

void SetUpAllReduceBench(CLI::App& command) {
  const auto flags = AddFlags(command, "Sizes, as 4.7,230; those of four networks unless given");
  flags->megabytes = {4.7, 26.7, 97.7, 230};
  SetUp(command, flags, RunAllReduceBench);
}

}  // namespace shoal
