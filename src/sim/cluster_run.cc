#include "sim/cluster_run.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "agent/agent.h"
#include "agent/probe.h"
#include "base/check.h"
#include "base/parallel.h"
#include "coordinator/coordinator.h"
#include "kernels/revision.h"
#include "llm/model_config_text.h"
#include "llm/model_size.h"
#include "sim/toy_store.h"
#include "sim/world.h"

namespace shoal::sim {
namespace {

constexpr NodeId kHead{1};
constexpr std::uint64_t kLayerBytes = 100'000;  // More than one of the toy's.
constexpr std::uint64_t kKvBytes = 128;         // Of a position in a layer.

class NoProbe final : public agent::Probe {
 public:
  void Read(wire::pb::Telemetry& /*telemetry*/) override {}
};

// What those who ask have seen. Outside the world: it survives everything.
struct Witness {
  explicit Witness(const std::vector<ClusterQuestion>& asked) : questions(asked) {}

  const std::vector<ClusterQuestion>& questions;
  std::vector<std::size_t> asked_at_ms;
  std::vector<bool> accepted;
  std::vector<std::vector<std::int32_t>> heard;
  std::vector<bool> complete;
  // The pipeline and the route of every epoch.
  std::map<std::uint64_t, std::pair<std::size_t, std::vector<pipeline::RouteStage>>> epochs;
  std::uint64_t stages = 0;
  std::uint64_t replicas = 0;
  std::uint64_t checked = 0;  // The sum of the epochs that were looked at.
  std::string failure;
  std::set<std::string> waits;
  MemoryStore store;
  std::uint64_t head_starts = 0;
  std::uint64_t balanced = 0;

  void Fail(std::string what) {
    if (failure.empty()) failure = std::move(what);
  }
  bool AllComplete() const {
    for (std::size_t i = 0; i < heard.size(); ++i) {
      if (!complete[i]) return false;
    }
    return true;
  }
};

std::string IdOf(std::size_t question) { return "question-" + std::to_string(question); }

// Somebody who asks one question, and asks again for the rest when the head was away.
class Asker final : public pipeline::AnswerEvents {
 public:
  Asker(Witness& witness, std::size_t question) : witness_(witness), question_(question) {}

  void OnToken(std::size_t index, const llm::SampledToken& token) override {
    std::vector<std::int32_t>& heard = witness_.heard[question_];
    const std::vector<std::int32_t>& right = witness_.questions[question_].answer;
    const std::string name = IdOf(question_) + ": token " + std::to_string(index);
    if (index != heard.size()) return witness_.Fail(name + " is told out of order");
    if (index >= right.size()) return witness_.Fail(name + " is too many");
    if (token.token != right[index]) {
      return witness_.Fail(name + " is " + std::to_string(token.token) + ", not " +
                           std::to_string(right[index]));
    }
    heard.push_back(token.token);
  }
  void OnEnd(pipeline::AnswerEnd how, const Status& status) override {
    if (how != pipeline::AnswerEnd::kLength ||
        witness_.heard[question_].size() != witness_.questions[question_].answer.size()) {
      witness_.Fail(IdOf(question_) + " ended early: " + status.ToString());
    }
    if (witness_.complete[question_]) witness_.Fail(IdOf(question_) + " ended twice");
    witness_.complete[question_] = true;
  }
  void OnWaiting(const std::string& why) override { witness_.waits.insert(why); }

