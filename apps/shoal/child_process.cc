#include "shoal/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "os/file.h"

namespace shoal {

Result<ChildProcess> ChildProcess::Start(const std::vector<std::string>& command, Output output) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return os::ErrnoStatus(errno, command.front());
  if (pid == 0) {
    // Only calls that are allowed between fork and exec.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    // Ctrl-C in a terminal is meant for the parent, which may have something to save from us.
    ::setpgid(0, 0);
    if (output == Output::kNowhere) {
      const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
      if (nowhere < 0 || ::dup2(nowhere, STDOUT_FILENO) < 0) ::_exit(127);
    }
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  return ChildProcess(pid);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    Kill();
    pid_ = std::exchange(other.pid_, 0);
  }
  return *this;
}

ChildProcess::~ChildProcess() { Kill(); }

void ChildProcess::Kill() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

std::optional<std::string> ChildProcess::Ended() {
  if (pid_ == 0) return "not running";
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = 0;
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  const int code = WEXITSTATUS(status);
  return code == 127 ? "the program cannot be started" : "exit code " + std::to_string(code);
}

Result<std::string> OwnProgram() {
  std::array<char, 4096> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  if (size <= 0) return os::ErrnoStatus(errno, "/proc/self/exe");
  return std::string(path.data(), static_cast<std::size_t>(size));
}

}  // namespace shoal
