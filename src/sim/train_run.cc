#include "sim/train_run.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sim/toy_learner.h"
#include "sim/train_liar.h"
#include "sim/world.h"
#include "train/cluster/chief.h"
#include "train/cluster/keeper.h"
#include "train/cluster/memory_record_cache.h"
#include "train/cluster/revision.h"
#include "train/cluster/sample_pool.h"
#include "train/cluster/worker_node.h"

namespace shoal::sim {
namespace {

constexpr NodeId kHead{1};

using State = std::vector<std::vector<float>>;

// What those who watch have seen, and what the head has on its disk. Outside the world: it
// survives everything.
struct Witness {
  explicit Witness(const TrainRunOptions& run) : options(run), ledger(run.records, {}) {}

  const TrainRunOptions& options;
  std::string failure;
  TrainRunResult result;

  // The head's last snapshot.
  std::int64_t iteration = 0;
  std::uint64_t branch = 0;
  train::PoolState pool{};
  State state = State(2, std::vector<float>(kToyWeights));
  train::CommitLedger kept_ledger{options.records, {}};
  std::vector<double> kept_weights = std::vector<double>(kToyWeights);
  std::vector<double> kept_history = std::vector<double>(kToyWeights);

  // What one device computes of the samples committed so far.
  train::CommitLedger ledger;
  std::vector<double> weights = std::vector<double>(kToyWeights);
  std::vector<double> history = std::vector<double>(kToyWeights);
  // What workers have, by branch and updates.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> fingerprints;
  double first_step = -1;
  double last_step = 0;
  bool over = false;

  void Fail(std::string what) {
    if (failure.empty()) failure = std::move(what);
  }
  void OnUpdate(std::uint64_t on_branch, std::uint64_t updates, std::uint64_t fingerprint) {
    const auto [known, is_new] = fingerprints.emplace(std::pair(on_branch, updates), fingerprint);
    if (known->second != fingerprint) {
      Fail("workers differ after update " + std::to_string(updates));
    }
  }
  void Step(const train::CommittedStep& step) {
    std::vector<double> sums(kToyWeights);
    std::size_t count = 0;
    for (const auto& [node, samples] : step.samples) {
      count += samples.size();
      if (const Status status = ledger.Commit(samples); !status.ok()) {
        Fail(std::string(status.message()));
      }
      for (const train::Sample& sample : samples) {
        for (std::size_t w = 0; w < kToyWeights; ++w) {
          sums[w] += static_cast<double>(ToyGradient(sample, w, static_cast<float>(weights[w])));
        }
      }
    }
    if (options.liars == 0 && std::abs(step.loss) > static_cast<double>(options.batch)) {
      Fail("a loss out of nowhere");
    }
    for (std::size_t w = 0; w < kToyWeights; ++w) {
      history[w] = static_cast<double>(kToyMomentum) * history[w] +
                   static_cast<double>(kToyRate) * sums[w] / static_cast<double>(count);
      weights[w] -= history[w];
    }
    ++result.steps;
    result.returned += options.batch - count;
  }
  // Only what was kept is true.
  void GoBack() {
    ledger = kept_ledger;
    weights = kept_weights;
    history = kept_history;
    ++branch;
  }
};

class WitnessKeeper final : public train::Keeper {
 public:
  WitnessKeeper(Witness& witness, const Surroundings& around)
      : witness_(witness), around_(around) {}

