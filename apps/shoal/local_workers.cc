#include "shoal/local_workers.h"

#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "shoal/by_node.h"
#include "shoal/child_process.h"

namespace shoal {
namespace {

class Children final : public LocalWorkers {
 public:
  void Add(std::string name, ChildProcess process) {
    children_.push_back({std::move(name), std::move(process)});
  }
  std::vector<std::string> TakeEnded() override {
    std::vector<std::string> lines;
    for (Child& child : children_) {
      if (!child.running) continue;
      const auto ended = child.process.Ended();
      if (!ended) continue;
      child.running = false;
      lines.push_back(fmt::format("{} ended: {}", child.name, *ended));
    }
    return lines;
  }
  std::size_t running() const override {
    std::size_t count = 0;
    for (const Child& child : children_) count += child.running ? 1 : 0;
    return count;
  }

 private:
  struct Child {
    std::string name;
    ChildProcess process;
    bool running = true;
  };
  std::vector<Child> children_;
};

// Of an earlier training only the records and what it measured of itself are of use: the head has
// another port now.
void ForgetMembership(const std::filesystem::path& folder) {
  std::error_code error;  // What is left is told of by `shoal join`.
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name == "records" || name.starts_with("profile-")) continue;
    std::filesystem::remove_all(entry.path(), error);
  }
}

}  // namespace

Result<std::unique_ptr<LocalWorkers>> StartLocalWorkers(const LocalWorkersOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(const WordsByNode more,
                         ParseByNode("--worker-options", options.options, options.count));
  SHOAL_ASSIGN_OR_RETURN(const std::string program, OwnProgram());
  auto children = std::make_unique<Children>();
  for (std::size_t i = 1; i <= options.count; ++i) {
    const std::string name = "worker-" + std::to_string(i);
    ForgetMembership(options.dir + "/" + name);
    std::vector<std::string> command = {
        program,       "join",      options.enrol,
        options.token, "--dir",     options.dir + "/" + name,
        "--name",      name,        "--listen",
        "127.0.0.1:0", "--threads", std::to_string(options.threads)};
    if (!options.memory.empty()) command.insert(command.end(), {"--memory", options.memory});
    command.insert(command.end(), options.options_of_all.begin(), options.options_of_all.end());
    if (const auto words = more.find(i); words != more.end()) {
      command.insert(command.end(), words->second.begin(), words->second.end());
    }
    const auto output =
        options.quiet ? ChildProcess::Output::kNowhere : ChildProcess::Output::kHere;
    SHOAL_ASSIGN_OR_RETURN(ChildProcess process, ChildProcess::Start(command, output));
    if (!options.quiet) fmt::print("{} is process {}\n", name, process.pid());
    children->Add(name, std::move(process));
  }
  std::fflush(stdout);
  return std::unique_ptr<LocalWorkers>(std::move(children));
}

}  // namespace shoal
