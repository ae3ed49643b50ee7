#include "os/net/tcp_network.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "os/net/endpoint_internal.h"
#include "os/net/link_internal.h"
#include "os/net/lobby_internal.h"
#include "os/net/replacements_internal.h"
#include "os/net/strangers_internal.h"
#include "os/secret_number.h"

namespace shoal::os {
namespace {

// One read of a socket: what a fast link brings between two turns of the loop.
constexpr std::size_t kReadBytesMax = std::size_t{64} << 10;

// What an honest member that is only unlucky is not told.
bool IsSuspicious(wire::Verdict verdict) {
  return verdict == wire::Verdict::kWrongNode || verdict == wire::Verdict::kRevoked;
}

}  // namespace

class TcpNetwork::Impl final : private LinkOwner, private LobbyOwner {
 public:
  Impl(Loop& loop, NodeId self, Options options)
      : loop_(loop),
        self_(self),
        options_(std::move(options)),
        connections_{.loop = loop,
                     .tls = options_.tls.get(),
                     .ping_interval = options_.ping_interval,
                     .silence_max = options_.silence_max,
                     .read_buffer = std::vector<std::byte>(kReadBytesMax),
                     .dates = options_.judge_dates ? Dates::kJudged : Dates::kIgnored},
        strangers_(loop, "cluster port", options_.log),
        lobby_(connections_, options_.handshake_max, *this) {
    SHOAL_CHECK(options_.tls == nullptr || options_.tls->node() == self);
  }

  NodeId self() const { return self_; }
  void Attach(NetworkEvents* events) { events_ = events; }
  Result<std::string> Listen(const std::string& address);
  void Connect(NodeId peer, const std::string& address);
  void SetRevoked(std::set<std::uint64_t> serials);
  void Disconnect(NodeId peer);
  Status Send(NodeId to, Traffic traffic, Frame frame);

 private:
  // At most one link of each sort with a peer. It is forgotten when it has none.
  struct Peer {
    std::unique_ptr<Link> up;
    std::unique_ptr<Link> dialled;   // Connect has promised an event for it.
    std::unique_ptr<Link> accepted;  // Its bulk connection has not come yet.
    Replacements replacements;       // Of `up`.
  };

  void OnLinkUp(Link& link) override;
  void OnLinkDown(Link& link, const Status& why) override;
  void OnLinkFrame(Link& link, Traffic traffic, Frame frame) override;
  void OnLinkWritable(Link& link, Traffic traffic) override;
  void OnGuest(std::shared_ptr<Connection> guest, const wire::Hello& hello) override;
  void OnGuestFailed(const Connection& guest, const Status& why) override;
  bool HasRoom() const override;

  wire::Verdict JudgeGuest(const Connection& guest, const wire::Hello& hello);
  wire::Verdict JudgeMain(NodeId peer);
  void AcceptMain(std::shared_ptr<Connection> main, const wire::Hello& hello);
  Link::Config LinkConfig(NodeId peer, std::uint64_t session);
  void Drop(std::unique_ptr<Link>& link);
  void ForgetIfIdle(NodeId peer);

  Loop& loop_;
  NodeId self_;
  Options options_;
  NetworkEvents* events_ = nullptr;
  ConnectionConfig connections_;
  std::unordered_map<NodeId, Peer> peers_;
  std::size_t accepted_links_ = 0;  // Peers' `accepted` that are not null.
  Strangers strangers_;
  Lobby lobby_;  // Last: its guests use what is above.
};

Result<std::string> TcpNetwork::Impl::Listen(const std::string& address) {
  SHOAL_ASSIGN_OR_RETURN(const auto endpoint, ParseEndpoint(address));
  SHOAL_ASSIGN_OR_RETURN(const auto bound, lobby_.Listen(endpoint));
  return FormatEndpoint(bound);
}

Link::Config TcpNetwork::Impl::LinkConfig(NodeId peer, std::uint64_t session) {
  return {.connections = connections_,
          .self = self_,
          .peer = peer,
          .session = session,
          .handshake_max = options_.handshake_max};
}

void TcpNetwork::Impl::Connect(NodeId peer, const std::string& address) {
  Peer& entry = peers_[peer];
  if (entry.up != nullptr || entry.dialled != nullptr) return;
  auto endpoint = ParseEndpoint(address);
  if (peer == self_) {
    endpoint = Status(Code::kInvalidArgument, "a node does not connect to itself");
  }
  entry.dialled = Link::Dial(LinkConfig(peer, SecretNumber()), std::move(endpoint), *this);
}

void TcpNetwork::Impl::Disconnect(NodeId peer) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return;
  Drop(found->second.up);
  Drop(found->second.dialled);
  ForgetIfIdle(peer);
}

