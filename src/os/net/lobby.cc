#include <boost/system/error_code.hpp>

#include <utility>

#include "base/check.h"
#include "os/loop_internal.h"
#include "os/net/endpoint_internal.h"
#include "os/net/lobby_internal.h"

namespace shoal::os {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

// After a failed accept, most likely for want of file descriptors: trying again at
// once would fail again, at full speed.
constexpr Duration kAcceptPause = std::chrono::milliseconds(100);

}  // namespace

struct Lobby::Door {
  Door(Lobby& its_lobby, Loop& its_loop)
      : lobby(&its_lobby), loop(its_loop), acceptor(LoopInternals::Context(its_loop)) {}

  Lobby* lobby;  // Null once the lobby is gone.
  Loop& loop;
  tcp::acceptor acceptor;
  TimerId pause{};
};

Lobby::Lobby(ConnectionConfig& connections, Duration handshake_max, LobbyOwner& owner)
    : connections_(connections), handshake_max_(handshake_max), owner_(owner) {}

Lobby::~Lobby() {
  for (const auto& door : doors_) {
    error_code ignored;
    door->lobby = nullptr;
    door->acceptor.close(ignored);
    door->loop.Cancel(door->pause);
  }
  for (auto& [connection, guest] : guests_) {
    connections_.loop.Cancel(guest.deadline);
    connection->Close();
  }
}

Result<tcp::endpoint> Lobby::Listen(const tcp::endpoint& endpoint) {
  auto door = std::make_shared<Door>(*this, connections_.loop);
  error_code error;
  door->acceptor.open(endpoint.protocol(), error);
  // A restarted node takes its port back from connections that are still dying.
  if (!error) door->acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) door->acceptor.bind(endpoint, error);
  if (!error) door->acceptor.listen(tcp::acceptor::max_listen_connections, error);
  tcp::endpoint bound;
  if (!error) bound = door->acceptor.local_endpoint(error);
  if (error) return SocketError("listen on " + FormatEndpoint(endpoint), error);
  AcceptNext(door);
  doors_.push_back(std::move(door));
  return bound;
}

void Lobby::AcceptNext(const std::shared_ptr<Door>& door) {
  door->acceptor.async_accept([door](const error_code& error, tcp::socket socket) {
    if (door->lobby == nullptr) return;
    if (error) {
      door->pause = door->loop.CallAfter(kAcceptPause, [door] { AcceptNext(door); });
      return;
    }
    door->lobby->Admit(std::move(socket));
    AcceptNext(door);
  });
}

void Lobby::Admit(tcp::socket socket) {
  if (!owner_.HasRoom()) return;  // Closes it.
  std::shared_ptr<Connection> connection =
      Connection::Accept(connections_, std::move(socket), *this);
  Connection* key = connection.get();
  const TimerId deadline = connections_.loop.CallAfter(handshake_max_, [this, key] {
    key->Close();
    guests_.erase(key);
  });
  guests_.emplace(key, Guest{.connection = std::move(connection), .deadline = deadline});
}

std::shared_ptr<Connection> Lobby::Release(Connection& connection) {
  const auto found = guests_.find(&connection);
  SHOAL_CHECK(found != guests_.end());
  std::shared_ptr<Connection> guest = std::move(found->second.connection);
  connections_.loop.Cancel(found->second.deadline);
  guests_.erase(found);
  return guest;
}

void Lobby::OnHello(Connection& connection, const wire::Hello& hello) {
  owner_.OnGuest(Release(connection), hello);
}

// Nobody to tell: it has not said who it is.
void Lobby::OnFailed(Connection& connection, const Status& /*why*/) { Release(connection); }

// The dialler speaks first, and guests are not opened.
void Lobby::OnSecured(Connection& /*connection*/) {}
void Lobby::OnFrame(Connection& /*connection*/, wire::Kind /*kind*/, Frame /*frame*/) {}
void Lobby::OnReadEnd(Connection& /*connection*/) {}
void Lobby::FillBatch(Connection& /*connection*/, std::vector<std::byte>& /*batch*/) {}

}  // namespace shoal::os
