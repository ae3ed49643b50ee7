// `shoal train` over many devices: as the head of a cluster whose members train (--cluster), with
// processes on this machine (--workers), or as a rank of mpirun.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "os/loop.h"
#include "os/machine/cpu.h"
#include "os/machine/sys_root.h"
#include "os/mpi/mpi_network.h"
#include "os/secret_number.h"
#include "os/thread_executor.h"
#include "os/thread_pool.h"
#include "os/wall_clock.h"
#include "shoal/cluster_home.h"
#include "shoal/commands.h"
#include "shoal/rank_check.h"
#include "shoal/run_keeper.h"
#include "shoal/train_command.h"
#include "shoal/train_host.h"
#include "shoal/training_files.h"
#include "shoal/worker_cluster.h"
#include "train/cluster/chief.h"
#include "train/cluster/learner_shape.h"
#include "train/cluster/reduce_plan.h"
#include "train/cluster/worker_node.h"

namespace shoal {
namespace {

constexpr Duration kLook = std::chrono::milliseconds(50);
// For the last message to leave.
constexpr Duration kGoodbye = std::chrono::milliseconds(100);

Result<train::ReduceWish> WishOf(const ClusterTrainOptions& over) {
  using collective::Algorithm;
  train::ReduceWish wish{.measure_links = true, .join_buckets = over.bucket_mb <= 0};
  wish.wire = over.f16 ? collective::WireType::kF16 : collective::WireType::kF32;
  if (over.algorithm == "auto") return wish;
  const std::map<std::string, Algorithm> algorithms = {
      {"ring", Algorithm::kRing},
      {"packed", Algorithm::kRing},
      {"halving-doubling", Algorithm::kHalvingDoubling},
      {"hierarchical", Algorithm::kHierarchical}};
  const auto found = algorithms.find(over.algorithm);
  if (found == algorithms.end()) {
    return Status(
        Code::kInvalidArgument,
        fmt::format("--algorithm {}: auto, ring, packed, halving-doubling or hierarchical",
                    over.algorithm));
  }
  wish.algorithm = found->second;
  if (over.algorithm == "packed") wish.pieces.elements = 0;
  return wish;
}

// What the head of a training has, however its workers are reached.
class TrainHead {
 public:
  // `loop` outlives it.
  TrainHead(const TrainCommand& command, std::size_t workers, std::size_t threads, os::Loop& loop)
      : command_(command),
        workers_(workers),
        loop_(loop),
        pool_(os::PlanPool(os::ReadCpuInfo(os::SysRoot()), {.threads = threads})),
        random_(os::SecretNumber()),
        executor_([this](UniqueFunction<void()> task) { loop_.Post(std::move(task)); }) {}

  train::Chief& chief() { return *chief_; }
  RunKeeper& keeper() { return *keeper_; }

  // Reads all files, and tests what it begins with.
  Status Open();
  // From here on workers that say hello get work.
  Status Lead(Network& network);
  // Until the training is over. `look` is called now and then, `on_stop` when it is to end early.
  Status Run(const std::function<Status()>& look, const std::function<void()>& on_stop);

