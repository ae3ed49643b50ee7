#include "os/net/http_server.h"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>

#include <unordered_map>
#include <utility>
#include <vector>

#include "os/loop_internal.h"
#include "os/net/endpoint_internal.h"
#include "os/net/http_session_internal.h"
#include "os/net/stream_internal.h"

namespace shoal::os {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

// After a failed accept, most likely for want of file descriptors: trying again at
// once would fail again, at full speed.
constexpr Duration kAcceptPause = std::chrono::milliseconds(100);

}  // namespace

HttpResponder::HttpResponder(std::weak_ptr<HttpSession> session) : session_(std::move(session)) {}

HttpResponder::~HttpResponder() {
  if (const auto session = session_.lock()) session->Abandon();
}

void HttpResponder::Reply(int status, const HttpHeaders& headers, std::string_view body) {
  if (const auto session = std::exchange(session_, {}).lock()) {
    session->Reply(status, headers, body);
  }
}

void HttpResponder::Begin(int status, const HttpHeaders& headers) {
  if (const auto session = session_.lock()) session->Begin(status, headers);
}

void HttpResponder::Write(std::string_view bytes) {
  if (const auto session = session_.lock()) session->Write(bytes);
}

void HttpResponder::End() {
  if (const auto session = std::exchange(session_, {}).lock()) session->End();
}

void HttpResponder::OnGone(UniqueFunction<void()> task) {
  if (const auto session = session_.lock()) session->SetOnGone(std::move(task));
}

class HttpServer::Impl final : public HttpSessionOwner {
 public:
  Impl(Loop& loop, Options options, Handler handler)
      : loop_(loop), options_(std::move(options)), handler_(std::move(handler)) {}
  ~Impl() override;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<std::string> Listen(const std::string& address);
  std::size_t connections() const { return admitted_.size(); }

 private:
  using Sessions = std::unordered_map<HttpSession*, std::shared_ptr<HttpSession>>;
  // Outlives the server as long as Asio waits on it, hence shared.
  struct Door {
    Door(Impl& its_server, Loop& loop)
        : server(&its_server), acceptor(LoopInternals::Context(loop)) {}
    Impl* server;  // Null once the server is gone.
    tcp::acceptor acceptor;
    TimerId pause{};
  };

  static void AcceptNext(const std::shared_ptr<Door>& door);
  void Admit(tcp::socket socket);
  void OnRequest(HttpServerRequest request, std::unique_ptr<HttpResponder> responder) override {
    handler_(std::move(request), std::move(responder));
  }
  void OnClosed(HttpSession& session) override {
    admitted_.erase(&session);
    refused_.erase(&session);
  }

  Loop& loop_;
  const Options options_;
  Handler handler_;
  Sessions admitted_;
  Sessions refused_;  // They are being told so.
  std::vector<std::shared_ptr<Door>> doors_;
};

HttpServer::Impl::~Impl() {
  for (const auto& door : doors_) {
    error_code ignored;
    door->server = nullptr;
    door->acceptor.close(ignored);
    loop_.Cancel(door->pause);
  }
  for (Sessions* sessions : {&admitted_, &refused_}) {
    while (!sessions->empty()) sessions->begin()->second->Close();
  }
}

Result<std::string> HttpServer::Impl::Listen(const std::string& address) {
  SHOAL_ASSIGN_OR_RETURN(const tcp::endpoint endpoint, ParseEndpoint(address));
  auto door = std::make_shared<Door>(*this, loop_);
  error_code error;
  door->acceptor.open(endpoint.protocol(), error);
  // A restarted server takes its port back from connections that are still dying.
  if (!error) door->acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) door->acceptor.bind(endpoint, error);
  if (!error) door->acceptor.listen(tcp::acceptor::max_listen_connections, error);
  tcp::endpoint bound;
  if (!error) bound = door->acceptor.local_endpoint(error);
  if (error == boost::asio::error::address_in_use) {
    return Status(Code::kUnavailable, address + " is in use; another shoal serve? use --http ADDR");
  }
  if (error) return SocketError("listen on " + address, error);
  AcceptNext(door);
  doors_.push_back(std::move(door));
  return FormatEndpoint(bound);
}

void HttpServer::Impl::AcceptNext(const std::shared_ptr<Door>& door) {
  door->acceptor.async_accept([door](const error_code& error, tcp::socket socket) {
    if (door->server == nullptr) return;
    if (error) {
      door->pause = door->server->loop_.CallAfter(kAcceptPause, [door] { AcceptNext(door); });
      return;
    }
    door->server->Admit(std::move(socket));
    AcceptNext(door);
  });
}

void HttpServer::Impl::Admit(tcp::socket socket) {
  const bool room = admitted_.size() < options_.connections_max;
  if (!room && refused_.size() >= options_.connections_max) return;  // Closes it.
  const auto session = std::make_shared<HttpSession>(loop_, options_, *this, std::move(socket));
  (room ? admitted_ : refused_).emplace(session.get(), session);
  if (room) {
    session->Start();
  } else {
    session->Refuse();
  }
}

HttpServer::HttpServer(Loop& loop, Options options, Handler handler)
    : impl_(std::make_unique<Impl>(loop, std::move(options), std::move(handler))) {}
HttpServer::~HttpServer() = default;

Result<std::string> HttpServer::Listen(const std::string& address) {
  return impl_->Listen(address);
}

std::size_t HttpServer::connections() const { return impl_->connections(); }

}  // namespace shoal::os
