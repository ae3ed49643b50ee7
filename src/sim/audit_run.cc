#include "sim/audit_run.h"

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "agent/agent.h"
#include "agent/probe.h"
#include "base/check.h"
#include "base/parallel.h"
#include "coordinator/coordinator.h"
#include "kernels/revision.h"
#include "kernels/target.h"
#include "llm/model_config_text.h"
#include "sim/toy_store.h"
#include "sim/world.h"

namespace shoal::sim {
namespace {

constexpr NodeId kHead{1};

class NoProbe final : public agent::Probe {
 public:
  void Read(wire::pb::Telemetry& /*telemetry*/) override {}
};

// What is seen from outside.
struct Witness {
  std::vector<NodeId> quarantined;
  std::size_t tokens = 0;
  std::size_t lies = 0;
  std::map<std::uint64_t, std::set<std::size_t>> wrong_rows;  // Positions of each answer.
  std::size_t failed = 0;
  std::string failure;
  bool over = false;  // Nothing more is asked.
};

// Flips a bit of a random row now and then.
class Spoiler {
 public:
  Spoiler(double chance, std::uint64_t seed, Witness& witness)
      : chance_(chance), random_(seed, 0x11E), witness_(witness) {}

  void Spoil(wire::Batch& batch) {
    std::size_t row = 0;
    for (const wire::Run& run : batch.runs) {
      for (std::size_t i = 0; i < run.count && row * batch.dim < batch.rows.size(); ++i, ++row) {
        // The row of a wrong guess is replaced by the right token's.
        std::set<std::size_t>& wrong = witness_.wrong_rows[run.sequence];
        wrong.erase(run.begin + i);
        if (!random_.Chance(chance_)) continue;
        batch.rows[row * batch.dim + random_.Below(batch.dim)] ^=
            static_cast<std::uint16_t>(1U << random_.Below(10));
        ++witness_.lies;
        wrong.insert(run.begin + i);
        spoiled_.insert({batch.epoch, batch.step});
      }
    }
  }
  bool Spoiled(std::uint64_t epoch, std::uint64_t step) const {
    return spoiled_.contains({epoch, step});
  }
  // As likely as a row is to be wrong.
  bool Wants() { return random_.Chance(chance_); }

 private:
  const double chance_;
  Random random_;
  Witness& witness_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> spoiled_;
};

// Without those of batches that it has spoiled.
wire::pb::Receipts LeaveOut(const wire::pb::Receipts& all, const Spoiler& spoiler) {
  wire::pb::Receipts some;
  some.set_epoch(all.epoch());
  int at = 0;
  for (int i = 0; i < all.steps_size(); ++i) {
    const int begin = at;
    at += static_cast<int>(all.rows(i));
    if (spoiler.Spoiled(all.epoch(), all.steps(i))) continue;
    some.add_steps(all.steps(i));
    some.add_rows(all.rows(i));
    some.mutable_given()->Add(all.given().begin() + begin, all.given().begin() + at);
    some.mutable_made()->Add(all.made().begin() + begin, all.made().begin() + at);
  }
  return some;
}

// The network of a node that lies about what passes.
class LyingNetwork final : public Network {
 public:
  LyingNetwork(Network& network, Lie lie, std::shared_ptr<Spoiler> spoiler)
      : network_(network), lie_(lie), spoiler_(std::move(spoiler)) {}