Status TcpNetwork::Impl::Send(NodeId to, Traffic traffic, Frame frame) {
  const auto found = peers_.find(to);
  if (found == peers_.end() || found->second.up == nullptr) {
    return {Code::kUnavailable, "node " + std::to_string(ToNumber(to)) + " is not up"};
  }
  return found->second.up->Send(traffic, std::move(frame));
}

// Closes a link now and destroys it later: it may be the one whose event this is.
void TcpNetwork::Impl::Drop(std::unique_ptr<Link>& link) {
  if (link == nullptr) return;
  link->Close();
  loop_.Post([dead = std::move(link)] {});
  link = nullptr;
}

void TcpNetwork::Impl::ForgetIfIdle(NodeId peer) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return;
  const Peer& entry = found->second;
  if (entry.up == nullptr && entry.dialled == nullptr && entry.accepted == nullptr) {
    peers_.erase(found);
  }
}

void TcpNetwork::Impl::OnLinkUp(Link& link) {
  const NodeId peer = link.peer();
  Peer& entry = peers_.at(peer);
  const bool replaces = entry.up != nullptr;
  const Status why_replaced = replaces ? entry.replacements.Note(peer, loop_.Now()) : Status();
  if (replaces && entry.replacements.is_new_conflict() && options_.log) {
    options_.log("node " + std::to_string(ToNumber(peer)) + ": " +
                 std::string(why_replaced.message()));
  }
  Drop(entry.up);
  const bool was_accepted = entry.accepted.get() == &link;
  entry.up = std::move(was_accepted ? entry.accepted : entry.dialled);
  if (was_accepted || entry.accepted != nullptr) --accepted_links_;
  Drop(entry.accepted);
  Drop(entry.dialled);
  if (replaces && events_ != nullptr) events_->OnPeerDown(peer, why_replaced);
  // That event may have ended the new link.
  const auto found = peers_.find(peer);
  if (found == peers_.end() || found->second.up.get() != &link) return;
  if (events_ != nullptr) events_->OnPeerUp(peer);
}

void TcpNetwork::Impl::SetRevoked(std::set<std::uint64_t> serials) {
  connections_.revoked = std::move(serials);
  for (auto& [peer, entry] : peers_) {
    for (Link* link : {entry.up.get(), entry.dialled.get(), entry.accepted.get()}) {
      if (link != nullptr && link->is_revoked()) link->Refuse(RevokedStatus(peer));
    }
  }
}

void TcpNetwork::Impl::OnGuestFailed(const Connection& guest, const Status& why) {
  // Who only hangs up may be a phone that died.
  if (why.code() != Code::kUnavailable) strangers_.Refuse(guest.address(), why.message());
}

void TcpNetwork::Impl::OnLinkDown(Link& link, const Status& why) {
  const NodeId peer = link.peer();
  Peer& entry = peers_.at(peer);
  if (entry.accepted.get() == &link) {
    // It was never up and nobody here asked for it.
    --accepted_links_;
    Drop(entry.accepted);
    return ForgetIfIdle(peer);
  }
  // No correct program sends such bytes.
  if (entry.up.get() == &link && why.code() == Code::kCorruption) {
    strangers_.Refuse("node " + std::to_string(ToNumber(peer)), why.message());
  }
  Drop(entry.up.get() == &link ? entry.up : entry.dialled);
  ForgetIfIdle(peer);
  if (events_ != nullptr) events_->OnPeerDown(peer, why);
}

void TcpNetwork::Impl::OnLinkFrame(Link& link, Traffic traffic, Frame frame) {
  if (events_ != nullptr) events_->OnFrame(link.peer(), traffic, std::move(frame));
}

