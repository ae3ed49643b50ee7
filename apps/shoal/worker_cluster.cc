#include "shoal/worker_cluster.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "os/machine/cpu.h"
#include "os/machine/sys_root.h"
#include "os/wall_clock.h"
#include "shoal/cluster_home.h"
#include "shoal/serve_file.h"
#include "wire/join_token.h"

namespace shoal {
namespace {

// A worker that stays silent for so long is lost: three seconds are all that a step may take longer
// for it, and the sums have to be made again in them.
constexpr Duration kSilenceMax = std::chrono::milliseconds(1800);
constexpr Duration kPing = std::chrono::milliseconds(300);

}  // namespace

Status WorkerCluster::Open() {
  SHOAL_RETURN_IF_ERROR(OpenDirectory());
  os::TcpNetwork::Options options;
  options.tls = directory_->identity();
  options.judge_dates = true;
  options.ping_interval = kPing;
  options.silence_max = kSilenceMax;
  options.log = options_.say;
  network_ = std::make_unique<os::TcpNetwork>(loop_, kHeadNode, std::move(options));
  SHOAL_ASSIGN_OR_RETURN(std::set<std::uint64_t> revoked, directory_->RevokedSerials());
  network_->SetRevoked(std::move(revoked));
  return {};
}

// For processes of this machine a cluster of its own, made when there is none; else the one that
// `shoal init` made.
Status WorkerCluster::OpenDirectory() {
  SHOAL_ASSIGN_OR_RETURN(dir_, ClusterHome(options_.dir));
  if (local()) {
    if (options_.dir.empty()) dir_ += "/" + options_.own_folder;
    const std::string head = dir_ + "/head";
    std::error_code error;
    std::filesystem::create_directories(head, error);
    if (error) return {Code::kUnavailable, head + ": " + error.message()};
    if (os::HeadDirectory::Open(head).status().code() == Code::kNotFound) {
      SHOAL_RETURN_IF_ERROR(os::HeadDirectory::Create(head, options_.own_folder, os::UnixNow()));
    }
    SHOAL_ASSIGN_OR_RETURN(directory_, os::HeadDirectory::Open(head));
  } else {
    SHOAL_ASSIGN_OR_RETURN(directory_, os::HeadDirectory::Open(dir_));
  }
  SHOAL_ASSIGN_OR_RETURN(lock_, directory_->LockForServing());
  return {};
}

Status WorkerCluster::Start() {
  SHOAL_RETURN_IF_ERROR(Listen());
  return local() ? StartWorkers() : Status();
}

Status WorkerCluster::Listen() {
  const auto address = [&](const std::string& given, std::uint16_t port) {
    if (!given.empty()) return given;
    return local() ? std::string("127.0.0.1:0") : fmt::format("0.0.0.0:{}", port);
  };
  SHOAL_ASSIGN_OR_RETURN(address_, network_->Listen(address(options_.listen, kClusterPort)));
  os::EnrolServer::Options enrol;
  enrol.cluster_port =
      static_cast<std::uint16_t>(std::stoul(address_.substr(address_.rfind(':') + 1)));
  enrol.program_version = SHOAL_VERSION;
  enrol.log = [](const std::string&) {};
  if (!local() && options_.say) enrol.log = options_.say;
  enrol_ = std::make_unique<os::EnrolServer>(loop_, *directory_, std::move(enrol));
  SHOAL_ASSIGN_OR_RETURN(enrol_address_, enrol_->Listen(address(options_.enrol, kEnrolPort)));
  return WriteServeFile(directory_->path(),
                        {.cluster = address_, .enrol = enrol_address_, .http = ""});
}

Status WorkerCluster::StartWorkers() {
  constexpr os::UnixTime kTokenSeconds = 3600;
  const std::size_t count = options_.workers;
  SHOAL_ASSIGN_OR_RETURN(const wire::JoinToken token,
                         directory_->MakeToken(count, kTokenSeconds, os::UnixNow()));
  const std::size_t cores = os::ReadCpuInfo(os::SysRoot()).cores.size();
  const std::size_t threads =
      options_.threads > 0 ? options_.threads : std::max<std::size_t>(cores / count, 1);
  SHOAL_ASSIGN_OR_RETURN(workers_, StartLocalWorkers({.count = count,
                                                      .threads = threads,
                                                      .dir = dir_,
                                                      .enrol = enrol_address_,
                                                      .token = wire::EncodeJoinToken(token),
                                                      .memory = options_.memory,
                                                      .options = options_.worker_options,
                                                      .options_of_all = options_.options_of_all,
                                                      .quiet = options_.quiet_workers}));
  return {};
}

std::optional<std::size_t> WorkerCluster::Look() {
  if (workers_ == nullptr) return std::nullopt;
  for (const std::string& line : workers_->TakeEnded()) {
    if (options_.say) options_.say(line);
  }
  return workers_->running();
}

}  // namespace shoal