  NodeId self() const override { return network_.self(); }
  void Attach(NetworkEvents* events) override { network_.Attach(events); }
  void Connect(NodeId peer, const std::string& address) override {
    network_.Connect(peer, address);
  }
  void Disconnect(NodeId peer) override { network_.Disconnect(peer); }
  Status Send(NodeId peer, Traffic traffic, Frame frame) override {
    if (traffic == Traffic::kActivations && lie_ == Lie::kLink) {
      Result<wire::Batch> batch = wire::DecodeBatch(frame);
      // Rows that the head asks for are those that it said it had made.
      if (batch.ok() && batch->runs.size() > 0 && batch->step > 0) {
        spoiler_->Spoil(*batch);
        frame = wire::EncodeBatch(*batch);
      }
    }
    if (traffic == Traffic::kActivations && lie_ == Lie::kForgery && spoiler_->Wants()) {
      if (const Result<wire::Batch> batch = wire::DecodeBatch(frame); batch.ok()) Forge(*batch);
    }
    if (traffic == Traffic::kActivations && lie_ == Lie::kTamper && spoiler_->Wants()) {
      Result<wire::Batch> batch = wire::DecodeBatch(frame);
      if (batch.ok() && batch->stage <= batch->last && batch->step > 0) {
        frame = wire::EncodeBatch(Tampered(*std::move(batch)));
      }
    }
    if (traffic == Traffic::kControl && lie_ >= Lie::kReceipts && lie_ <= Lie::kEvasion) {
      Result<wire::pb::ToHead> message = wire::DecodeToHead(frame);
      if (message.ok() && message->has_receipts()) {
        if (lie_ == Lie::kSilence) return {};
        wire::pb::Receipts& receipts = *message->mutable_receipts();
        if (lie_ == Lie::kEvasion) {
          receipts = LeaveOut(receipts, *spoiler_);
        } else if (receipts.made_size() > 0) {
          receipts.set_made(0, receipts.made(0) + 1);
        }
        frame = wire::Encode(*message);
      }
    }
    return network_.Send(peer, traffic, std::move(frame));
  }

 private:
  // What would make others look guilty, if it were believed: batches of every stage, to everybody,
  // by itself and over the head, and as if they had come back from the last stage. If a node is not
  // its neighbour, it is now.
  void Forge(const wire::Batch& real) {
    for (std::uint32_t node = 1; node <= 6; ++node) {
      for (std::uint32_t stage = 0; stage <= 4; ++stage) {
        wire::Batch forged = real;
        forged.to = NodeId{node};
        forged.stage = stage;
        forged.last = stage == 4 ? 3 : real.stage - 1;
        forged.step += (node + 2) % 3;
        if (forged.stage > forged.last) forged.last = forged.stage - 1;
        forged.rows.assign(
            (forged.stage > forged.last ? forged.RowsBack() : forged.RowsIn()) * forged.dim,
            0x3C00);
        if (NodeId{node} != network_.self()) Hand(NodeId{node}, forged);
        if (node != 1) Hand(kHead, forged);
      }
    }
  }
  // Rows of former positions, or of another answer, are overwritten.
  static wire::Batch Tampered(wire::Batch batch) {
    for (wire::Run& run : batch.runs) {
      if (run.begin > 0) {
        --run.begin;
      } else if (run.sequence > 1) {
        --run.sequence;
      }
    }
    return batch;
  }
  void Hand(NodeId to, const wire::Batch& batch) {
    if (network_.Send(to, Traffic::kActivations, wire::EncodeBatch(batch)).ok()) return;
    network_.Connect(to, "sim:" + std::to_string(ToNumber(to)));
  }

  Network& network_;
  const Lie lie_;
  const std::shared_ptr<Spoiler> spoiler_;
};

// Computes with the kernels of one instruction set, whatever the others have.
class TargetExecutor final : public Executor {
 public:
  TargetExecutor(Executor& executor, kernels::Target target)
      : executor_(executor), target_(target) {}

  Status Submit(Job job) override {
    job.run = [run = std::move(job.run), target = target_]() mutable {
      const kernels::ScopedBestTarget scope(target);
      run();
    };
    return executor_.Submit(std::move(job));
  }

