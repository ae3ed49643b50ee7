// seccomp_run LIST RELEASE PROGRAM [ARGUMENTS...]: runs PROGRAM as an Android app runs.
//
// Installs a real seccomp filter that answers every system call which Android RELEASE does
// not allow to apps (LIST is app_syscalls.txt) with SECCOMP_RET_TRAP, as Android's does, and
// becomes PROGRAM. Exits with 127 if that fails. For x86-64: the filter is by name.
#include <seccomp.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace {

constexpr int kCannotRun = 127;  // What a shell answers when it cannot start a program.

// libc on x86-64 does with these what libc on arm64, which never had them, does with the
// allowed call beside it. arch_prctl sets the thread pointer, on arm64 a register move.
struct Spelling {
  const char* x86;
  const char* arm64;
};
constexpr std::array<Spelling, 20> kSpellings = {
    {{"access", "faccessat"},    {"arch_prctl", "set_tid_address"},
     {"chmod", "fchmodat"},      {"chown", "fchownat"},
     {"dup2", "dup3"},           {"epoll_wait", "epoll_pwait"},
     {"getdents", "getdents64"}, {"link", "linkat"},
     {"lstat", "newfstatat"},    {"mkdir", "mkdirat"},
     {"open", "openat"},         {"pipe", "pipe2"},
     {"poll", "ppoll"},          {"readlink", "readlinkat"},
     {"rename", "renameat"},     {"rmdir", "unlinkat"},
     {"select", "pselect6"},     {"stat", "newfstatat"},
     {"symlink", "symlinkat"},   {"unlink", "unlinkat"}}};

bool Allow(scmp_filter_ctx filter, const std::string& name) {
  const int number = seccomp_syscall_resolve_name(name.c_str());
  // A call newer than libseccomp's tables is one that nothing here makes.
  return number < 0 || seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0) == 0;
}

bool AllowListed(scmp_filter_ctx filter, std::istream& list, int release) {
  std::string line;
  while (std::getline(list, line)) {
    std::istringstream words(line);
    std::string name;
    int arm64_number = 0;
    int since = 0;
    if (!(words >> name) || name.front() == '#') continue;
    if (words >> arm64_number >> since && since > release) continue;
    if (!Allow(filter, name)) return false;
    for (const Spelling& spelling : kSpellings) {
      if (name == spelling.arm64 && !Allow(filter, spelling.x86)) return false;
    }
  }
  return list.eof();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: seccomp_run LIST RELEASE PROGRAM [ARGUMENTS...]\n");
    return kCannotRun;
  }
  std::ifstream list(argv[1]);
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_TRAP);
  if (filter == nullptr || !AllowListed(filter, list, std::atoi(argv[2])) ||
      seccomp_load(filter) != 0) {
    std::fprintf(stderr, "seccomp_run: cannot make a filter from %s\n", argv[1]);
    return kCannotRun;
  }
  execv(argv[3], argv + 3);
  std::perror(argv[3]);
  return kCannotRun;
}
