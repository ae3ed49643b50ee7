// WorkerCluster: the head's end of a cluster whose members do what they are told: train, or try out
// their links. Either those of the cluster in a directory (`shoal init`), or processes of this
// machine, which get a cluster of their own.
//
// Belongs to one loop.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "os/cluster/file_lock.h"
#include "os/cluster/head_directory.h"
#include "os/loop.h"
#include "os/net/enrol_server.h"
#include "os/net/tcp_network.h"
#include "shoal/local_workers.h"

namespace shoal {

struct WorkerClusterOptions {
  std::size_t workers = 0;  // Processes to start on this machine; 0: the members of --dir.
  std::string dir;          // Empty: ClusterHome's.
  std::string own_folder;   // In it, of the cluster that `workers` get.
  std::string listen;
  std::string enrol;
  std::size_t threads = 0;                  // Of all workers' processes together; 0: all cores.
  std::string memory;                       // Of each.
  std::vector<std::string> worker_options;  // "2=--duty 0.3"
  std::vector<std::string> options_of_all = {};  // "--megabits", "100"
  bool quiet_workers = false;
  std::function<void(const std::string&)> say = {};  // News.
};

class WorkerCluster {
 public:
  // `loop` outlives it.
  WorkerCluster(os::Loop& loop, WorkerClusterOptions options)
      : loop_(loop), options_(std::move(options)) {}

  // Finds the cluster, or makes it, and the network, to which events can be attached then.
  Status Open();
  // From here on members come; those of this machine are started.
  Status Start();
  Network& network() { return *network_; }
  // Where members dial and where new ones knock.
  const std::string& address() const { return address_; }
  const std::string& enrol_address() const { return enrol_address_; }

  // Says which processes have ended. How many still run; none: the workers are no processes of
  // ours.
  std::optional<std::size_t> Look();

 private:
  Status OpenDirectory();
  Status Listen();
  Status StartWorkers();
  bool local() const { return options_.workers > 0; }

  os::Loop& loop_;
  const WorkerClusterOptions options_;
  std::string dir_;
  std::optional<os::HeadDirectory> directory_;
  std::optional<os::FileLock> lock_;
  std::unique_ptr<os::TcpNetwork> network_;
  std::unique_ptr<os::EnrolServer> enrol_;
  std::string address_;
  std::string enrol_address_;
  std::unique_ptr<LocalWorkers> workers_;
};

}  // namespace shoal