void TcpNetwork::Impl::OnLinkWritable(Link& link, Traffic traffic) {
  if (events_ != nullptr) events_->OnWritable(link.peer(), traffic);
}

bool TcpNetwork::Impl::HasRoom() const {
  return lobby_.guests() + accepted_links_ < options_.handshakes_max;
}

wire::Verdict TcpNetwork::Impl::JudgeGuest(const Connection& guest, const wire::Hello& hello) {
  const std::optional<NodeId> proven = guest.proven_peer();
  if (hello.to != self_ || hello.from == self_ || (proven && *proven != hello.from)) {
    return wire::Verdict::kWrongNode;
  }
  if (guest.is_revoked()) return wire::Verdict::kRevoked;
  if (hello.role == wire::Role::kMain) return JudgeMain(hello.from);
  const auto found = peers_.find(hello.from);
  const bool known = found != peers_.end() && found->second.accepted != nullptr &&
                     found->second.accepted->session() == hello.session;
  return known ? wire::Verdict::kWelcome : wire::Verdict::kUnknownSession;
}

// When both sides dial, the smaller id decides, so that they keep the same link: its
// own if the peer has welcomed it, the peer's otherwise. The larger id welcomes both
// and learns the decision from the answer, or from the connection that is closed.
wire::Verdict TcpNetwork::Impl::JudgeMain(NodeId peer) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) {
    return peers_.size() < options_.peers_max ? wire::Verdict::kWelcome : wire::Verdict::kBusy;
  }
  const std::unique_ptr<Link>& dialled = found->second.dialled;
  if (dialled == nullptr || self_ > peer) return wire::Verdict::kWelcome;
  return dialled->main_welcome() ? wire::Verdict::kYield : wire::Verdict::kWelcome;
}

void TcpNetwork::Impl::AcceptMain(std::shared_ptr<Connection> main, const wire::Hello& hello) {
  Peer& entry = peers_[hello.from];
  if (entry.dialled != nullptr && self_ < hello.from) entry.dialled->Yield();
  if (entry.accepted == nullptr) ++accepted_links_;
  Drop(entry.accepted);
  entry.accepted = Link::Accept(LinkConfig(hello.from, hello.session), std::move(main), *this);
}

void TcpNetwork::Impl::OnGuest(std::shared_ptr<Connection> guest, const wire::Hello& hello) {
  const wire::Verdict verdict = JudgeGuest(*guest, hello);
  if (verdict != wire::Verdict::kWelcome) {
    if (IsSuspicious(verdict)) {
      strangers_.Refuse(guest->address(), "node " + std::to_string(ToNumber(hello.from)) + ": " +
                                              std::string(wire::VerdictName(verdict)));
    }
    guest->RefuseAndClose({.role = hello.role,
                           .verdict = verdict,
                           .from = self_,
                           .to = hello.from,
                           .session = hello.session});
  } else if (hello.role == wire::Role::kMain) {
    AcceptMain(std::move(guest), hello);
  } else {
    peers_.at(hello.from).accepted->AcceptBulk(std::move(guest));
  }
}

TcpNetwork::TcpNetwork(Loop& loop, NodeId self, Options options)
    : impl_(std::make_unique<Impl>(loop, self, std::move(options))) {}
TcpNetwork::~TcpNetwork() = default;

Result<std::string> TcpNetwork::Listen(const std::string& address) {
  return impl_->Listen(address);
}
NodeId TcpNetwork::self() const { return impl_->self(); }
void TcpNetwork::Attach(NetworkEvents* events) { impl_->Attach(events); }
void TcpNetwork::Connect(NodeId peer, const std::string& address) { impl_->Connect(peer, address); }
void TcpNetwork::SetRevoked(std::set<std::uint64_t> serials) {
  impl_->SetRevoked(std::move(serials));
}
void TcpNetwork::Disconnect(NodeId peer) { impl_->Disconnect(peer); }
Status TcpNetwork::Send(NodeId to, Traffic traffic, Frame frame) {
  return impl_->Send(to, traffic, std::move(frame));
}

}  // namespace shoal::os
