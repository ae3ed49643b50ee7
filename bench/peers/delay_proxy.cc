// delay_proxy MS LISTEN TARGET [LISTEN TARGET]...: TCP links that take MS milliseconds longer, one
// way, for programs of others; ours have --delay-ms. LISTEN and TARGET are ports of 127.0.0.1. Says
// "ready" when it listens, and ends when its input does, so that it never outlives the benchmark.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <list>
#include <string>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kReadBytes = std::size_t{256} << 10U;
// On their way in one direction; enough that no bandwidth is lost at 1 GB/s and 50 ms.
constexpr std::size_t kBytesMax = std::size_t{64} << 20U;

[[noreturn]] void Fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

sockaddr_in Local(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int Listen(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in address = Local(port);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) Fail("bind");
  if (listen(fd, 64) != 0) Fail("listen");
  return fd;
}

// Bytes in one direction.
struct Way {
  struct Part {
    Clock::time_point due;
    std::string bytes;
    std::size_t sent = 0;
  };

  Way(int from_fd, int to_fd) : from(from_fd), to(to_fd) {}

  int from;
  int to;
  std::deque<Part> parts;
  std::size_t bytes = 0;
  bool ended = false;   // Nothing more comes …
  bool closed = false;  // … and all of it has gone.

  bool WantsRead() const { return !ended && bytes < kBytesMax; }
  bool WantsWrite(Clock::time_point now) const {
    return !parts.empty() && parts.front().due <= now;
  }

  void Read(Clock::duration delay) {
    Part part{Clock::now() + delay, std::string(kReadBytes, '\0')};
    const ssize_t got = recv(from, part.bytes.data(), part.bytes.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      ended = true;
      return;
    }
    part.bytes.resize(static_cast<std::size_t>(got));
    bytes += part.bytes.size();
    parts.push_back(std::move(part));
  }
  void Write(Clock::time_point now) {
    while (WantsWrite(now)) {
      Part& part = parts.front();
      const ssize_t put =
          send(to, part.bytes.data() + part.sent, part.bytes.size() - part.sent, MSG_NOSIGNAL);
      if (put < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (put < 0) {
        ended = true;
        parts.clear();
        return;
      }
      part.sent += static_cast<std::size_t>(put);
      bytes -= static_cast<std::size_t>(put);
      if (part.sent < part.bytes.size()) return;
      parts.pop_front();
    }
  }
  void CloseIfDone() {
    if (!ended || !parts.empty() || closed) return;
    shutdown(to, SHUT_WR);
    closed = true;
  }
};

struct Link {
  Way out;
  Way back;
};

struct Door {
  int fd;
  std::uint16_t target;
};

class Proxy {
 public:
  Proxy(Clock::duration delay, std::vector<Door> doors) : delay_(delay), doors_(std::move(doors)) {}

  void Run() {
    while (true) {
      const Clock::time_point now = Clock::now();
      std::vector<pollfd> polled = {{STDIN_FILENO, POLLIN, 0}};
      for (const Door& door : doors_) polled.push_back({door.fd, POLLIN, 0});
      Clock::time_point wake = Clock::time_point::max();
      for (Link& link : links_) {
        for (Way* way : {&link.out, &link.back}) {
          const Way& other = way == &link.out ? link.back : link.out;
          // A socket is read by one way and written by the other.
          const int events =
              (way->WantsRead() ? POLLIN : 0) | (other.WantsWrite(now) ? POLLOUT : 0);
          polled.push_back({events == 0 ? -1 : way->from, static_cast<short>(events), 0});
          if (!way->parts.empty() && way->parts.front().due > now) {
            wake = std::min(wake, way->parts.front().due);
          }
        }
      }
      Wait(polled, wake);
      if (polled[0].revents != 0) return;
      auto at = polled.begin() + 1 + static_cast<std::ptrdiff_t>(doors_.size());
      for (Link& link : links_) {
        if (((at++)->revents & (POLLIN | POLLHUP | POLLERR)) != 0) link.out.Read(delay_);
        if (((at++)->revents & (POLLIN | POLLHUP | POLLERR)) != 0) link.back.Read(delay_);
      }
      for (std::size_t d = 0; d < doors_.size(); ++d) {
        if (polled[1 + d].revents != 0) Accept(doors_[d]);
      }
      for (Link& link : links_) {
        for (Way* way : {&link.out, &link.back}) {
          way->Write(Clock::now());
          way->CloseIfDone();
        }
      }
      links_.remove_if([](const Link& link) {
        if (!link.out.closed || !link.back.closed) return false;
        close(link.out.from);
        close(link.out.to);
        return true;
      });
    }
  }

 private:
  static void Wait(std::vector<pollfd>& polled, Clock::time_point wake) {
    timespec limit{};
    if (wake != Clock::time_point::max()) {
      const auto left = std::max(wake - Clock::now(), Clock::duration::zero());
      const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
      limit = {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
    }
    const timespec* const timeout = wake == Clock::time_point::max() ? nullptr : &limit;
    if (ppoll(polled.data(), polled.size(), timeout, nullptr) < 0 && errno != EINTR) Fail("ppoll");
  }

  void Accept(const Door& door) {
    const int from = accept4(door.fd, nullptr, nullptr, SOCK_NONBLOCK);
    if (from < 0) return;
    const int to = socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = Local(door.target);
    if (connect(to, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      close(from);
      close(to);
      return;
    }
    fcntl(to, F_SETFL, O_NONBLOCK);
    const int on = 1;
    setsockopt(from, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(to, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    links_.push_back({Way(from, to), Way(to, from)});
  }

  const Clock::duration delay_;
  const std::vector<Door> doors_;
  std::list<Link> links_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || argc % 2 != 0) {
    std::fprintf(stderr, "usage: delay_proxy MS LISTEN TARGET [LISTEN TARGET]...\n");
    return 2;
  }
  std::vector<Door> doors;
  for (int i = 2; i < argc; i += 2) {
    doors.push_back({Listen(static_cast<std::uint16_t>(std::atoi(argv[i]))),
                     static_cast<std::uint16_t>(std::atoi(argv[i + 1]))});
  }
  std::puts("ready");
  std::fflush(stdout);
  const std::chrono::duration<double, std::milli> delay(std::atof(argv[1]));
  Proxy(std::chrono::duration_cast<Clock::duration>(delay), std::move(doors)).Run();
  return 0;
}
