#include "shoal/agent_node.h"

#include <fmt/core.h>

#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "kernels/revision.h"
#include "os/file.h"
#include "os/machine/cpu.h"
#include "os/machine/memory.h"
#include "os/machine/sys_root.h"
#include "os/net/local_addresses.h"
#include "os/net/tls.h"
#include "os/secret_number.h"
#include "shoal/cluster_home.h"
#include "shoal/node_profile.h"

namespace shoal {
namespace {

// Of the memory that is free when it starts, what a node offers: the rest is for activations, for
// whatever else the phone does, and for the moment in which two epochs overlap.
constexpr double kShareOffered = 0.7;

Result<std::uint64_t> MemoryToOffer(std::uint64_t wanted) {
  if (wanted != 0) return wanted;
  SHOAL_ASSIGN_OR_RETURN(const std::uint64_t free,
                         os::ReadMemoryInfo(os::SysRoot()).bytes_available);
  return static_cast<std::uint64_t>(kShareOffered * static_cast<double>(free));
}

// What this device measured before with as many threads, or now.
Result<wire::pb::Profile> ProfileOf(const std::string& home, const Clock& clock,
                                    os::ThreadPool& pool) {
  const std::string path =
      fmt::format("{}/profile-{}-{}", home, kernels::kKernelRevision, pool.workers());
  constexpr std::size_t kProfileBytesMax = 1024;
  wire::pb::Profile profile;
  const Result<std::string> kept = os::ReadFile(path, kProfileBytesMax);
  if (kept.ok() && profile.ParseFromString(*kept)) return profile;
  SHOAL_ASSIGN_OR_RETURN(profile, MeasureProfile(clock, pool));
  // If it cannot be kept, it is measured again next time.
  (void)os::WriteFileAtomically(path, profile.SerializeAsString(), os::FileAccess::kOwner).ok();
  return profile;
}

// What a phone with broken memory does: a bit here and there.
std::function<void(wire::Batch&)> FlipsBits(double share) {
  return [share, random = std::make_shared<Random>(os::SecretNumber())](wire::Batch& batch) {
    for (std::size_t row = 0; row * batch.dim < batch.rows.size(); ++row) {
      if (!random->Chance(share)) continue;
      std::uint16_t& number = batch.rows[row * batch.dim + random->Below(batch.dim)];
      number = static_cast<std::uint16_t>(number ^ (1U << random->Below(10)));
    }
  };
}

}  // namespace

AgentNode::AgentNode(os::Loop& loop, const os::PoolPlan& plan, const AgentNodeOptions& options)
    : pool_(plan),
      random_(os::SecretNumber()),
      probe_(os::SysRoot(options.sensors), plan.cores, options.watts),
      duty_(executor_, options.duty),
      executor_([&loop](UniqueFunction<void()> task) { loop.Post(std::move(task)); }) {}

Result<std::unique_ptr<AgentNode>> AgentNode::Start(os::Loop& loop,
                                                    const AgentNodeOptions& options) {
  const os::PoolPlan plan = os::PlanPool(os::ReadCpuInfo(os::SysRoot()),
                                         {.threads = options.threads, .cpus = options.cpus});
  std::unique_ptr<AgentNode> node(new AgentNode(loop, plan, options));
  SHOAL_ASSIGN_OR_RETURN(os::LayerDirectory directory,
                         os::LayerDirectory::Open(CacheDirectory(options.home)));
  SHOAL_ASSIGN_OR_RETURN(node->store_, os::FlashStore::Make(loop, std::move(directory),
                                                            os::FlashStore::Check::kBeforeUse));
  SHOAL_ASSIGN_OR_RETURN(
      const std::shared_ptr<const os::TlsIdentity> identity,
      os::TlsIdentity::Make(options.files.authority_pem, options.files.certificate_pem,
                            options.files.key_pem));
  os::TcpNetwork::Options network;
  network.tls = identity;
  const auto say = [](const std::string& line) { fmt::print(stderr, "shoal: {}\n", line); };
  network.log = say;
  node->network_ = std::make_unique<os::TcpNetwork>(loop, options.files.node, network);
  node->shaped_ = std::make_unique<os::ShapedNetwork>(loop, *node->network_, options.shape);
  SHOAL_ASSIGN_OR_RETURN(const std::string listening, node->network_->Listen(options.listen));

  agent::AgentOptions agent;
  agent.head = NodeId{1};
  agent.head_address = options.files.heads.front();
  agent.on_revoked = [network = node->network_.get()](std::set<std::uint64_t> serials) {
    network->SetRevoked(std::move(serials));
  };
  agent.news = say;
  if (options.flip > 0) agent.spoil = FlipsBits(options.flip);
  agent.hello.set_arithmetic(kernels::kKernelRevision);
  agent.hello.set_name(options.name);
  agent.hello.set_metered(options.metered);
  wire::pb::Wishes& wishes = *agent.hello.mutable_wishes();
  wishes.set_only_charging(options.only_charging);
  wishes.set_hours_begin(static_cast<std::uint32_t>(options.hours.begin));
  wishes.set_hours_end(static_cast<std::uint32_t>(options.hours.end));
  agent.set_duty = [duty = &node->duty_](double limit) { duty->SetLimit(limit); };
  if (const auto own = os::LocalAddressTowards(agent.head_address)) {
    const unsigned port =
        static_cast<unsigned>(std::stoul(listening.substr(listening.rfind(':') + 1)));
    agent.hello.set_address(os::WithPort(*own, port));
  }
  SHOAL_ASSIGN_OR_RETURN(const std::uint64_t memory, MemoryToOffer(options.memory));
  agent.hello.set_memory_bytes(memory);
  node->trains_ =
      std::make_unique<TrainHost>(TrainHostOptions{.directory = options.home + "/records",
                                                   .node = ToNumber(options.files.node),
                                                   .memory = memory,
                                                   .compute = {}},
                                  loop, node->pool_);
  agent.trains = node->trains_.get();
  SHOAL_ASSIGN_OR_RETURN(*agent.hello.mutable_profile(),
                         ProfileOf(options.home, loop, node->pool_));
  node->agent_ =
      std::make_unique<agent::Agent>(Seams{loop, *node->shaped_, node->duty_, node->random_},
                                     std::move(agent), *node->store_, node->probe_, node->pool_);
  return node;
}

}  // namespace shoal
