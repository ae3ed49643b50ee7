// What must hold when the static program runs under a filter like Android's, and that the
// filter bites: a program without our entry point dies under it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace shoal {
namespace {

struct Outcome {
  int status = 0;      // As from waitpid.
  std::string output;  // Both streams.
};

[[noreturn]] void Become(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  _exit(127);
}

std::string ReadAll(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(fd, buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

// Runs `program` as an app of Android `release`; `blocked` is the signal mask it inherits.
Outcome RunAsApp(int release, const std::vector<std::string>& program, const sigset_t& blocked) {
  std::vector<std::string> command = {SECCOMP_RUN, APP_SYSCALLS, std::to_string(release)};
  command.insert(command.end(), program.begin(), program.end());
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &blocked, nullptr);
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    Become(command);
  }
  close(ends[1]);
  Outcome outcome;
  outcome.output = ReadAll(ends[0]);
  close(ends[0]);
  EXPECT_EQ(waitpid(child, &outcome.status, 0), child);
  return outcome;
}

Outcome RunAsApp(int release, const std::vector<std::string>& program) {
  sigset_t none;
  sigemptyset(&none);
  return RunAsApp(release, program, none);
}

// Prints as the reason of a failure and compares equal to a normal exit.
std::string HowItEnded(const Outcome& outcome) {
  if (WIFSIGNALED(outcome.status))
    return "killed by signal " + std::to_string(WTERMSIG(outcome.status));
  return "exit " + std::to_string(WEXITSTATUS(outcome.status));
}

class SeccompTest : public testing::TestWithParam<int> {};

TEST_P(SeccompTest, ShoalStarts) {
  const Outcome outcome = RunAsApp(GetParam(), {SHOAL, "version"});
  EXPECT_EQ(HowItEnded(outcome), "exit 0") << outcome.output;
  EXPECT_TRUE(outcome.output.starts_with("shoal ")) << outcome.output;
}

TEST_P(SeccompTest, ThreadsLoopsSocketsAndFilesWork) {
  const Outcome outcome = RunAsApp(GetParam(), {PROBE, "work"});
  EXPECT_EQ(HowItEnded(outcome), "exit 0") << outcome.output;
}

TEST_P(SeccompTest, RefusedCallsAnswerEnosys) {
  const Outcome outcome = RunAsApp(GetParam(), {PROBE, "refused"});
  EXPECT_EQ(HowItEnded(outcome), "exit 0") << outcome.output;
}

TEST_P(SeccompTest, OnlyTheKernelsSigsysIsAnswered) {
  const Outcome outcome = RunAsApp(GetParam(), {PROBE, "signal"});
  EXPECT_EQ(HowItEnded(outcome), "exit 0") << outcome.output;
}

TEST_P(SeccompTest, AParentThatBlocksSigsysDoesNotMatter) {
  sigset_t sigsys;
  sigemptyset(&sigsys);
  sigaddset(&sigsys, SIGSYS);
  const Outcome outcome = RunAsApp(GetParam(), {PROBE, "work"}, sigsys);
  EXPECT_EQ(HowItEnded(outcome), "exit 0") << outcome.output;
}

TEST_P(SeccompTest, AProgramWithoutOurEntryPointDies) {
  const Outcome outcome = RunAsApp(GetParam(), {PROBE_WITHOUT_ENTRY, "work"});
  EXPECT_EQ(HowItEnded(outcome), "killed by signal " + std::to_string(SIGSYS)) << outcome.output;
}

// The first release with a filter, and the newest whose list we have.
INSTANTIATE_TEST_SUITE_P(Android, SeccompTest, testing::Values(8, 16),
                         [](const auto& release) { return std::to_string(release.param); });

}  // namespace
}  // namespace shoal
