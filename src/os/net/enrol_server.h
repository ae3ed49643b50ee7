// EnrolServer: the head's door for devices that are not members yet. Whoever brings a good
// join token gets a certificate, and is on disk before it knows (cluster/head_directory.h);
// everybody else gets one verdict, and one line in the log per address and minute.
//
// Belongs to one Loop: made, called and destroyed on it. Blocks it while a new member is
// written down, some milliseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "base/time.h"
#include "os/cluster/head_directory.h"
#include "os/loop.h"
#include "os/wall_clock.h"

namespace shoal::os {

class EnrolServer {
 public:
  struct Options {
    std::uint16_t cluster_port = 0;  // Where members dial; new ones are told.
    std::string program_version;
    // Who joined, and who was refused. Never a secret. May be empty.
    std::function<void(const std::string& line)> log;
    // By which tokens expire.
    std::function<UnixTime()> now = UnixNow;
    // From the first packet to the last.
    Duration deadline = std::chrono::seconds(5);
    // At once; more are closed when they come.
    std::size_t guests_max = 32;
    // Of one address within a minute; then its tokens are not looked at any more.
    std::size_t refusals_max = 10;
  };

  // `directory` outlives the server.
  EnrolServer(Loop& loop, HeadDirectory& directory, Options options);
  ~EnrolServer();
  EnrolServer(const EnrolServer&) = delete;
  EnrolServer& operator=(const EnrolServer&) = delete;

  // As TcpNetwork::Listen. May be called for several addresses.
  Result<std::string> Listen(const std::string& address);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;  // Keeps Asio out of this header.
};

}  // namespace shoal::os
