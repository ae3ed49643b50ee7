// Lobby: listens, and keeps connections that have not yet said who they are. Anybody
// can knock, so their number and their time are limited, and nothing they send is
// kept beyond one hello.
//
// Belongs to one event loop.
#pragma once

#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "os/net/connection_internal.h"
#include "os/net/door_internal.h"
#include "wire/hello.h"

namespace shoal::os {

class LobbyOwner {
 public:
  virtual ~LobbyOwner() = default;

  // `guest` has said `hello` and now belongs to the owner.
  virtual void OnGuest(std::shared_ptr<Connection> guest, const wire::Hello& hello) = 0;
  // `guest` failed, or took too long, before it said who it is.
  virtual void OnGuestFailed(const Connection& guest, const Status& why) = 0;
  // May another connection come in?
  virtual bool HasRoom() const = 0;
};

class Lobby final : private ConnectionOwner {
 public:
  // `connections` and `owner` outlive the lobby.
  Lobby(ConnectionConfig& connections, Duration handshake_max, LobbyOwner& owner);
  ~Lobby() override;
  Lobby(const Lobby&) = delete;
  Lobby& operator=(const Lobby&) = delete;

  // Accepts connections at `endpoint` and returns where that is, its port no longer 0.
  // kUnavailable: the system refuses; the message has the address and why.
  Result<boost::asio::ip::tcp::endpoint> Listen(const boost::asio::ip::tcp::endpoint& endpoint);

  std::size_t guests() const { return guests_.size(); }

 private:
  struct Guest {
    std::shared_ptr<Connection> connection;
    TimerId deadline{};
  };
  void Admit(boost::asio::ip::tcp::socket socket);
  // Takes it off the list. REQUIRES: it is on it.
  std::shared_ptr<Connection> Release(Connection& connection);

  void OnSecured(Connection& connection) override;
  void OnHello(Connection& connection, const wire::Hello& hello) override;
  void OnFrame(Connection& connection, wire::Kind kind, Frame frame) override;
  void OnReadEnd(Connection& connection) override;
  void FillBatch(Connection& connection, std::vector<std::byte>& batch) override;
  void OnFailed(Connection& connection, const Status& why) override;

  ConnectionConfig& connections_;
  Duration handshake_max_;
  LobbyOwner& owner_;
  std::unordered_map<Connection*, Guest> guests_;
  std::vector<std::unique_ptr<Door>> doors_;  // Last: they call Admit.
};

}  // namespace shoal::os