  std::int64_t iteration() const override { return witness_.iteration; }
  std::string note() const override {
    return ToyNote(witness_.branch, static_cast<std::uint64_t>(witness_.iteration));
  }
  std::vector<std::span<float>> state() override {
    return {witness_.state.begin(), witness_.state.end()};
  }
  std::vector<std::span<float>> incoming() override { return {incoming_.begin(), incoming_.end()}; }
  bool WantsState(std::int64_t iteration) const override {
    return iteration % witness_.options.keep_interval == 0;
  }
  Status CheckNote(std::int64_t iteration, const std::string& note) const override {
    if (note == ToyNote(witness_.branch, static_cast<std::uint64_t>(iteration))) return {};
    return {Code::kInvalidArgument, "gives weights of something else"};
  }
  void Adopt(std::int64_t iteration, const std::string& note, const train::PoolState& pool,
             UniqueFunction<void(Status)> done) override {
    for (std::size_t w = 0; w < kToyWeights; ++w) {
      if (std::abs(static_cast<double>(incoming_[0][w]) - witness_.weights[w]) > 1e-4) {
        witness_.Fail("iteration " + std::to_string(iteration) + ": weight " + std::to_string(w) +
                      " is not what one device computes");
      }
    }
    if (note != ToyNote(witness_.branch, static_cast<std::uint64_t>(iteration))) {
      witness_.Fail("the state is not of this iteration");
    }
    witness_.iteration = iteration;
    witness_.pool = pool;
    witness_.state = incoming_;
    witness_.kept_ledger = witness_.ledger;
    witness_.kept_weights = witness_.weights;
    witness_.kept_history = witness_.history;
    // Testing and writing take their time.
    around_.clock.CallAfter(std::chrono::milliseconds(around_.random.Between(0, 500)),
                            [done = std::move(done)]() mutable { done({}); });
  }
  Status OnStep(const train::CommittedStep& step) override {
    const double now = ToSeconds(around_.clock.Now().since_origin);
    if (witness_.first_step < 0) witness_.first_step = now;
    witness_.last_step = now;
    witness_.Step(step);
    return {};
  }
  void OnRollback() override {
    ++witness_.result.rollbacks;
    witness_.GoBack();
  }

 private:
  Witness& witness_;
  const Surroundings around_;
  State incoming_ = State(2, std::vector<float>(kToyWeights));
};

class HeadProgram final : public Program {
 public:
  HeadProgram(const Surroundings& around, Witness& witness,
              std::function<void(const std::string&)> news)
      : witness_(witness), keeper_(witness, around) {
    const TrainRunOptions& run = witness.options;
    witness.GoBack();
    train::SamplePool pool =
        *train::SamplePool::Restore(run.records, run.shuffle, run.seed, witness.pool);
    train::ChiefOptions options{.pool = std::move(pool)};
    options.job.set_batch(run.batch);
    options.job.set_seed(run.seed);
    options.job.set_records(static_cast<std::uint64_t>(run.records));
    options.job.set_shuffle(run.shuffle);
    ToyLearner learner(1, [](std::uint64_t, std::uint64_t, std::uint64_t) {});
    options.shape = train::DescribeShape(learner);
    options.stop = run.steps;
    options.workers_first = run.faults.crashes_per_node_hour > 0 ? 1 : run.nodes;
    options.reduce = {.measure_links = run.measure_links,
                      .algorithm = run.reduce.algorithm,
                      .pieces = run.reduce.pieces,
                      .wire = run.reduce.wire,
                      .join_buckets = run.measure_links};
    if (run.measure_links) options.reduce.algorithm.reset();
    options.news = std::move(news);
    chief_ = std::make_unique<train::Chief>(
        Seams{around.clock, around.network, around.executor, around.random}, std::move(options),
        keeper_, [](std::int64_t index) { return Result<std::string>(std::to_string(index)); });
  }

  const train::Chief& chief() const { return *chief_; }

 private:
  Witness& witness_;
  WitnessKeeper keeper_;
  std::unique_ptr<train::Chief> chief_;
};

// A phone's flash: which records are on it. Survives its process.
class ToyCache final : public train::RecordCache {
 public:
  ToyCache(std::set<std::int64_t>& flash, std::int64_t records, double rot, Random& random)
      : flash_(flash), records_(records), rot_(rot), random_(random) {}
  std::int64_t size() const override { return records_; }
  Status Read(std::int64_t index, data::Record& /*out*/) const override {
    if (rot_ > 0 && random_.Chance(rot_)) flash_.erase(index);
    return Has(index) ? Status() : train::RecordNotHere(index);
  }
  bool Has(std::int64_t index) const override { return flash_.contains(index); }
  Status Put(std::int64_t index, std::span<const std::byte> datum) override {
    SHOAL_CHECK_EQ(std::string(reinterpret_cast<const char*>(datum.data()), datum.size()),
                   std::to_string(index));
    flash_.insert(index);
    return {};
  }
  void Hold(std::span<const std::int64_t> /*indices*/) override {}
  std::vector<std::int64_t> Present() const override { return {flash_.begin(), flash_.end()}; }