 private:
  const TrainCommand& command_;
  const std::size_t workers_;
  os::Loop& loop_;
  os::ThreadPool pool_;
  Random random_;
  std::optional<KeptTuner> tuner_;
  std::optional<Training> training_;
  wire::pb::TrainJob job_;
  train::LearnerShape shape_;
  std::unique_ptr<RunKeeper> keeper_;
  std::unique_ptr<train::Chief> chief_;
  os::ThreadExecutor executor_;  // Last: its thread uses the others.
};

Status TrainHead::Open() {
  SHOAL_ASSIGN_OR_RETURN(tuner_, KeptTuner::Make(command_.compute, pool_, [this] {
                           return ToSeconds(loop_.Now().since_origin);
                         }));
  SHOAL_ASSIGN_OR_RETURN(training_, OpenTraining(command_, workers_, tuner_->tuner(), pool_));
  tuner_->Save();
  job_ = training_->job;
  for (const std::string& warning : training_->warnings) {
    if (!command_.quiet) fmt::print(stderr, "shoal: {}\n", warning);
  }
  shape_ = train::DescribeShape(*training_->learner);
  const auto period = static_cast<std::int64_t>(job_.period());
  if (!command_.quiet) {
    fmt::print("{} parameters, batch {}{}, {} images{}\n", training_->learner->params().elements(),
               job_.batch() / job_.period(), InUnits(static_cast<std::int64_t>(job_.unit())),
               job_.records(),
               training_->resumed
                   ? fmt::format(", resumed at iteration {}", training_->learner->iteration())
                   : "");
    std::fflush(stdout);
  }
  SHOAL_ASSIGN_OR_RETURN(
      keeper_, RunKeeper::Make({.prefix = training_->prefix,
                                .quiet = command_.quiet,
                                .resumed = training_->resumed,
                                .stop = training_->stop,
                                .batch = static_cast<std::int64_t>(job_.batch()) / period,
                                .period = job_.mode() == wire::pb::TrainJob::SYNC ? 1 : period,
                                .seed = job_.seed()},
                               std::move(training_->learner), std::move(training_->tests), loop_,
                               executor_));
  return keeper_->TestFirst();
}

Status TrainHead::Lead(Network& network) {
  SHOAL_ASSIGN_OR_RETURN(const train::ReduceWish reduce, WishOf(command_.over));
  SHOAL_ASSIGN_OR_RETURN(train::SamplePool pool,
                         train::SamplePool::Restore(static_cast<std::int64_t>(job_.records()),
                                                    job_.shuffle(), job_.seed(), training_->pool));
  train::ChiefOptions options{.job = job_,
                              .shape = shape_,
                              .pool = std::move(pool),
                              .stop = training_->stop,
                              .workers_first = std::max<std::size_t>(workers_, 1),
                              .nobody_else = os::MpiHub::LaunchedByMpirun(),
                              .reduce = reduce,
                              .local_minute = os::LocalMinute,
                              .news = [this](const std::string& line) { keeper_->Say(line); }};
  chief_ = std::make_unique<train::Chief>(Seams{loop_, network, executor_, random_},
                                          std::move(options), *keeper_, training_->read);
  return {};
}

Status TrainHead::Run(const std::function<Status()>& look, const std::function<void()>& on_stop) {
  ListenToTrainSignals();
  bool stopping = false;
  while (!chief_->over()) {
    loop_.RunOne(kLook);
    SHOAL_RETURN_IF_ERROR(look());
    const TrainSignals signals = TakeTrainSignals();
    if (signals.snapshot) keeper_->AskForSnapshot();
    if (signals.stop && !std::exchange(stopping, true)) {
      on_stop();
      chief_->Stop();
    }
  }
  loop_.RunUntil([] { return false; }, kGoodbye);
  for (const auto& [node, mate] : chief_->crew().mates()) {
    keeper_->Name(node, chief_->crew().NameOf(node));
  }
  const Status finished = keeper_->Finish();
  SHOAL_RETURN_IF_ERROR(chief_->status());
  SHOAL_RETURN_IF_ERROR(finished);
  if (stopping && !command_.quiet && !keeper_->last_snapshot().empty()) {
    fmt::print("stopped; to go on, with any number of workers: --resume {}\n",
               keeper_->last_snapshot());
  }
  return {};
}

// --- Members of a cluster, over TLS.

class TlsTraining {
 public:
  explicit TlsTraining(const TrainCommand& command)
      : command_(command),
        cluster_(loop_, {.workers = command.over.workers,
                         .dir = command.over.dir,
                         .own_folder = "training",
                         .listen = command.over.listen,
                         .enrol = command.over.enrol,
                         .threads = command.compute.threads,
                         .memory = command.memory,
                         .worker_options = command.over.worker_options,
                         .say = [this](const std::string& line) { head_.keeper().Say(line); }}),
        head_(command, command.over.workers > 0 ? command.over.workers : command.over.workers_first,
              command.compute.threads, loop_) {}

  Status Run();

 private:
  Status Look();

