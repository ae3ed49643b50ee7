// `shoal up`: a whole cluster of real processes on this machine, for trying it out.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "os/cluster/head_directory.h"
#include "os/loop.h"
#include "os/wall_clock.h"
#include "shoal/by_node.h"
#include "shoal/child_process.h"
#include "shoal/cluster_home.h"
#include "shoal/commands.h"
#include "shoal/objective_option.h"
#include "shoal/plan_report.h"
#include "shoal/serve_file.h"
#include "wire/join_token.h"

namespace shoal {
namespace {

struct UpOptions {
  std::string model;
  std::string dir;
  std::size_t nodes = 5;
  std::string http = "127.0.0.1:8080";
  std::size_t threads = 1;
  std::string memory;
  pipeline::PlanWish wish;
  std::string delay_ms;
  std::string megabits;
  std::vector<std::string> runners;       // "3=qemu-aarch64-static shoal-arm64"
  std::vector<std::string> node_options;  // "2=--target ref"
  std::vector<std::string> serve;         // Passed on to `shoal serve`.
};

class Cluster {
 public:
  static Status Run(const UpOptions& options) {
    Cluster cluster(options);
    SHOAL_ASSIGN_OR_RETURN(cluster.runners_,
                           ParseByNode("--runner", options.runners, options.nodes));
    SHOAL_ASSIGN_OR_RETURN(cluster.node_options_,
                           ParseByNode("--node-options", options.node_options, options.nodes));
    SHOAL_ASSIGN_OR_RETURN(cluster.program_, OwnProgram());
    SHOAL_ASSIGN_OR_RETURN(const std::string home, ClusterHome(options.dir));
    cluster.dir_ = options.dir.empty() ? home + "/up" : home;
    SHOAL_RETURN_IF_ERROR(cluster.StartHead());
    SHOAL_RETURN_IF_ERROR(cluster.StartNodes());
    return cluster.Watch();
  }

 private:
  explicit Cluster(const UpOptions& options) : options_(options) {}

  void AddShape(std::vector<std::string>& command) const {
    if (!options_.delay_ms.empty()) {
      command.insert(command.end(), {"--delay-ms", options_.delay_ms});
    }
    if (!options_.megabits.empty()) {
      command.insert(command.end(), {"--megabits", options_.megabits});
    }
  }

  Status StartHead() {
    const std::string home = dir_ + "/head";
    std::error_code error;
    std::filesystem::create_directories(home, error);
    if (error) return {Code::kUnavailable, home + ": " + error.message()};
    Result<os::HeadDirectory> directory = os::HeadDirectory::Open(home);
    if (directory.status().code() == Code::kNotFound) {
      SHOAL_RETURN_IF_ERROR(os::HeadDirectory::Create(home, "up", os::UnixNow()));
      directory = os::HeadDirectory::Open(home);
    }
    if (!directory.ok()) return std::move(directory).status();
    RemoveServeFile(home);
    std::vector<std::string> command = {program_,  "serve",        "--dir",    home,
                                        "--model", options_.model, "--listen", "127.0.0.1:0",
                                        "--enrol", "127.0.0.1:0",  "--http",   options_.http};
    command.insert(command.end(), {"--stages", std::to_string(options_.wish.stages), "--replicas",
                                   std::to_string(options_.wish.replicas_max), "--objective",
                                   std::string(Name(options_.wish.objective))});
    AddShape(command);
    for (const std::string& word : options_.serve) {
      for (const std::string& part : Words(word)) command.push_back(part);
    }
    SHOAL_ASSIGN_OR_RETURN(ChildProcess head, ChildProcess::Start(command));
    children_.push_back({"the head", std::move(head)});
    while (!addresses_) {
      loop_.RunOne(kLook);
      if (const auto ended = children_.front().process.Ended()) {
        return {Code::kUnavailable, "the head ended: " + *ended};
      }
      if (const Result<ServeAddresses> found = ReadServeFile(home); found.ok()) {
        addresses_ = *found;
      }
    }
    constexpr os::UnixTime kTokenSeconds = 3600;
    SHOAL_ASSIGN_OR_RETURN(const wire::JoinToken token,
                           directory->MakeToken(options_.nodes, kTokenSeconds, os::UnixNow()));
    token_ = wire::EncodeJoinToken(token);
    return {};
  }