 private:
  std::set<std::int64_t>& flash_;
  const std::int64_t records_;
  const double rot_;
  Random& random_;
};

class WorkerProgram final : public Program, private train::WorkerHost {
 public:
  WorkerProgram(const Surroundings& around, Witness& witness, std::set<std::int64_t>& flash)
      : witness_(witness), flash_(flash), random_(around.random) {
    train::WorkerNodeOptions options;
    options.head = kHead;
    options.head_address = "sim:1";
    options.hello.set_address("sim:" + std::to_string(ToNumber(around.self)));
    train::WorkerHost& host = *this;
    node_ = std::make_unique<train::WorkerNode>(
        Seams{around.clock, around.network, around.executor, around.random}, std::move(options),
        host);
  }

 private:
  Result<std::shared_ptr<train::RecordCache>> OpenCache(const std::string& /*data_id*/,
                                                        std::int64_t records) override {
    return std::shared_ptr<train::RecordCache>(
        std::make_shared<ToyCache>(flash_, records, witness_.options.rot, random_));
  }
  Result<std::unique_ptr<train::Learner>> MakeLearner(
      const wire::pb::TrainJob& /*job*/, std::shared_ptr<train::RecordCache> cache) override {
    return std::unique_ptr<train::Learner>(std::make_unique<ToyLearner>(
        witness_.options.operations_per_sample,
        [this](std::uint64_t branch, std::uint64_t updates, std::uint64_t fingerprint) {
          witness_.OnUpdate(branch, updates, fingerprint);
        },
        [cache](std::int64_t record) {
          data::Record out;
          return cache->Read(record, out);
        },
        witness_.options.parts));
  }

  Witness& witness_;
  std::set<std::int64_t>& flash_;
  Random& random_;
  std::unique_ptr<train::WorkerNode> node_;
};

// A node whose program trains in another way.
class NewerProgram final : public Program, private NetworkEvents {
 public:
  explicit NewerProgram(const Surroundings& around) : around_(around) {
    around_.network.Attach(this);
    around_.network.Connect(kHead, "sim:1");
  }

 private:
  void OnPeerUp(NodeId peer) override {
    wire::pb::ToHead message;
    message.mutable_hello()->set_name("newer");
    message.mutable_hello()->set_training(train::kTrainingRevision + 1);
    (void)around_.network.Send(peer, Traffic::kControl, wire::Encode(message)).ok();
  }
  void OnPeerDown(NodeId /*peer*/, const Status& /*why*/) override {}
  void OnFrame(NodeId /*from*/, Traffic /*traffic*/, Frame /*frame*/) override {}
  void OnWritable(NodeId /*peer*/, Traffic /*traffic*/) override {}

