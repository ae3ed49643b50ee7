// `shoal serve`: the head of a cluster: it knows the nodes, keeps a model spread over them, and
// answers.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/door.h"
#include "base/random.h"
#include "coordinator/coordinator.h"
#include "coordinator/energy.h"
#include "llm/model_head.h"
#include "llm/model_size.h"
#include "os/cluster/file_lock.h"
#include "os/cluster/head_directory.h"
#include "os/flash/flash_store.h"
#include "os/loop.h"
#include "os/machine/cpu.h"
#include "os/machine/sys_root.h"
#include "os/net/enrol_server.h"
#include "os/net/http_server.h"
#include "os/net/shaped_network.h"
#include "os/net/tcp_network.h"
#include "os/secret_number.h"
#include "os/thread_executor.h"
#include "os/thread_pool.h"
#include "os/wall_clock.h"
#include "shoal/answer_files.h"
#include "shoal/cluster_home.h"
#include "shoal/cluster_status.h"
#include "shoal/commands.h"
#include "shoal/door_adapter.h"
#include "shoal/language_model.h"
#include "shoal/link_shape.h"
#include "shoal/model_files.h"
#include "shoal/objective_option.h"
#include "shoal/prepared_model.h"
#include "shoal/serve_file.h"
#include "shoal/tokenizer_files.h"

namespace shoal {
namespace {

struct ServeOptions {
  LanguageModelOptions model;
  std::string dir;
  std::string listen = fmt::format("0.0.0.0:{}", kClusterPort);
  std::string enrol = fmt::format("0.0.0.0:{}", kEnrolPort);
  std::string http = "127.0.0.1:8080";
  std::size_t positions = 0;
  pipeline::PlanWish wish;
  std::size_t guesses = 4;
  std::size_t chunk = 16;
  os::LinkShape shape;
  coordinator::Tariff tariff;
  double audit = 0;              // Of all work, what is computed again.
  std::size_t trusted_ends = 0;  // So many layers at each end are for trusted nodes.
  std::optional<double> watts;   // That the head takes, if its owner says so.
};

// Many short answers at once, whatever the context.
constexpr std::size_t kPositionsLeast = 8192;

// Where it cannot listen, which option chooses another place.
Result<std::string> Opened(Result<std::string> address, const char* option) {
  if (address.ok()) return address;
  return Status(address.status().code(), fmt::format("{}; choose another address with {} HOST:PORT",
                                                     address.status().message(), option));
}

// Everything that a head is, in the order in which it is made.
class Head {
 public:
  static Result<std::unique_ptr<Head>> Start(const ServeOptions& options);

  void Run() { loop_.Run(); }

 private:
  Head(os::HeadDirectory directory, os::FileLock lock, OpenedModel model, const os::PoolPlan& plan)
      : directory_(std::move(directory)),
        lock_(std::move(lock)),
        model_(std::move(model)),
        pool_(plan),
        // Ids of answers are as good as passwords.
        random_(os::SecretNumber()),
        executor_([this](UniqueFunction<void()> task) { loop_.Post(std::move(task)); }) {}

  static void Say(const std::string& line) {
    fmt::print("{}\n", line);
    std::fflush(stdout);
  }
  Result<coordinator::CoordinatorOptions> PlanModel(const ServeOptions& options);
  Status Listen(const ServeOptions& options);

