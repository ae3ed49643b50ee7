#include <boost/system/error_code.hpp>

#include <utility>

#include "os/loop_internal.h"
#include "os/net/door_internal.h"
#include "os/net/endpoint_internal.h"
#include "os/net/stream_internal.h"

namespace shoal::os {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

// After a failed accept, most likely for want of file descriptors: trying again at
// once would fail again, at full speed.
constexpr Duration kAcceptPause = std::chrono::milliseconds(100);

}  // namespace

struct Door::State {
  State(Loop& its_loop, OnSocket its_owner)
      : loop(its_loop),
        acceptor(LoopInternals::Context(its_loop)),
        on_socket(std::move(its_owner)) {}

  Loop& loop;
  tcp::acceptor acceptor;
  TimerId pause{};
  OnSocket on_socket;
  bool open = true;
};

Door::Door(std::shared_ptr<State> state, tcp::endpoint endpoint)
    : state_(std::move(state)), endpoint_(std::move(endpoint)) {}

Door::~Door() {
  error_code ignored;
  state_->open = false;
  state_->acceptor.close(ignored);
  state_->loop.Cancel(state_->pause);
}

Result<std::unique_ptr<Door>> Door::Open(Loop& loop, const tcp::endpoint& endpoint,
                                         OnSocket on_socket) {
  auto state = std::make_shared<State>(loop, std::move(on_socket));
  tcp::acceptor& acceptor = state->acceptor;
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  // A restarted node takes its port back from connections that are still dying.
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
  tcp::endpoint bound;
  if (!error) bound = acceptor.local_endpoint(error);
  if (error) return SocketError("listen on " + FormatEndpoint(endpoint), error);
  AcceptNext(state);
  return std::unique_ptr<Door>(new Door(std::move(state), bound));
}

void Door::AcceptNext(const std::shared_ptr<State>& state) {
  state->acceptor.async_accept([state](const error_code& error, tcp::socket socket) {
    if (!state->open) return;
    if (error) {
      state->pause = state->loop.CallAfter(kAcceptPause, [state] { AcceptNext(state); });
      return;
    }
    state->on_socket(std::move(socket));
    if (state->open) AcceptNext(state);
  });
}

}  // namespace shoal::os
