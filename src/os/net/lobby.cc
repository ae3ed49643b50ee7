#include <utility>

#include "base/check.h"
#include "os/net/lobby_internal.h"

namespace shoal::os {

using boost::asio::ip::tcp;

Lobby::Lobby(ConnectionConfig& connections, Duration handshake_max, LobbyOwner& owner)
    : connections_(connections), handshake_max_(handshake_max), owner_(owner) {}

Lobby::~Lobby() {
  for (auto& [connection, guest] : guests_) {
    connections_.loop.Cancel(guest.deadline);
    connection->Close();
  }
}

Result<tcp::endpoint> Lobby::Listen(const tcp::endpoint& endpoint) {
  SHOAL_ASSIGN_OR_RETURN(std::unique_ptr<Door> door,
                         Door::Open(connections_.loop, endpoint,
                                    [this](tcp::socket socket) { Admit(std::move(socket)); }));
  doors_.push_back(std::move(door));
  return doors_.back()->endpoint();
}

void Lobby::Admit(tcp::socket socket) {
  if (!owner_.HasRoom()) return;  // Closes it.
  std::shared_ptr<Connection> connection =
      Connection::Accept(connections_, std::move(socket), *this);
  Connection* key = connection.get();
  const TimerId deadline = connections_.loop.CallAfter(handshake_max_, [this, key] {
    const std::shared_ptr<Connection> guest = Release(*key);
    guest->Close();
    owner_.OnGuestFailed(*guest, {Code::kDeadlineExceeded, "did not say hello in time"});
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

void Lobby::OnFailed(Connection& connection, const Status& why) {
  owner_.OnGuestFailed(*Release(connection), why);
}

// The dialler speaks first, and guests are not opened.
void Lobby::OnSecured(Connection& /*connection*/) {}
void Lobby::OnFrame(Connection& /*connection*/, wire::Kind /*kind*/, Frame /*frame*/) {}
void Lobby::OnReadEnd(Connection& /*connection*/) {}
void Lobby::FillBatch(Connection& /*connection*/, std::vector<std::byte>& /*batch*/) {}

}  // namespace shoal::os