  os::Loop loop_;
  os::HeadDirectory directory_;
  os::FileLock lock_;
  OpenedModel model_;
  os::ThreadPool pool_;
  Random random_;
  std::unique_ptr<os::FlashStore> layers_;
  std::unique_ptr<AnswerFiles> answers_;
  std::unique_ptr<os::TcpNetwork> network_;
  std::unique_ptr<os::ShapedNetwork> shaped_;
  os::ThreadExecutor executor_;
  std::unique_ptr<coordinator::Coordinator> coordinator_;
  std::unique_ptr<ClusterStatus> status_;
  std::unique_ptr<api::AdminDoor> admin_;
  std::unique_ptr<api::Door> door_;
  std::unique_ptr<os::EnrolServer> enrol_;
  std::unique_ptr<os::HttpServer> http_;
};

Result<coordinator::CoordinatorOptions> Head::PlanModel(const ServeOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(os::LayerDirectory directory,
                         os::LayerDirectory::Open(CacheDirectory(directory_.path())));
  SHOAL_ASSIGN_OR_RETURN(
      PreparedModel prepared,
      PrepareModel(model_, directory, pool_, [](std::size_t made, std::size_t layers) {
        fmt::print(stderr, "\rpreparing layers: {} of {}{}", made, layers,
                   made == layers ? "\n" : "");
      }));
  SHOAL_ASSIGN_OR_RETURN(layers_, os::FlashStore::Make(loop_, std::move(directory),
                                                       os::FlashStore::Check::kByReceivers));
  const llm::ModelConfig& config = model_.config;
  coordinator::CoordinatorOptions plan;
  plan.context =
      options.model.context != 0 ? options.model.context : static_cast<std::size_t>(config.context);
  plan.model.id = prepared.id;
  plan.model.config = std::move(prepared.config);
  plan.model.layers = std::move(prepared.layers);
  plan.model.kv = static_cast<std::uint32_t>(options.model.kv);
  plan.model.kv_bytes_per_position =
      2 * static_cast<std::uint64_t>(config.kv_heads) *
      kernels::KvRowBytes(options.model.kv, static_cast<std::size_t>(config.head_dim));
  plan.model.positions = options.positions != 0
                             ? options.positions
                             : std::max<std::size_t>(4 * plan.context, kPositionsLeast);
  const llm::RowWork row = llm::MeasureRow(config);
  plan.model.dim = static_cast<std::size_t>(config.dim);
  plan.model.multiply_adds = row.multiply_adds;
  plan.model.row_share = row.share;
  plan.model.wish = options.wish;
  plan.model.wish.chunk = options.chunk;
  plan.replica.guesses = options.guesses;
  plan.replica.chunk = options.chunk;
  plan.news = Say;
  plan.unix_time = os::UnixNow;
  plan.accounts = {.local_day = os::LocalDayNow, .head_watts = options.watts};
  plan.local_minute = os::LocalMinute;
  SHOAL_ASSIGN_OR_RETURN(const std::vector<os::MemberRecord> members, directory_.Members());
  for (const os::MemberRecord& member : members) {
    plan.rules[member.id] = member.rules;
    if (!member.quarantine.empty()) plan.quarantined[member.id] = member.quarantine;
  }
  plan.audit = options.audit;
  plan.model.trusted_ends = options.trusted_ends;
  plan.on_quarantine = [this](NodeId node, const std::string& evidence) {
    const Status status = directory_.SetQuarantine(node, evidence);
    if (!status.ok()) Say("the quarantine is forgotten at a restart: " + status.ToString());
  };
  SHOAL_ASSIGN_OR_RETURN(plan.revoked, directory_.RevokedSerials());
  return plan;
}

Result<std::unique_ptr<Head>> Head::Start(const ServeOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(const std::string home, ClusterHome(options.dir));
  SHOAL_ASSIGN_OR_RETURN(os::HeadDirectory directory, os::HeadDirectory::Open(home));
  SHOAL_ASSIGN_OR_RETURN(os::FileLock lock, directory.LockForServing());
  SHOAL_ASSIGN_OR_RETURN(OpenedModel model, OpenModel(options.model.model));
  SHOAL_ASSIGN_OR_RETURN(llm::Tokenizer tokenizer,
                         OpenTokenizer(options.model.tokenizer.empty() ? options.model.model
                                                                       : options.model.tokenizer));
  std::string name = model.name.empty() ? options.model.model : model.name;
  std::unique_ptr<Head> head(
      new Head(std::move(directory), std::move(lock), std::move(model),
               os::PlanPool(os::ReadCpuInfo(os::SysRoot()), {.threads = options.model.threads})));
  SHOAL_ASSIGN_OR_RETURN(coordinator::CoordinatorOptions plan, head->PlanModel(options));
  SHOAL_ASSIGN_OR_RETURN(
      llm::ModelHead model_head,
      llm::ModelHead::Load(head->model_.weights, head->model_.config, head->pool_));
  SHOAL_ASSIGN_OR_RETURN(AnswerFiles answers, AnswerFiles::Open(home + "/answers"));
  head->answers_ = std::make_unique<AnswerFiles>(std::move(answers));

  os::TcpNetwork::Options network;
  network.tls = head->directory_.identity();
  network.judge_dates = true;
  network.log = Say;
  head->network_ = std::make_unique<os::TcpNetwork>(head->loop_, NodeId{1}, network);
  head->network_->SetRevoked(plan.revoked);
  head->shaped_ = std::make_unique<os::ShapedNetwork>(head->loop_, *head->network_, options.shape);
  head->coordinator_ = std::make_unique<coordinator::Coordinator>(
      Seams{head->loop_, *head->shaped_, head->executor_, head->random_}, std::move(plan),
      std::make_shared<pipeline::HeadModel>(std::move(model_head), head->pool_), *head->layers_,
      *head->answers_);
  head->status_ = std::make_unique<ClusterStatus>(
      head->loop_, *head->coordinator_, head->directory_, *head->network_,
      ClusterStatusOptions{.model = name,
                           .layers = static_cast<std::size_t>(head->model_.config.layers),
                           .tariff = options.tariff,
                           .audited = options.audit > 0});
  head->admin_ = std::make_unique<api::AdminDoor>(*head->status_, head->directory_.admin_key());
  SHOAL_ASSIGN_OR_RETURN(api::ServedModel served,
                         api::MakeServedModel(name, std::move(tokenizer), os::UnixNow()));
  head->door_ =
      std::make_unique<api::Door>(api::DoorWorld{.answers = *head->coordinator_,
                                                 .health = *head->status_,
                                                 .admin = head->admin_.get(),
                                                 .random = head->random_,
                                                 .unix_time = os::UnixNow,
                                                 .grams_per_kwh = options.tariff.grams_per_kwh},
                                  std::move(served));
  SHOAL_RETURN_IF_ERROR(head->Listen(options));
  return head;
}

Status Head::Listen(const ServeOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(const std::string cluster,
                         Opened(network_->Listen(options.listen), "--listen"));
  os::EnrolServer::Options enrol;
  enrol.cluster_port =
      static_cast<std::uint16_t>(std::stoul(cluster.substr(cluster.rfind(':') + 1)));
  enrol.program_version = SHOAL_VERSION;
  enrol.log = Say;
  enrol_ = std::make_unique<os::EnrolServer>(loop_, directory_, std::move(enrol));
  SHOAL_ASSIGN_OR_RETURN(const std::string door, Opened(enrol_->Listen(options.enrol), "--enrol"));
  http_ = std::make_unique<os::HttpServer>(loop_, os::HttpServer::Options{}, HandlerOf(*door_));
  SHOAL_ASSIGN_OR_RETURN(const std::string http, http_->Listen(options.http));
  Say(fmt::format("serving {}: {} layers; members at {}, new ones at {} (see `shoal token`)",
                  model_.name.empty() ? options.model.model : model_.name, model_.config.layers,
                  cluster, door));
  SHOAL_RETURN_IF_ERROR(
      WriteServeFile(directory_.path(), {.cluster = cluster, .enrol = door, .http = http}));
  Say(fmt::format("answers at http://{}/v1/chat/completions", http));
  return {};
}

// "5%" or "0.05".
double ParseShare(const std::string& text) {
  double value = 0;
  const bool percent = text.ends_with('%');
  const char* const end = text.data() + text.size() - (percent ? 1 : 0);
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (percent) value /= 100;
  if (error != std::errc() || stop != end || !(value >= 0 && value <= 1)) {
    throw CLI::ValidationError(fmt::format("--audit {}: wanted a share such as 5% or 0.05", text));
  }
  return value;
}

// "ends": two layers at each; "ends:4": so many.
std::size_t ParseTrust(const std::string& text) {
  constexpr std::size_t kEndsUsual = 2;
  constexpr std::size_t kEndsMax = 1024;
  if (text == "ends") return kEndsUsual;
  std::size_t ends = 0;
  const std::string number = text.starts_with("ends:") ? text.substr(5) : "";
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), ends);
  if (error != std::errc() || stop != number.data() + number.size() || ends == 0 ||
      ends > kEndsMax) {
    throw CLI::ValidationError(
        fmt::format("--trust {}: wanted ends, or ends:4 for four layers at each end", text));
  }
  return ends;
}

