// EnrolGuest: one connection of somebody who wants to become a member: TLS, one request,
// one answer, the end. Nothing is kept beyond one message, and all of it has one deadline.
//
// Belongs to one event loop. The owner is called from loop events only.
#pragma once

#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "os/loop.h"
#include "os/net/stream_internal.h"
#include "wire/enrol.h"

namespace shoal::os {

class EnrolGuest;

class EnrolGuestOwner {
 public:
  virtual ~EnrolGuestOwner() = default;

  // What to answer. A failure: what came is not a request.
  virtual wire::EnrolAnswer OnRequest(const EnrolGuest& guest,
                                      const Result<wire::EnrolRequest>& request) = 0;
  // It is closed. Not OK: before there was an answer to send. Not called after Close.
  virtual void OnGone(EnrolGuest& guest, const Status& why) = 0;
};

// Shared, because Asio's pending waits hold it.
class EnrolGuest : public std::enable_shared_from_this<EnrolGuest> {
 public:
  static std::shared_ptr<EnrolGuest> Receive(Loop& loop, boost::asio::ip::tcp::socket socket,
                                             const TlsIdentity& identity, Duration deadline,
                                             EnrolGuestOwner& owner);

  // Without the port.
  const std::string& address() const { return address_; }

  void Close();

 private:
  // kDraining: the answer is sent; what the guest still says is thrown away until it hangs
  // up, because closing in the middle of it would make the kernel throw the answer away.
  enum class Phase { kSecuring, kReading, kWriting, kDraining, kClosed };

  EnrolGuest(Loop& loop, boost::asio::ip::tcp::socket socket, EnrolGuestOwner& owner);

  // Goes on with the phase it is in until there is something to wait for.
  void Continue();
  void Secure();
  void Read();
  void Write();
  void Drain();
  void Answer(const Result<wire::EnrolRequest>& request);
  // Continue, once the socket is ready.
  void Await(boost::asio::ip::tcp::socket::wait_type what);
  void End(const Status& why);

  Loop& loop_;
  boost::asio::ip::tcp::socket socket_;
  EnrolGuestOwner* owner_;  // Null once closed.
  std::unique_ptr<Stream> stream_;
  std::string address_;
  Phase phase_ = Phase::kSecuring;
  TimerId deadline_{};
  std::vector<std::byte> bytes_;  // Of the request, as far as it is announced; then of the answer.
  std::size_t done_ = 0;          // Of bytes_.
};

}  // namespace shoal::os
