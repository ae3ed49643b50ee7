// Link: one session with one peer, made of a main and a bulk connection. It is dialled
// or accepted, comes up once both connections are welcome, carries the three classes
// of traffic, and ends once: when either connection fails, its owner is told why.
//
// Belongs to one event loop. The owner is called from loop events only and may Close
// the link inside such a call, but must not destroy it there.
#pragma once

#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/network.h"
#include "base/time.h"
#include "os/net/connection_internal.h"
#include "wire/bulk_window.h"
#include "wire/hello.h"
#include "wire/send_queue.h"

namespace shoal::os {

class Link;

// What the owner of a link hears whose peer was evicted.
Status RevokedStatus(NodeId peer);

class LinkOwner {
 public:
  virtual ~LinkOwner() = default;

  virtual void OnLinkUp(Link& link) = 0;
  // It failed, before or after it was up. Not called after Close.
  virtual void OnLinkDown(Link& link, const Status& why) = 0;
  virtual void OnLinkFrame(Link& link, Traffic traffic, Frame frame) = 0;
  virtual void OnLinkWritable(Link& link, Traffic traffic) = 0;
};

class Link final : private ConnectionOwner {
 public:
  struct Config {
    ConnectionConfig& connections;  // Outlives the link.
    NodeId self;
    NodeId peer;
    std::uint64_t session;
    Duration handshake_max;  // From here until both connections are welcome.
  };

  // Dials the peer. Without an endpoint it fails at the next event, with that Status:
  // the way a bad address reaches the caller.
  static std::unique_ptr<Link> Dial(const Config& config,
                                    Result<boost::asio::ip::tcp::endpoint> endpoint,
                                    LinkOwner& owner);
  // Welcomes a main connection that has said hello, and waits for its bulk connection.
  static std::unique_ptr<Link> Accept(const Config& config, std::shared_ptr<Connection> main,
                                      LinkOwner& owner);
  ~Link() override;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  NodeId peer() const { return config_.peer; }
  std::uint64_t session() const { return config_.session; }
  // The peer has welcomed the main connection that was dialled here.
  bool main_welcome() const { return bulk_ != nullptr; }

  // Welcomes the bulk connection; the link is up. REQUIRES: accepted, not up, not closed.
  void AcceptBulk(std::shared_ptr<Connection> bulk);

  // Both sides dialled and the peer's link is to be kept: closes the connections and
  // waits. If nothing has come up and closed this link by its deadline, it fails.
  void Yield();

  // The peer's certificate is void.
  bool is_revoked() const { return main_ != nullptr && main_->is_revoked(); }
  // Closes the connections now; the owner hears that it failed at the next event.
  void Refuse(const Status& why);

  // As Network::Send. REQUIRES: up.
  Status Send(Traffic traffic, Frame frame);

  // Ends it without a word to the owner. Does nothing the second time.
  void Close();

 private:
  enum class State { kHandshaking, kUp, kClosed };

  Link(const Config& config, LinkOwner& owner);

  void OnSecured(Connection& connection) override;
  void OnHello(Connection& connection, const wire::Hello& hello) override;
  void OnFrame(Connection& connection, wire::Kind kind, Frame frame) override;
  void OnReadEnd(Connection& connection) override;
  void FillBatch(Connection& connection, std::vector<std::byte>& batch) override;
  void OnFailed(Connection& connection, const Status& why) override;

  wire::Hello HelloFor(wire::Role role) const;
  Status CheckAnswer(const wire::Hello& hello, wire::Role role) const;
  void FillMain(std::vector<std::byte>& batch);
  void FillBulk(std::vector<std::byte>& batch);
  void TellWritable(wire::SendQueue& queue, Traffic traffic);
  void GoUp();
  void Fail(const Status& why);
  void FailSoon(const Status& why);

  Config config_;
  LinkOwner& owner_;
  State state_ = State::kHandshaking;
  boost::asio::ip::tcp::endpoint endpoint_;  // Of a dialled link.
  TimerId deadline_{};
  std::shared_ptr<Connection> main_;
  std::shared_ptr<Connection> bulk_;

  wire::SendQueue control_{Traffic::kControl};
  wire::SendQueue activations_{Traffic::kActivations};
  wire::SendQueue bulk_queue_{Traffic::kBulk};
  wire::BulkWindow window_;
  std::uint64_t acknowledged_bytes_ = 0;  // Of the peer's bulk, by us.
};

}  // namespace shoal::os