void AddTrustOptions(CLI::App& command, ServeOptions& options) {
  command
      .add_option_function<std::string>(
          "--audit", [&options](const std::string& text) { options.audit = ParseShare(text); },
          "Compute this share of the nodes' work again elsewhere, such as 5%, to find phones that "
          "compute wrongly")
      ->type_name("SHARE");
  command
      .add_option_function<std::string>(
          "--trust",
          [&options](const std::string& text) { options.trusted_ends = ParseTrust(text); },
          "ends, or ends:K: the first and last K layers (2) only on nodes that were set --trusted")
      ->type_name("WORD");
}

void AddEnergyOptions(CLI::App& command, ServeOptions& options) {
  command
      .add_option("--watts", options.watts,
                  "What this device takes, W; without it, energy figures are those of the nodes")
      ->check(CLI::Range(0.0, coordinator::EnergyLedger::kWattsMax));
  command.add_option("--grid", options.tariff.grams_per_kwh, "What the grid emits, g CO2e per kWh")
      ->check(CLI::Range(0.0, 10'000.0));
  command.add_option("--price", options.tariff.price_per_kwh, "What a kWh costs")
      ->check(CLI::Range(0.0, 1e6));
  options.tariff.currency = "EUR";
  command.add_option("--currency", options.tariff.currency, "Of that price")->capture_default_str();
}

}  // namespace

void AddServe(CLI::App& app) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command = app.add_subcommand("serve", "Spread a model over the cluster, and answer");
  AddLanguageModelOptions(*command, options->model);
  AddDirOption(*command, options->dir);
  command->add_option("--listen", options->listen, "Where members dial")->capture_default_str();
  command->add_option("--enrol", options->enrol, "Where new members knock")->capture_default_str();
  command->add_option("--http", options->http, "Where answers are given")->capture_default_str();
  command
      ->add_option("--positions", options->positions,
                   "Tokens of all answers together that every node keeps in mind; four contexts "
                   "unless given")
      ->check(CLI::Range(1, 1 << 24));
  command
      ->add_option("--stages", options->wish.stages,
                   "Cut the model into so many parts; 0: by itself")
      ->check(CLI::Range(0, 1024));
  command
      ->add_option("--replicas", options->wish.replicas_max,
                   "At most so many pipelines side by side; 0: as many as the nodes give")
      ->check(CLI::Range(0, 1024));
  AddObjectiveOption(*command, options->wish.objective);
  command->add_option("--guesses", options->guesses, "Tokens to guess ahead; 0: none")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  command->add_option("--chunk", options->chunk, "Tokens of prompts in one batch")
      ->check(CLI::Range(1, 512))
      ->capture_default_str();
  AddTrustOptions(*command, *options);
  AddLinkShapeOptions(*command, options->shape);
  AddEnergyOptions(*command, *options);
  command->callback([options] {
    Result<std::unique_ptr<Head>> head = Head::Start(*options);
    if (!head.ok()) ExitOnError(head.status());
    (*head)->Run();
  });
}

}  // namespace shoal
