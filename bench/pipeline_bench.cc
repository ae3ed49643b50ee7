#include "bench/pipeline_bench.h"

#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "agent/agent.h"
#include "base/check.h"
#include "base/parallel.h"
#include "base/random.h"
#include "bench/interleave.h"
#include "bench/llm_files.h"
#include "coordinator/coordinator.h"
#include "kernels/revision.h"
#include "llm/engine.h"
#include "llm/layer.h"
#include "llm/layer_file.h"
#include "llm/model_config_text.h"
#include "llm/model_head.h"
#include "os/loop.h"
#include "os/net/certificates.h"
#include "os/net/tcp_network.h"
#include "os/net/tls.h"
#include "os/thread_executor.h"
#include "tensor/aligned_buffer.h"
#include "wire/piece.h"

namespace shoal::bench {
namespace {

constexpr NodeId kHead{1};
constexpr NodeId kNode{2};
constexpr std::size_t kContext = 1024;

const std::vector<std::int32_t>& Prompt() {
  static const std::vector<std::int32_t> prompt = {1, 9038, 2501, 263, 931, 727, 471, 263};
  return prompt;
}

// All layers of a model as nodes hold them, in memory from the start: fetching is not measured.
class LayerFiles {
 public:
  static Result<LayerFiles> Make(const OpenedModel& model) {
    LayerFiles files;
    Serial serial;
    for (std::int64_t i = 0; i < model.config.layers; ++i) {
      SHOAL_ASSIGN_OR_RETURN(const llm::Layer layer,
                             llm::LoadLayer(model.weights, model.config, i, serial));
      SHOAL_ASSIGN_OR_RETURN(AlignedBuffer buffer,
                             AlignedBuffer::Make(llm::LayerFileBytes(layer, model.config)));
      std::byte* at = buffer.data();
      SHOAL_RETURN_IF_ERROR(
          llm::WriteLayer(layer, model.config, [&](std::span<const std::byte> bytes) -> Status {
            at = std::copy(bytes.begin(), bytes.end(), at);
            return {};
          }));
      wire::pb::LayerFile name;
      name.set_bytes(buffer.size());
      // Nobody fetches them, so nobody checks these.
      name.mutable_chunks()->resize(pipeline::ChunkCount(buffer.size()) *
                                    sizeof(wire::Sha256Bytes));
      name.set_sha256(std::to_string(i));
      name.mutable_sha256()->resize(sizeof(wire::Sha256Bytes));
      files.names_.push_back(name);
      files.bytes_.emplace(name.sha256(), std::move(buffer));
    }
    return files;
  }

  const std::vector<wire::pb::LayerFile>& names() const { return names_; }
  std::span<const std::byte> Find(const std::string& sha256) const {
    return bytes_.at(sha256).bytes();
  }

 private:
  std::vector<wire::pb::LayerFile> names_;
  std::map<std::string, AlignedBuffer> bytes_;
};

class MemoryLayers final : public pipeline::LayerStore {
 public:
  MemoryLayers(os::Loop& loop, const LayerFiles& files) : loop_(loop), files_(files) {}

  std::shared_ptr<const pipeline::LayerBytes> Find(const std::string& sha256) override {
    class Bytes final : public pipeline::LayerBytes {
     public:
      explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}
      std::span<const std::byte> bytes() const override { return bytes_; }

     private:
      const std::span<const std::byte> bytes_;
    };
    return std::make_shared<Bytes>(files_.Find(sha256));
  }
  std::vector<std::string> Whole() const override { return {}; }
  void Open(const wire::pb::LayerFile& layer,
            UniqueFunction<void(Result<std::uint32_t>)> done) override {
    loop_.Post([done = std::move(done), chunks = pipeline::ChunkCount(layer.bytes())]() mutable {
      done(chunks);
    });
  }
  void Append(const wire::pb::LayerFile& /*layer*/, std::uint32_t /*chunk*/,
              std::vector<std::byte> /*bytes*/, UniqueFunction<void(Status)> /*done*/) override {
    SHOAL_CHECK(false);  // All are whole.
  }

 private:
  os::Loop& loop_;
  const LayerFiles& files_;
};

class NoStore final : public pipeline::AnswerStore {
 public:
  Status Save(const std::string& /*id*/, std::string_view /*bytes*/) override { return {}; }
  void Remove(const std::string& /*id*/) override {}
  std::vector<std::string> LoadAll() override { return {}; }
};

class NoProbe final : public agent::Probe {
 public:
  void Read(wire::pb::Telemetry& /*telemetry*/) override {}
};

// An event loop on a thread of its own, with a compute thread beside it.
struct Machine {
  explicit Machine(NodeId id, const os::TcpNetwork::Options& options)
      : network(loop, id, options),
        executor([this](UniqueFunction<void()> task) { loop.Post(std::move(task)); }) {}
  ~Machine() { Stop(); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void Start() {
    thread = std::thread([this] { loop.Run(); });
  }
  void Stop() {
    loop.Stop();
    if (thread.joinable()) thread.join();
  }
  Seams seams() { return {loop, network, executor, random}; }

  os::Loop loop;
  os::TcpNetwork network;
  Random random{1};
  Serial serial;
  os::ThreadExecutor executor;
  std::thread thread;
};

class Waiter final : public pipeline::AnswerEvents {
 public:
  void OnToken(std::size_t /*index*/, const llm::SampledToken& token) override {
    tokens_.push_back(token.token);
  }
  void OnEnd(pipeline::AnswerEnd how, const Status& /*status*/) override {
    SHOAL_CHECK(how == pipeline::AnswerEnd::kLength);
    end_.set_value();
  }
  void OnWaiting(const std::string& /*why*/) override {}