 private:
  Witness& witness_;
  const std::size_t question_;
};

class HeadProgram final : public Program {
 public:
  HeadProgram(const Surroundings& around, const ToyModel& model, const ClusterRunOptions& run,
              Flash& flash, Witness& witness, std::function<void(const std::string&)> news)
      : witness_(witness), layers_(model, flash, around) {
    ++witness.head_starts;
    coordinator::CoordinatorOptions options;
    options.model.id = "toy";
    options.model.config = llm::SerializeConfig(model.config());
    for (const ToyModel::File& file : model.files()) {
      options.model.layers.push_back(file.name);
      flash[file.name.sha256()] = pipeline::ChunkCount(file.bytes.size());
    }
    options.model.positions = run.positions;
    options.model.multiply_adds = llm::MeasureRow(model.config()).multiply_adds;
    options.model.kv_bytes_per_position = static_cast<std::uint64_t>(model.config().kv_dim()) * 4;
    options.context = static_cast<std::size_t>(model.config().context);
    options.wait_max = std::chrono::hours(1);
    options.model.wish.objective = run.objective;
    options.model.wish.stages = run.stages;
    options.model.wish.replicas_max = run.replicas_max;
    options.replica.chunk = 16;
    options.model.dim = static_cast<std::size_t>(model.config().dim);
    options.audit = run.audit;
    options.on_quarantine = [&witness](NodeId node, const std::string& evidence) {
      witness.Fail("node " + std::to_string(ToNumber(node)) + " is blamed: " + evidence);
    };
    options.replica.guesses = 3;
    options.news = std::move(news);
    auto head = llm::ModelHead::Load(model.weights(), model.config(), serial_);
    SHOAL_CHECK(head.ok());
    coordinator_ = std::make_unique<coordinator::Coordinator>(
        Seams{around.clock, around.network, around.executor, around.random}, std::move(options),
        std::make_shared<pipeline::HeadModel>(*std::move(head), serial_), layers_, witness.store);
    for (std::size_t i = 0; i < witness.questions.size() && i < witness.heard.size(); ++i) {
      askers_.push_back(std::make_unique<Asker>(witness, i));
      if (witness.complete[i]) continue;
      if (witness.accepted[i]) {
        const Status status =
            coordinator_->Listen(IdOf(i), witness.heard[i].size(), askers_.back().get());
        if (!status.ok()) witness.Fail(IdOf(i) + " was lost: " + status.ToString());
      } else {
        const std::size_t delay = witness.head_starts == 1 ? witness.asked_at_ms[i] : 10;
        around.clock.CallAfter(std::chrono::milliseconds(delay), [this, i] { Ask(i); });
      }
    }
  }

  ~HeadProgram() override {
    if (coordinator_->audits().excuses > 0) witness_.Fail("an honest node needed an excuse");
  }
  HeadProgram(const HeadProgram&) = delete;
  HeadProgram& operator=(const HeadProgram&) = delete;

  const coordinator::Lines& lines() const { return coordinator_->lines(); }

 private:
  void Ask(std::size_t i) {
    pipeline::Question question;
    question.id = IdOf(i);
    question.prompt = witness_.questions[i].prompt;
    question.sampling.temperature = 0;
    question.tokens_max = witness_.questions[i].answer.size();
    const Status status = coordinator_->Ask(std::move(question), askers_[i].get());
    if (!status.ok()) return witness_.Fail(IdOf(i) + " was refused: " + status.ToString());
    witness_.accepted[i] = true;
  }

  Witness& witness_;
  Serial serial_;
  ToyStore layers_;
  std::vector<std::unique_ptr<Asker>> askers_;
  std::unique_ptr<coordinator::Coordinator> coordinator_;
};

class AgentProgram final : public Program {
 public:
  AgentProgram(const Surroundings& around, const ToyModel& model, const ClusterRunOptions& run,
               Flash& flash)
      : probe_(run.make_probe ? run.make_probe(around) : std::make_unique<NoProbe>()),
        layers_(model, flash, around) {
    agent::AgentOptions options;
    options.head = kHead;
    options.head_address = "sim:1";
    options.hello.set_arithmetic(kernels::kKernelRevision);
    options.hello.set_address("sim:" + std::to_string(ToNumber(around.self)));
    options.hello.set_memory_bytes(run.node_bytes);
    options.hello.mutable_profile()->set_weight_bytes_per_second(run.phone.bytes_per_second);
    options.hello.mutable_profile()->set_operations_per_second(run.phone.operations_per_second);
    agent_ = std::make_unique<agent::Agent>(
        Seams{around.clock, around.network, around.executor, around.random}, std::move(options),
        layers_, *probe_, serial_);
  }

