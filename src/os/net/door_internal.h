// Door: listens at one address and hands over the sockets that come.
//
// Belongs to one event loop.
#pragma once

#include <boost/asio/ip/tcp.hpp>

#include <functional>
#include <memory>

#include "base/status.h"
#include "os/loop.h"

namespace shoal::os {

class Door {
 public:
  using OnSocket = std::function<void(boost::asio::ip::tcp::socket)>;

  // `on_socket` is called from loop events, until the door is gone.
  // kUnavailable: the system refuses; the message has the address and why.
  static Result<std::unique_ptr<Door>> Open(Loop& loop,
                                            const boost::asio::ip::tcp::endpoint& endpoint,
                                            OnSocket on_socket);
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  // Where it is; the port is no longer 0.
  const boost::asio::ip::tcp::endpoint& endpoint() const { return endpoint_; }

 private:
  // Outlives the door as long as Asio waits on it, hence shared.
  struct State;

  Door(std::shared_ptr<State> state, boost::asio::ip::tcp::endpoint endpoint);
  static void AcceptNext(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
  boost::asio::ip::tcp::endpoint endpoint_;
};

}  // namespace shoal::os
