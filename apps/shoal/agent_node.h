// AgentNode: a member of a cluster as it runs on a real device: its agent, with network, threads,
// flash and sensors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "agent/agent.h"
#include "base/random.h"
#include "base/status.h"
#include "base/work_rules.h"
#include "os/cluster/node_directory.h"
#include "os/duty_executor.h"
#include "os/flash/flash_store.h"
#include "os/loop.h"
#include "os/net/shaped_network.h"
#include "os/net/tcp_network.h"
#include "os/thread_executor.h"
#include "os/thread_pool.h"
#include "shoal/machine_probe.h"
#include "shoal/train_host.h"

namespace shoal {

struct AgentNodeOptions {
  std::string home;          // The directory of its membership.
  os::NodeFiles files;       // What is in it.
  std::string name;          // What people call it.
  std::size_t threads = 0;   // 0: one for each fast core.
  std::size_t cpus = 0;      // Cores that it may take; 0: all.
  std::uint64_t memory = 0;  // For weights, keys and values; 0: most of what is free.
  double duty = 1;           // Of the time, how much it computes.
  double watts = 0;          // That it takes, if nothing measures it; 0: not known.
  double flip = 0;           // For trials: of the rows that it makes, how many have a wrong bit.
  bool metered = false;
  bool only_charging = false;
  DayHours hours;                    // When it may work, by the head's clock.
  std::string sensors = "/";         // Below which /proc and /sys are.
  std::string listen = "0.0.0.0:0";  // For neighbours.
  os::LinkShape shape;
};

// Belongs to its loop.
class AgentNode {
 public:
  // Measures the device first, about half a second, or reads what an earlier run measured.
  static Result<std::unique_ptr<AgentNode>> Start(os::Loop& loop, const AgentNodeOptions& options);

 private:
  AgentNode(os::Loop& loop, const os::PoolPlan& plan, const AgentNodeOptions& options);

  os::ThreadPool pool_;
  Random random_;
  MachineProbe probe_;
  std::unique_ptr<os::FlashStore> store_;
  std::unique_ptr<os::TcpNetwork> network_;
  std::unique_ptr<os::ShapedNetwork> shaped_;
  std::unique_ptr<TrainHost> trains_;
  std::unique_ptr<agent::Agent> agent_;
  os::DutyExecutor duty_;
  os::ThreadExecutor executor_;  // Last: its thread uses the others.
};

}  // namespace shoal