 private:
  Executor& executor_;
  const kernels::Target target_;
};

class AgentProgram final : public Program {
 public:
  AgentProgram(const Surroundings& around, const ToyModel& model, Flash& flash,
               const AuditRunOptions& run, Witness& witness)
      : layers_(model, flash, around), executor_(around.executor, TargetOf(around.self)) {
    agent::AgentOptions options;
    options.head = kHead;
    options.head_address = "sim:1";
    options.hello.set_arithmetic(kernels::kKernelRevision);
    options.hello.set_address("sim:" + std::to_string(ToNumber(around.self)));
    options.hello.set_memory_bytes(std::uint64_t{1} << 30U);
    Network* network = &around.network;
    if (run.liar && ToNumber(around.self) == *run.liar + 2) {
      const auto spoiler = std::make_shared<Spoiler>(run.chance, run.seed, witness);
      if (run.lie == Lie::kResults || run.lie == Lie::kSilence || run.lie == Lie::kEvasion) {
        options.spoil = [spoiler](wire::Batch& batch) { spoiler->Spoil(batch); };
      }
      if (run.lie != Lie::kResults) {
        lying_ = std::make_unique<LyingNetwork>(around.network, run.lie, spoiler);
        network = lying_.get();
      }
    }
    agent_ = std::make_unique<agent::Agent>(Seams{around.clock, *network, executor_, around.random},
                                            std::move(options), layers_, probe_, serial_);
  }

 private:
  // All that this CPU has take turns.
  static kernels::Target TargetOf(NodeId node) {
    const auto targets = kernels::SupportedTargets();
    return targets[ToNumber(node) % targets.size()];
  }

  Serial serial_;
  NoProbe probe_;
  ToyStore layers_;
  TargetExecutor executor_;
  std::unique_ptr<LyingNetwork> lying_;
  std::unique_ptr<agent::Agent> agent_;
};

class HeadProgram final : public Program {
 public:
  HeadProgram(const Surroundings& around, const ToyModel& model, const AuditRunOptions& run,
              const std::vector<ClusterQuestion>& questions, Flash& flash, MemoryStore& store,
              Witness& witness, std::function<void(const std::string&)> news)
      : clock_(around.clock),
        questions_(questions),
        witness_(witness),
        layers_(model, flash, around) {
    coordinator::CoordinatorOptions options;
    options.model.id = "toy";
    options.model.config = llm::SerializeConfig(model.config());
    for (const ToyModel::File& file : model.files()) {
      options.model.layers.push_back(file.name);
      flash[file.name.sha256()] = pipeline::ChunkCount(file.bytes.size());
    }
    options.model.positions = 4096;
    options.model.dim = static_cast<std::size_t>(model.config().dim);
    options.model.kv_bytes_per_position = static_cast<std::uint64_t>(model.config().kv_dim()) * 4;
    options.context = static_cast<std::size_t>(model.config().context);
    options.wait_max = std::chrono::hours(1);
    options.model.wish.stages = run.stages;
    options.model.wish.replicas_max = 1;
    options.replica.guesses = run.guesses;
    options.audit = run.audit;
    options.news = std::move(news);
    options.on_quarantine = [&witness](NodeId node, const std::string& /*evidence*/) {
      witness.quarantined.push_back(node);
    };
    auto head = llm::ModelHead::Load(model.weights(), model.config(), serial_);
    SHOAL_CHECK(head.ok());
    coordinator_ = std::make_unique<coordinator::Coordinator>(
        Seams{around.clock, around.network, around.executor, around.random}, std::move(options),
        std::make_shared<pipeline::HeadModel>(*std::move(head), serial_), layers_, store);
    for (std::size_t i = 0; i < run.at_once; ++i) {
      clock_.CallAfter(std::chrono::milliseconds(10 + 50 * i), [this] { AskNext(); });
    }
  }

  coordinator::AuditTally audits() const { return coordinator_->audits(); }
  // Once nobody lies any more, what is there must be right; and all of it, if nobody's rows were
  // wrong.
  void Check() const {
    for (std::size_t i = 0; i < asked_; ++i) {
      const pipeline::AnswerRecord* const record = coordinator_->Find(IdOf(i));
      if (record == nullptr || !record->ended) continue;
      if (record->remade == 0 && witness_.lies > 0) continue;
      std::vector<std::int32_t> tokens;
      for (const llm::SampledToken& token : record->tokens) tokens.push_back(token.token);
      if (tokens != questions_[i % questions_.size()].answer) {
        witness_.failure = IdOf(i) + " is wrong";
      }
    }
  }

