// A program that does what a node does — threads, an event loop, sockets, files, memory —
// and what Android forbids. Its callers run it under a seccomp filter (seccomp_test.cc) and
// under qemu (CMakeLists.txt), with and without our entry point.
//
//   probe work     uses everything a node uses; 0 if all of it works
//   probe refused  makes refused calls; 0 if each one answers ENOSYS
//   probe signal   raises SIGSYS as the kernel does for a refused call, and as others might
#include <netinet/in.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "probe: %s (errno %d)\n", what, errno);
  std::exit(1);
}

void UseThreads() {
  int sum = 0;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&sum, &mutex, i] {
      const std::lock_guard<std::mutex> lock(mutex);
      sum += i;
    });
  }
  for (std::thread& thread : threads) thread.join();
  Require(sum == 28, "eight threads");
}

void UseEventLoop() {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  const int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  Require(epoll >= 0 && event >= 0 && timer >= 0, "epoll, eventfd, timerfd");
  for (const int fd : {event, timer}) {
    epoll_event interest = {};
    interest.events = EPOLLIN;
    interest.data.fd = fd;
    Require(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &interest) == 0, "epoll_ctl");
    if (fd == event) {
      const std::uint64_t one = 1;
      Require(write(event, &one, sizeof(one)) == sizeof(one), "write to eventfd");
    } else {
      itimerspec soon = {};
      soon.it_value.tv_nsec = 1'000'000;
      Require(timerfd_settime(timer, 0, &soon, nullptr) == 0, "timerfd_settime");
    }
    epoll_event ready = {};
    Require(epoll_wait(epoll, &ready, 1, -1) == 1 && ready.data.fd == fd, "epoll_wait");
    std::uint64_t count = 0;
    Require(read(fd, &count, sizeof(count)) == sizeof(count), "read what was ready");
  }
  for (const int fd : {epoll, event, timer}) close(fd);
}

// A byte from a client thread over TCP on loopback.
void UseSockets() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  Require(bind(listener, generic, size) == 0 && listen(listener, 1) == 0, "bind, listen");
  Require(getsockname(listener, generic, &size) == 0, "getsockname");
  std::thread client([generic, size] {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    Require(connect(fd, generic, size) == 0, "connect");
    Require(send(fd, "x", 1, MSG_NOSIGNAL) == 1, "send");
    close(fd);
  });
  const int peer = accept(listener, nullptr, nullptr);
  char byte = 0;
  Require(recv(peer, &byte, 1, 0) == 1 && byte == 'x', "accept, recv");
  client.join();
  close(peer);
  close(listener);
}

void UseFilesAndMemory() {
  std::ifstream status("/proc/self/status");
  std::string line;
  Require(static_cast<bool>(std::getline(status, line)), "read /proc/self/status");
  constexpr std::size_t kBytes = std::size_t{64} << 20;  // Above every malloc threshold.
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Require(memory != MAP_FAILED && munmap(memory, kBytes) == 0, "mmap");
  const std::vector<char> heap(kBytes / 2, 'h');
  Require(heap.back() == 'h', "allocate");
  Require(sysconf(_SC_NPROCESSORS_ONLN) > 0, "count processors");
}

int Work() {
  UseThreads();
  UseEventLoop();
  UseSockets();
  UseFilesAndMemory();
  return 0;
}

int Refused() {
  struct Call {
    const char* name;
    long number;
  };
  constexpr std::array<Call, 4> kCalls = {{{"set_robust_list", SYS_set_robust_list},
                                           {"rseq", SYS_rseq},
                                           {"shmget", SYS_shmget},
                                           {"openat2", SYS_openat2}}};
  for (const Call& call : kCalls) {
    errno = 0;
    Require(syscall(call.number, 0, 0, 0, 0) == -1 && errno == ENOSYS, call.name);
  }
  // Threads of ours have the handler too.
  std::thread([] {
    errno = 0;
    Require(syscall(SYS_shmget, 0, 0, 0) == -1 && errno == ENOSYS, "shmget on a thread");
  }).join();
  return 0;
}

// A process may send itself any siginfo; the signal arrives when the call returns, so a
// handler that changes the result changes the result of the sending call.
int Signal() {
  constexpr int kSysSeccomp = 1;
  siginfo_t info = {};
  info.si_signo = SIGSYS;
  info.si_code = kSysSeccomp;
  errno = 0;
  const long refused = syscall(SYS_rt_sigqueueinfo, getpid(), SIGSYS, &info);
  Require(refused == -1 && errno == ENOSYS, "the handler answers ENOSYS");
  Require(kill(getpid(), SIGSYS) == 0, "a SIGSYS that was merely sent changes nothing");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc == 2 ? argv[1] : "";
  if (mode == "work") return Work();
  if (mode == "refused") return Refused();
  if (mode == "signal") return Signal();
  std::fprintf(stderr, "usage: probe work|refused|signal\n");
  return 2;
}