 private:
  Serial serial_;
  const std::unique_ptr<agent::Probe> probe_;
  ToyStore layers_;
  std::unique_ptr<agent::Agent> agent_;
};

// An epoch is one pipeline's, and in it every layer has one owner.
void CheckRoute(const pipeline::Route& route, std::size_t line, std::int64_t layers,
                Witness& witness) {
  const auto [known, is_new] = witness.epochs.insert({route.epoch, {line, route.stages}});
  if (!is_new) {
    if (known->second != std::pair(line, route.stages)) witness.Fail("two routes, one epoch");
    return;
  }
  std::int64_t at = 0;
  std::set<NodeId> nodes;
  for (const pipeline::RouteStage& stage : route.stages) {
    if (stage.range.first != at || stage.range.end <= at || !nodes.insert(stage.node).second) {
      return witness.Fail("layer " + std::to_string(at) + " has no owner, or two");
    }
    at = stage.range.end;
  }
  if (at != layers) witness.Fail("layer " + std::to_string(at) + " has no owner");
  witness.stages += route.stages.size();
}

// A node serves one pipeline.
void CheckLines(const coordinator::Lines& lines, std::int64_t layers, Witness& witness) {
  // Whatever changes, an epoch changes.
  std::uint64_t sum = 0;
  std::uint64_t running = 0;
  for (const auto& line : lines.lines()) {
    if (line->formation().forming()) sum += line->formation().forming()->epoch;
    if (!line->running()) continue;
    sum += 2 * line->replica().route().epoch;
    ++running;
  }
  if (std::exchange(witness.checked, sum) == sum) return;
  witness.replicas = std::max(witness.replicas, running);
  std::set<NodeId> taken;
  for (const auto& line : lines.lines()) {
    const auto check = [&](const pipeline::Route& route) {
      CheckRoute(route, line->number(), layers, witness);
      for (const pipeline::RouteStage& stage : route.stages) {
        if (!line->formation().Has(stage.node)) witness.Fail("a pipeline runs on others' nodes");
      }
    };
    if (line->formation().forming()) check(*line->formation().forming());
    if (line->running()) check(line->replica().route());
    for (const NodeId node : line->formation().Nodes()) {
      if (!taken.insert(node).second) {
        witness.Fail("node " + std::to_string(ToNumber(node)) + " is in two pipelines");
      }
    }
  }
}

}  // namespace

std::vector<ClusterQuestion> MakeQuestions(const ToyModel& model, std::size_t count,
                                           std::uint64_t seed) {
  Random random(seed);
  std::vector<ClusterQuestion> questions;
  for (std::size_t i = 0; i < count; ++i) {
    ClusterQuestion question;
    const std::int64_t length = random.Between(32, 48);
    for (std::int64_t t = 0; t < length; ++t) {
      question.prompt.push_back(static_cast<std::int32_t>(
          random.Below(static_cast<std::uint64_t>(model.config().vocab))));
    }
    question.answer =
        model.Answer(question.prompt, static_cast<std::size_t>(random.Between(32, 48)));
    questions.push_back(std::move(question));
  }
  return questions;
}

ClusterRunOptions RandomCluster(std::uint64_t seed) {
  Random random(seed, 0xC105);
  ClusterRunOptions options;
  options.seed = seed;
  options.nodes = static_cast<std::uint32_t>(random.Between(3, 40));
  options.questions = 4;
  options.duration = std::chrono::seconds(10);
  // Any third of the nodes can hold the model, or any eighth, or each.
  const auto share = static_cast<std::int64_t>(std::max<std::uint32_t>(options.nodes / 3, 1));
  const auto layers = static_cast<std::uint64_t>(48 / random.Between(1, share) + 1);
  options.node_bytes = layers * (kLayerBytes + kKvBytes * options.positions);
  // One pipeline of all nodes, or several of as many stages as it takes, or of more.
  if (random.Chance(0.4)) {
    options.stages = options.nodes;
  } else if (random.Chance(0.5)) {
    options.stages = static_cast<std::size_t>(random.Between(1, share));
  }
  if (random.Chance(0.15)) options.objective = pipeline::Objective::kThroughput;
  if (random.Chance(0.3)) options.replicas_max = static_cast<std::size_t>(random.Between(1, 3));
  if (random.Chance(0.4)) options.audit = 0.3;
  if (random.Chance(0.3)) options.positions = 256;  // For one answer, or two.
  options.faults = RandomFaults(seed);
  // Within ten seconds: what phones do in a day.
  const double haste = 120.0 / options.nodes;
  options.faults.bit_flip = 0;  // TLS sees to it; phones that compute wrongly are audited.
  options.faults.crashes_per_node_hour = random.Unit() * 60 * haste;
  options.faults.hangs_per_node_hour = random.Unit() * 60 * haste;
  options.faults.slowdowns_per_node_hour = random.Unit() * 60 * haste;
  options.faults.disconnects_per_node_hour = random.Unit() * 60 * haste;
  options.faults.partitions_per_hour = random.Unit() * 300;
  options.faults.restart_mean = std::chrono::seconds(2);
  options.faults.hang_mean = std::chrono::seconds(2);
  options.faults.partition_mean = std::chrono::seconds(2);
  // Phones for which a layer takes a while, so that it matters where it is.
  if (random.Chance(0.5)) options.phone.bytes_per_second = 40e6;
  return options;
}

ClusterRunResult RunCluster(const ClusterRunOptions& options, const ToyModel& model,
                            const std::vector<ClusterQuestion>& questions,
                            const Trace::Line& transcript) {
  Witness witness(questions);
  const std::size_t count = std::min(options.questions, questions.size());
  Random random(options.seed, 0xA5C);
  for (std::size_t i = 0; i < count; ++i) {
    witness.asked_at_ms.push_back(
        random.Below(static_cast<std::uint64_t>(ToMilliseconds(options.duration) * 0.7) + 1));
  }
  witness.accepted.resize(count);
  witness.heard.resize(count);
  witness.complete.resize(count);

  World world({.seed = options.seed, .faults = options.faults, .link = {}});
  if (transcript) world.SetTranscript(transcript);
  std::map<NodeId, Flash> flash;
  HeadProgram* head = nullptr;
  world.AddNode(kHead, [&](const Surroundings& around) {
    auto program = std::make_unique<HeadProgram>(
        around, model, options, flash[kHead], witness, [&](const std::string& line) {
          world.Say(kHead, line);
          if (line.find("as long as it promised") != std::string::npos) ++witness.balanced;
        });
    head = program.get();
    return program;
  });
  for (std::uint32_t i = 0; i < options.nodes; ++i) {
    world.AddNode(
        NodeId{i + 2},
        [&](const Surroundings& around) {
          return std::make_unique<AgentProgram>(around, model, options, flash[around.self]);
        },
        options.phone);
  }
  if (options.isolated) {
    for (const NodeId from : world.nodes()) {
      for (const NodeId to : world.nodes()) {
        if (from != to && from != kHead && to != kHead) world.CutCable(from, to);
      }
    }
  }
  const auto over = [&] {
    if (world.IsRunning(kHead)) CheckLines(head->lines(), model.config().layers, witness);
    return !witness.failure.empty();
  };
  ClusterRunResult result;
  world.RunUntil(over, options.duration);
  result.answers_before_healing = static_cast<std::uint64_t>(
      std::count(witness.complete.begin(), witness.complete.end(), true));
  const Duration healed = world.now();
  world.Heal();
  const bool live = world.RunUntil([&] { return over() || witness.AllComplete(); }, kAnswersLimit);
  if (!live) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!witness.complete[i]) {
        witness.Fail(IdOf(i) + " is not complete (" + std::to_string(witness.heard[i].size()) +
                     " tokens) although all has healed");
      }
    }
  }
  if (world.IsRunning(kHead)) world.Crash(kHead, Death::kKilled);  // It says what it has seen.
  result.failure = witness.failure;
  result.waits = witness.waits;
  result.trace_hash = world.trace_hash();
  result.events = world.events();
  result.epochs = witness.epochs.size();
  result.stages = witness.stages;
  result.replicas = witness.replicas;
  result.answers = count;
  result.balanced = witness.balanced;
  result.head_restarts = witness.head_starts - 1;
  result.seconds_to_heal = ToSeconds(world.now() - healed);
  return result;
}

}  // namespace shoal::sim
