// ChildProcess: a program that lives no longer than this one. For trials on a developer's machine:
// Android kills the children of apps.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace shoal {

class ChildProcess {
 public:
  // What it prints, beside errors.
  enum class Output { kHere, kNowhere };

  // Starts `command` (the program's path first) with this process's output. It is killed when this
  // process dies, however that happens.
  static Result<ChildProcess> Start(const std::vector<std::string>& command,
                                    Output output = Output::kHere);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();  // Kills it.

  pid_t pid() const { return pid_; }
  // How it ended ("exit code 1", "signal 9"), without waiting; nothing: it runs.
  std::optional<std::string> Ended();

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  void Kill();

  pid_t pid_;  // 0: none, or it has ended.
};

// The path of this program, to start it again.
Result<std::string> OwnProgram();

}  // namespace shoal