  Status StartNodes() {
    for (std::size_t i = 1; i <= options_.nodes; ++i) {
      const auto runner = runners_.find(i);
      std::vector<std::string> command =
          runner != runners_.end() ? runner->second : std::vector<std::string>{program_};
      const std::string name = "node-" + std::to_string(i);
      command.insert(command.end(),
                     {"join", addresses_->enrol, token_, "--dir", dir_ + "/" + name, "--name", name,
                      "--listen", "127.0.0.1:0", "--threads", std::to_string(options_.threads)});
      if (!options_.memory.empty()) {
        command.insert(command.end(), {"--memory", options_.memory});
      }
      if (const auto more = node_options_.find(i); more != node_options_.end()) {
        command.insert(command.end(), more->second.begin(), more->second.end());
      }
      AddShape(command);
      SHOAL_ASSIGN_OR_RETURN(ChildProcess node, ChildProcess::Start(command));
      fmt::print("{} is process {}\n", name, node.pid());
      children_.push_back({name, std::move(node)});
    }
    std::fflush(stdout);
    return {};
  }

  // Until the head ends. Nodes may come and go: that is what one wants to see.
  Status Watch() {
    for (;;) {
      loop_.RunOne(kLook);
      for (Child& child : children_) {
        if (!child.running) continue;
        const auto ended = child.process.Ended();
        if (!ended) continue;
        child.running = false;
        fmt::print("{} ended: {}\n", child.name, *ended);
        std::fflush(stdout);
        if (&child == &children_.front()) {
          return {Code::kUnavailable, "the head ended: " + *ended};
        }
      }
    }
  }

  static constexpr Duration kLook = std::chrono::milliseconds(50);
  struct Child {
    std::string name;
    ChildProcess process;
    bool running = true;
  };

  const UpOptions& options_;
  os::Loop loop_;
  WordsByNode runners_;
  WordsByNode node_options_;
  std::string program_;
  std::string dir_;
  std::optional<ServeAddresses> addresses_;
  std::string token_;
  std::vector<Child> children_;  // The head first.
};

}  // namespace

void AddUp(CLI::App& app) {
  auto options = std::make_shared<UpOptions>();
  CLI::App* command =
      app.add_subcommand("up", "A cluster of processes on this machine, for trying it out");
  command->add_option("--model", options->model, "A GGUF file, or a folder of Hugging Face")
      ->required();
  AddDirOption(*command, options->dir);
  command->add_option("--nodes", options->nodes, "How many, beside the head")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_option("--http", options->http, "Where answers are given")->capture_default_str();
  command->add_option("--threads", options->threads, "Of each node")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command->add_option("--memory", options->memory, "Of each node for layers, such as 200M");
  command
      ->add_option("--stages", options->wish.stages,
                   "Cut the model into so many parts; 0: by itself")
      ->check(CLI::Range(0, 1024));
  command->add_option("--replicas", options->wish.replicas_max, "As in `shoal serve`")
      ->check(CLI::Range(0, 1024));
  AddObjectiveOption(*command, options->wish.objective);
  command->add_option("--delay-ms", options->delay_ms, "What every frame takes longer, one way");
  command->add_option("--megabits", options->megabits, "A second, of every link and direction");
  command->add_option("--runner", options->runners,
                      "NODE=PROGRAM: this node is another program, such as a phone's under qemu");
  command->add_option("--node-options", options->node_options,
                      "NODE=OPTIONS: more options for `shoal join` of this node");
  command->add_option("--serve", options->serve, "More options for `shoal serve`, in quotes");
  command->callback([options] { ExitOnError(Cluster::Run(*options)); });
}

}  // namespace shoal