  std::vector<std::int32_t> Wait() {
    end_.get_future().wait();
    return tokens_;
  }

 private:
  std::vector<std::int32_t> tokens_;
  std::promise<void> end_;
};

os::TcpNetwork::Options NetworkOptions(const os::Authority* authority, NodeId id) {
  os::TcpNetwork::Options options;
  if (authority != nullptr) {
    const std::string key = *os::MakePrivateKey();
    const auto certificate = *os::IssueCertificate(*authority, id, *os::PublicKeyOf(key));
    options.tls =
        *os::TlsIdentity::Make(authority->certificate_pem, certificate.certificate_pem, key);
  }
  return options;
}

// A head and one node. `authority`: none means plain TCP.
class Cluster {
 public:
  Cluster(const OpenedModel& model, const LayerFiles& files, const os::Authority* authority)
      : head_(kHead, NetworkOptions(authority, kHead)),
        node_(kNode, NetworkOptions(authority, kNode)),
        head_layers_(head_.loop, files),
        node_layers_(node_.loop, files) {
    coordinator::CoordinatorOptions options;
    options.context = kContext;
    options.model.id = "bench";
    options.model.config = llm::SerializeConfig(model.config);
    options.model.layers = files.names();
    options.model.kv_bytes_per_position = 1;
    options.model.positions = kContext;
    options.model.dim = static_cast<std::size_t>(model.config.dim);
    options.model.multiply_adds = 1;
    coordinator_ = std::make_unique<coordinator::Coordinator>(
        head_.seams(), options,
        std::make_shared<pipeline::HeadModel>(
            *llm::ModelHead::Load(model.weights, model.config, head_.serial), head_.serial),
        head_layers_, answers_);
    agent::AgentOptions agent;
    agent.head = kHead;
    agent.head_address = *head_.network.Listen("127.0.0.1:0");
    agent.hello.set_arithmetic(kernels::kKernelRevision);
    agent.hello.set_memory_bytes(std::uint64_t{1} << 40U);
    agent.hello.mutable_profile()->set_weight_bytes_per_second(1e10);
    agent.hello.mutable_profile()->set_operations_per_second(1e11);
    agent_ =
        std::make_unique<agent::Agent>(node_.seams(), agent, node_layers_, probe_, node_.serial);
    head_.Start();
    node_.Start();
  }
  ~Cluster() {
    node_.Stop();
    head_.Stop();
  }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  std::vector<std::int32_t> Answer(std::size_t tokens) {
    Waiter waiter;
    pipeline::Question question;
    question.id = std::to_string(asked_++);
    question.prompt = Prompt();
    question.sampling.temperature = 0;
    question.tokens_max = tokens;
    head_.loop.Post([&] { SHOAL_CHECK(coordinator_->Ask(question, &waiter).ok()); });
    return waiter.Wait();
  }

 private:
  Machine head_;
  Machine node_;
  MemoryLayers head_layers_;
  MemoryLayers node_layers_;
  NoStore answers_;
  NoProbe probe_;
  std::unique_ptr<coordinator::Coordinator> coordinator_;
  std::unique_ptr<agent::Agent> agent_;
  std::uint64_t asked_ = 0;
};

std::vector<std::int32_t> AnswerAlone(llm::Engine& engine, std::size_t tokens) {
  llm::SamplingOptions greedy;
  greedy.temperature = 0;
  llm::Generation generation(engine, greedy, 0);
  generation.Append(Prompt());
  while (generation.history().size() < Prompt().size() + tokens) {
    SHOAL_CHECK(generation.Next().ok());
  }
  return {generation.history().begin() + static_cast<std::ptrdiff_t>(Prompt().size()),
          generation.history().end()};
}

}  // namespace

Result<Report> RunPipelineBench(const PipelineBenchOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(const OpenedModel model, OpenModelFile(options.model));
  Serial serial;
  SHOAL_ASSIGN_OR_RETURN(const std::unique_ptr<llm::Engine> engine,
                         LoadEngine(model, kContext, serial));
  SHOAL_ASSIGN_OR_RETURN(const LayerFiles files, LayerFiles::Make(model));
  const os::Authority authority = *os::MakeAuthority("bench");
  Cluster tls(model, files, &authority);
  Cluster plain(model, files, nullptr);
  const std::vector<std::int32_t> want = AnswerAlone(*engine, options.tokens);
  SHOAL_CHECK(tls.Answer(options.tokens) == want && plain.Answer(options.tokens) == want);
  const std::vector<Contender> contenders = {
      {"pipeline", [&] { tls.Answer(options.tokens); }},
      {"pipeline without TLS", [&] { plain.Answer(options.tokens); }},
      {"engine alone", [&] { AnswerAlone(*engine, options.tokens); }}};
  const std::vector<double> seconds =
      RunInterleaved(contenders, {.turns = options.turns, .turn = {}, .warm_up = false});
  const auto rate = [&](double s) { return static_cast<double>(options.tokens) / s; };
  return Report{.bench = "pipeline",
                .rows = {{.name = "one answer, one stage, one thread",
                          .unit = "tokens/s",
                          .higher_is_better = true,
                          .ours = rate(seconds[0]),
                          .peers = {{contenders[1].name, rate(seconds[1])},
                                    {contenders[2].name, rate(seconds[2])}},
                          .limit = {}}}};
}

}  // namespace shoal::bench