  const Surroundings around_;
};

}  // namespace

TrainRunOptions RandomTraining(std::uint64_t seed) {
  Random random(seed, 0x7124);
  TrainRunOptions options;
  options.seed = seed;
  options.nodes = static_cast<std::uint32_t>(random.Between(1, 24));
  options.batch = static_cast<std::uint64_t>(random.Between(1, 96));
  options.records = random.Between(40, 700);
  options.steps = random.Between(20, 60);
  options.keep_interval = random.Between(1, 20);
  options.shuffle = random.Chance(0.5);
  options.operations_per_sample = random.Chance(0.5) ? 1e9 : 2e8;
  options.duration = std::chrono::seconds(20);
  options.slow_nodes = random.Chance(0.5) ? 1 : 0;
  options.reduce.pieces.elements = random.Chance(0.5) ? 16 : 0;
  options.reduce.pieces.ahead = static_cast<std::size_t>(random.Between(1, 8));
  options.reduce.algorithm =
      random.Chance(0.3) ? collective::Algorithm::kHalvingDoubling : collective::Algorithm::kRing;
  options.link.silence_limit = std::chrono::milliseconds(1500);
  options.faults = RandomFaults(seed);
  // Within twenty seconds: what phones do in a day.
  const double haste = 60.0 / options.nodes;
  options.faults.bit_flip = 0;
  options.faults.crashes_per_node_hour = random.Unit() * 60 * haste;
  options.faults.hangs_per_node_hour = random.Unit() * 60 * haste;
  options.faults.slowdowns_per_node_hour = random.Unit() * 60 * haste;
  options.faults.disconnects_per_node_hour = random.Unit() * 60 * haste;
  options.faults.partitions_per_hour = random.Unit() * 300;
  options.faults.restart_mean = std::chrono::seconds(2);
  options.faults.hang_mean = std::chrono::seconds(2);
  options.faults.partition_mean = std::chrono::seconds(2);
  options.measure_links = random.Chance(0.5);
  return options;
}

TrainRunResult RunTraining(const TrainRunOptions& options, const Trace::Line& transcript) {
  Witness witness(options);
  World world({.seed = options.seed, .faults = options.faults, .link = options.link});
  if (transcript) world.SetTranscript(transcript);
  HeadProgram* head = nullptr;
  std::uint64_t head_starts = 0;
  world.AddNode(kHead, [&](const Surroundings& around) {
    ++head_starts;
    auto program = std::make_unique<HeadProgram>(
        around, witness, [&world](const std::string& line) { world.Say(kHead, line); });
    head = program.get();
    return program;
  });
  std::map<NodeId, std::set<std::int64_t>> flash;
  for (std::uint32_t i = 0; i < options.nodes; ++i) {
    PhoneModel phone;
    if (i < options.slow_nodes) phone.operations_per_second /= options.slow_factor;
    world.AddNode(
        NodeId{i + 2},
        [&](const Surroundings& around) {
          return std::make_unique<WorkerProgram>(around, witness, flash[around.self]);
        },
        phone);
  }
  // Last, so that somebody else is asked for the weights.
  for (std::uint32_t i = 0; i < options.liars; ++i) {
    world.AddNode(NodeId{options.nodes + i + 2}, [&](const Surroundings& around) {
      return std::make_unique<LiarProgram>(around, kHead, options.liar_interval);
    });
  }
  if (options.newer_node) {
    world.AddNode(NodeId{options.nodes + options.liars + 2}, [](const Surroundings& around) {
      return std::make_unique<NewerProgram>(around);
    });
  }
  std::uint64_t epochs = 0;
  std::uint64_t last_epoch = 0;
  const auto over = [&] {
    if (!world.IsRunning(kHead)) return !witness.failure.empty();
    const train::Chief& chief = head->chief();
    if (chief.epoch() != last_epoch) ++epochs;
    last_epoch = chief.epoch();
    if (chief.over() && !chief.status().ok()) witness.Fail("ended: " + chief.status().ToString());
    return chief.over() || !witness.failure.empty();
  };
  const bool early = world.RunUntil(over, options.duration);
  if (!early) world.Heal();
  if (!early && !world.RunUntil(over, options.liars > 0 ? kLiarsLimit : kTrainingLimit)) {
    witness.Fail("iteration " + std::to_string(head->chief().iteration()) + " of " +
                 std::to_string(options.steps) + " although all has healed");
  }
  if (witness.failure.empty() && witness.iteration != options.steps) {
    witness.Fail("the last state was not kept");
  }
  // Exactly once: nothing is missing but what the snapshot says is owed.
  std::uint64_t owed = 0;
  for (const train::SampleRun& run : witness.pool.owed) owed += run.count;
  const std::uint64_t taken =
      witness.pool.next.epoch * static_cast<std::uint64_t>(options.records) +
      witness.pool.next.position;
  if (witness.failure.empty() && witness.ledger.committed() + owed != taken) {
    witness.Fail("samples are missing");
  }
  TrainRunResult result = witness.result;
  result.failure = witness.failure;
  result.trace_hash = world.trace_hash();
  result.epochs = epochs;
  result.head_restarts = head_starts - 1;
  result.seconds = witness.last_step - witness.first_step;
  if (result.seconds > 0) {
    result.samples_per_second =
        static_cast<double>(options.batch) * static_cast<double>(result.steps - 1) / result.seconds;
  }
  return result;
}

}  // namespace shoal::sim