  const TrainCommand& command_;
  os::Loop loop_;
  WorkerCluster cluster_;
  TrainHead head_;
};

Status TlsTraining::Run() {
  SHOAL_RETURN_IF_ERROR(cluster_.Open());
  SHOAL_RETURN_IF_ERROR(head_.Open());
  SHOAL_RETURN_IF_ERROR(head_.Lead(cluster_.network()));
  SHOAL_RETURN_IF_ERROR(cluster_.Start());
  if (command_.over.workers == 0 && !command_.quiet) {
    fmt::print("members at {}, new ones at {} (see `shoal token`)\n", cluster_.address(),
               cluster_.enrol_address());
    std::fflush(stdout);
  }
  return head_.Run([this] { return Look(); }, [] {});
}

Status TlsTraining::Look() {
  const std::optional<std::size_t> running = cluster_.Look();
  if (!running || head_.chief().over()) return {};
  // Those that cannot train, or have ended, are not waited for; others may have joined by hand.
  std::size_t able = 0, unfit = 0;
  for (const auto& [node, mate] : head_.chief().crew().mates()) {
    ++(mate.state == train::Mate::State::kUnfit ? unfit : able);
  }
  head_.chief().Expect(*running - std::min(*running, unfit));
  // While the last state is tested nobody is needed.
  if (*running > 0 || able > 0 || head_.chief().keeping()) return {};
  return {Code::kUnavailable,
          fmt::format("all workers have ended{}",
                      head_.keeper().last_snapshot().empty()
                          ? std::string()
                          : "; to go on: --resume " + head_.keeper().last_snapshot())};
}

// --- Ranks of mpirun.

std::size_t ThreadsOfRank(const TrainCommand& command) {
  if (command.compute.threads > 0) return command.compute.threads;
  const std::size_t cores = os::ReadCpuInfo(os::SysRoot()).cores.size();
  return std::max<std::size_t>(cores / os::MpiHub::RanksHere(), 1);
}

// The worker of a rank.
class Rank {
 public:
  // `memory`: bytes that it may take; 0: no limit.
  static std::unique_ptr<Rank> Start(const TrainCommand& command, std::uint64_t memory,
                                     os::MpiHub& hub, os::Loop& loop) {
    std::unique_ptr<Rank> rank(new Rank(command, loop));
    const NodeId self = os::MpiHub::WorkerOf(hub.rank());
    TrainHostOptions host{
        .directory = {}, .node = ToNumber(self), .memory = memory, .compute = command.compute};
    if (hub.rank() > 0) {
      host.check = [&command](const wire::pb::TrainJob& job) { return CheckRank(command, job); };
    }
    rank->host_ = std::make_unique<TrainHost>(std::move(host), loop, rank->pool_);
    train::WorkerNodeOptions options;
    options.head = kHeadNode;
    options.head_address = os::MpiHub::AddressOf(kHeadNode);
    options.hello.set_name(fmt::format("rank {}", hub.rank()));
    options.hello.set_address(os::MpiHub::AddressOf(self));
    options.on_over = [over = &rank->over_] { *over = true; };
    options.ends_with_head = true;
    rank->node_ = std::make_unique<train::WorkerNode>(
        Seams{loop, hub.Endpoint(self), rank->executor_, rank->random_}, std::move(options),
        *rank->host_);
    return rank;
  }

  bool over() const { return over_; }

 private:
  Rank(const TrainCommand& command, os::Loop& loop)
      : pool_(os::PlanPool(os::ReadCpuInfo(os::SysRoot()), {.threads = ThreadsOfRank(command)})),
        random_(os::SecretNumber()),
        executor_([&loop](UniqueFunction<void()> task) { loop.Post(std::move(task)); }) {}