 private:
  static std::string IdOf(std::size_t number) { return "question-" + std::to_string(number); }

  class Asker final : public pipeline::AnswerEvents {
   public:
    explicit Asker(HeadProgram& head) : head_(head) {}
    void OnToken(std::size_t /*index*/, const llm::SampledToken& /*token*/) override {
      ++head_.witness_.tokens;
    }
    void OnEnd(pipeline::AnswerEnd how, const Status& status) override {
      if (how == pipeline::AnswerEnd::kFailed) {
        ++head_.witness_.failed;
        if (status.code() != Code::kCorruption) head_.witness_.failure = status.ToString();
      }
      head_.clock_.CallAfter(Duration{0}, [head = &head_] { head->AskNext(); });
    }
    void OnWaiting(const std::string& /*why*/) override {}

   private:
    HeadProgram& head_;
  };

  void AskNext() {
    if (witness_.over) return;
    const ClusterQuestion& asked = questions_[asked_ % questions_.size()];
    pipeline::Question question;
    question.id = IdOf(asked_++);
    question.prompt = asked.prompt;
    question.sampling.temperature = 0;
    question.tokens_max = asked.answer.size();
    askers_.push_back(std::make_unique<Asker>(*this));
    witness_.tokens += question.prompt.size();
    const Status status = coordinator_->Ask(std::move(question), askers_.back().get());
    if (!status.ok()) witness_.failure = status.ToString();
  }

  Clock& clock_;
  const std::vector<ClusterQuestion>& questions_;
  Witness& witness_;
  Serial serial_;
  ToyStore layers_;
  std::size_t asked_ = 0;
  std::vector<std::unique_ptr<Asker>> askers_;
  std::unique_ptr<coordinator::Coordinator> coordinator_;
};

}  // namespace

AuditRunResult RunAudits(const AuditRunOptions& options, const ToyModel& model,
                         const std::vector<ClusterQuestion>& questions,
                         const Trace::Line& transcript) {
  Witness witness;
  World world({.seed = options.seed, .faults = {}, .link = {}});
  if (transcript) world.SetTranscript(transcript);
  std::map<NodeId, Flash> flash;
  MemoryStore store;
  HeadProgram* head = nullptr;
  world.AddNode(kHead, [&](const Surroundings& around) {
    auto program = std::make_unique<HeadProgram>(
        around, model, options, questions, flash[kHead], store, witness,
        [&world](const std::string& line) { world.Say(kHead, line); });
    head = program.get();
    return program;
  });
  for (std::uint32_t i = 0; i < options.nodes; ++i) {
    world.AddNode(NodeId{i + 2}, [&](const Surroundings& around) {
      return std::make_unique<AgentProgram>(around, model, flash[around.self], options, witness);
    });
  }
  const auto over = [&] {
    return !witness.failure.empty() || !witness.quarantined.empty() ||
           witness.tokens >= options.tokens_max;
  };
  const bool ended = world.RunUntil(over, std::chrono::hours(1));
  AuditRunResult result;
  result.tokens = witness.tokens;
  result.lies = witness.lies;
  for (const auto& [answer, rows] : witness.wrong_rows) result.spoiled += rows.empty() ? 0 : 1;
  witness.over = true;
  if (!ended) witness.failure = "answers have stopped";
  // Audits of the last answers, and answers that are made again.
  world.RunFor(std::chrono::seconds(10));
  head->Check();
  const coordinator::AuditTally tally = head->audits();
  result.right = tally.right;
  result.voided = tally.voided;
  result.share = tally.of_work > 0 ? tally.work / tally.of_work : 0;
  result.quarantined = witness.quarantined;
  result.failed = witness.failed;
  result.failure = witness.failure;
  return result;
}

}  // namespace shoal::sim
