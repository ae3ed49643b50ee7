// `shoal doctor`: what this machine is, what it can do, and what its owner should know.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "os/loop.h"
#include "os/machine/sys_root.h"
#include "os/net/tcp_network.h"
#include "os/thread_pool.h"
#include "shoal/cluster_doctor.h"
#include "shoal/cluster_home.h"
#include "shoal/commands.h"
#include "shoal/doctor_report.h"
#include "shoal/head_call.h"
#include "shoal/link_speed.h"
#include "shoal/status_fields.h"

namespace shoal {
namespace {

struct DoctorOptions {
  bool json = false;
  bool cluster = false;
  std::string dir;
  std::string listen;
  std::string link;
  std::size_t threads = 0;
};

// A buffer that leaves the system enough to breathe.
std::size_t MemoryForTheTest(const os::MemoryInfo& memory) {
  if (!memory.bytes_available.ok()) return kMemoryBytesMin;
  return static_cast<std::size_t>(*memory.bytes_available / 8);
}

bool OnBattery(const os::Sensors& sensors) {
  return sensors.battery.ok() && sensors.battery->status.ok() &&
         *sensors.battery->status == os::ChargeStatus::kDischarging;
}

Result<DoctorReport> Examine(const DoctorOptions& options) {
  os::Loop loop;
  DoctorReport report{.machine = os::ReadMachineInfo(os::SysRoot()),
                      .pool = {},
                      .speeds = {},
                      .link = {},
                      .advice = {},
                      .warning = {}};
  const os::Sensors& sensors = report.machine.sensors;
  report.pool = os::PlanPool(report.machine.cpu,
                             {.threads = options.threads, .power_saving = OnBattery(sensors)});
  if (!options.link.empty()) {
    SHOAL_ASSIGN_OR_RETURN(report.link, MeasureLink(loop, options.link));
  }
  os::ThreadPool pool(report.pool);
  pool.PinCaller();
  SHOAL_ASSIGN_OR_RETURN(report.speeds,
                         MeasureSpeeds(loop, pool, MemoryForTheTest(sensors.memory)));
  report.advice = os::AdviseOwner(report.machine);
  report.warning = os::WarnOfBattery(report.machine);
  return report;
}

Status Listen(const std::string& address) {
  os::Loop loop;
  os::TcpNetwork network(loop, kLinkResponder, {});
  LinkResponder responder(network);
  SHOAL_ASSIGN_OR_RETURN(const std::string bound, network.Listen(address));
  fmt::print(
      "answering link tests at {}; on the other machine:\n"
      "  shoal doctor --link ADDRESS{}\nCtrl-C ends it.\n",
      bound, bound.substr(bound.rfind(':')));
  std::fflush(stdout);
  loop.Run();
  return {};
}

// How many findings there are.
Result<std::size_t> ExamineCluster(const DoctorOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(const nlohmann::json report, CallHead(options.dir, "/shoal/status"));
  const std::vector<Finding> findings = Diagnose(report);
  if (options.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Finding& finding : findings) {
      list.push_back(
          {{"who", finding.who}, {"problem", finding.problem}, {"advice", finding.advice}});
    }
    fmt::print("{}\n", nlohmann::ordered_json({{"findings", std::move(list)}}).dump(2));
    return findings.size();
  }
  for (const Finding& finding : findings) fmt::print("{}\n", ToText(finding));
  if (findings.empty()) fmt::print("All {} nodes are well.\n", ListAt(report, "nodes").size());
  return findings.size();
}

Status RunDoctor(const DoctorOptions& options) {
  if (options.cluster) {
    SHOAL_ASSIGN_OR_RETURN(const std::size_t findings, ExamineCluster(options));
    if (findings > 0) throw CLI::RuntimeError(1);  // Said already.
    return {};
  }
  if (!options.listen.empty()) return Listen(options.listen);
  SHOAL_ASSIGN_OR_RETURN(const DoctorReport report, Examine(options));
  fmt::print("{}", options.json ? ToJson(report).dump(2) + "\n" : ToText(report));
  return {};
}

}  // namespace

void AddDoctor(CLI::App& app) {
  auto options = std::make_shared<DoctorOptions>();  // Lives as long as the callback.
  CLI::App* command =
      app.add_subcommand("doctor", "Examine this machine: cores, sensors, speed, links");
  command->add_flag("--json", options->json, "Print one JSON object");
  command->add_option("--threads", options->threads, "Compute with this many threads")
      ->check(CLI::Range(std::size_t{1}, os::kPoolThreadsMax));
  CLI::Option* listen =
      command->add_option("--listen", options->listen, "Answer link tests at this address")
          ->expected(0, 1)
          ->default_str("0.0.0.0:7410")
          ->type_name("ADDRESS:PORT");
  command->add_option("--link", options->link, "Test the link to a machine that listens")
      ->type_name("ADDRESS:PORT")
      ->excludes(listen);
  command->add_flag("--cluster", options->cluster,
                    "Examine the cluster whose head runs here; fails if a node is sick");
  AddDirOption(*command, options->dir);
  command->callback([options] { ExitOnError(RunDoctor(*options)); });
}

}  // namespace shoal