  os::ThreadPool pool_;
  Random random_;
  bool over_ = false;
  std::unique_ptr<TrainHost> host_;
  std::unique_ptr<train::WorkerNode> node_;
  os::ThreadExecutor executor_;  // Last: its thread uses the others.
};

// mpirun ends all ranks when one has died, with a second for last words: what this process holds
// is everybody's, so the training ends with a snapshot of it.
void LoseOtherRanks(train::Chief& chief, const os::MpiHub& hub) {
  for (std::size_t rank = 1; rank < hub.size(); ++rank) {
    chief.OnPeerDown(os::MpiHub::WorkerOf(rank), {Code::kUnavailable, "mpirun ends the training"});
  }
}

Status RunFirstRank(const TrainCommand& command, std::uint64_t memory, os::Loop& loop,
                    os::MpiHub& hub) {
  TrainHead head(command, hub.size(), ThreadsOfRank(command), loop);
  SHOAL_RETURN_IF_ERROR(head.Open());
  SHOAL_RETURN_IF_ERROR(head.Lead(hub.Endpoint(kHeadNode)));
  const std::unique_ptr<Rank> rank = Rank::Start(command, memory, hub, loop);
  return head.Run([] { return Status(); }, [&] { LoseOtherRanks(head.chief(), hub); });
}

Status TrainAsRank(const TrainCommand& command) {
  // What can fail here fails before MPI begins: mpirun sees it then.
  std::uint64_t memory = 0;
  if (!command.memory.empty()) {
    SHOAL_ASSIGN_OR_RETURN(memory, ParseBytes(command.memory));
  }
  os::Loop loop;
  SHOAL_ASSIGN_OR_RETURN(const std::unique_ptr<os::MpiHub> hub, os::MpiHub::Make(loop));
  if (hub->rank() == 0) return RunFirstRank(command, memory, loop, *hub);
  const std::unique_ptr<Rank> rank = Rank::Start(command, memory, *hub, loop);
  ListenToTrainSignals();
  while (!rank->over() && !TakeTrainSignals().stop) loop.RunOne(kLook);
  return {};
}

}  // namespace

bool IsOverCluster(const TrainCommand& command) {
  return command.over.workers > 0 || command.over.cluster || os::MpiHub::LaunchedByMpirun();
}

void AddClusterTrainOptions(CLI::App& command, ClusterTrainOptions& options) {
  const char* group = "Over many devices";
  const auto add = [&](const char* name, auto& value, const char* help) {
    return command.add_option(name, value, help)->group(group);
  };
  add("--workers", options.workers, "Train with so many processes on this machine")
      ->check(CLI::Range(1, 1024));
  command.add_flag("--cluster", options.cluster, "Train with the members of the cluster in --dir")
      ->group(group);
  add("--first", options.workers_first, "With --cluster: begin when so many are there")
      ->check(CLI::Range(1, 1 << 20));
  AddDirOption(command, options.dir);
  add("--listen", options.listen, "Where members dial");
  add("--enrol", options.enrol, "Where new members knock");
  add("--mode", options.mode,
      "sync: one update of all; local: --period updates each, then the average; easgd: elastic "
      "averaging")
      ->check(CLI::IsMember({"sync", "local", "easgd"}));
  add("--period", options.period, "Of local and easgd: updates between two averages")
      ->check(CLI::Range(1, 100000));
  add("--moving-rate", options.alpha, "Of easgd; 0.9 / workers unless given")
      ->check(CLI::Range(0.0, 1.0));
  add("--algorithm", options.algorithm,
      "How gradients are added: auto (as the measured links say), ring, packed, halving-doubling, "
      "hierarchical");
  command.add_flag("--f16", options.f16, "Gradients travel as 16-bit numbers")->group(group);
  add("--bucket-mb", options.bucket_mb,
      "Gradients travel in pieces of so many MB; as the measured links say unless given")
      ->check(CLI::Range(0.01, 1024.0));
  add("--batch-per-device", options.batch_per_device,
      "The batch is so many images times the number of devices; auto: as many as fit --memory")
      ->type_name("N|auto");
  add("--scaled-from", options.scaled_from,
      "The solver was written for this batch: scale its rate and its iterations to ours")
      ->check(CLI::Range(1, 1 << 24));
  add("--warmup", options.warmup, "Iterations in which the rate rises to what the solver says")
      ->check(CLI::Range(1, 1 << 24));
  add("--lars", options.lars, "Layer-wise rates (LARS) with this eta, such as 0.001")
      ->check(CLI::Range(0.0, 1.0));
  command
      .add_flag("--momentum-correction", options.momentum_correction,
                "The momentum follows the rate when that changes")
      ->group(group);
  add("--worker-options", options.worker_options,
      "WORKER=OPTIONS: more options for `shoal join` of one of --workers");
}

Status TrainOverCluster(const TrainCommand& command) {
  if (os::MpiHub::LaunchedByMpirun()) return TrainAsRank(command);
  return TlsTraining(command).Run();
}

}  // namespace shoal
