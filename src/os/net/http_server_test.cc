// The server against clients that say bytes of the test's choice.
#include "os/net/http_server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "os/net/http_client.h"
#include "os/net/network_test_util.h"

namespace shoal::os {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kPatience = seconds(20);

// A client by hand.
class Client {
 public:
  Client(Loop& loop, const std::string& address) : loop_(loop), peer_(loop, address) {}

  void Say(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
    peer_.Say({bytes.begin(), bytes.end()});
  }
  void HangUp() { peer_.HangUp(); }

  std::string heard() const {
    return {reinterpret_cast<const char*>(peer_.heard().data()), peer_.heard().size()};
  }
  // Everything until the server hangs up.
  std::string HearAll() {
    EXPECT_TRUE(loop_.RunUntil([&] { return peer_.closed(); }, kPatience));
    return heard();
  }
  // Waits until `text` has come.
  void Hear(std::string_view text) {
    EXPECT_TRUE(loop_.RunUntil([&] { return heard().find(text) != std::string::npos; }, kPatience))
        << heard();
  }

 private:
  Loop& loop_;
  RawPeer peer_;
};

// Requests wait in `waiting` until the test answers them.
class HttpServerTest : public testing::Test {
 protected:
  struct Waiting {
    HttpServerRequest request;
    std::unique_ptr<HttpResponder> responder;
  };

  void Serve(HttpServer::Options options) {
    server_ = std::make_unique<HttpServer>(
        loop_, std::move(options),
        [this](HttpServerRequest request, std::unique_ptr<HttpResponder> responder) {
          waiting_.push_back({std::move(request), std::move(responder)});
        });
    address_ = *server_->Listen("127.0.0.1:0");
  }
  // The next request.
  Waiting Take() {
    EXPECT_TRUE(loop_.RunUntil([&] { return !waiting_.empty(); }, kPatience));
    if (waiting_.empty()) return {};
    Waiting first = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
    return first;
  }
  // What the server says to `request`, which it does not hand over.
  std::string Refusal(const std::string& request) {
    Client client(loop_, address_);
    client.Say(request);
    std::string answer = client.HearAll();
    EXPECT_TRUE(waiting_.empty());
    return answer;
  }

  Loop loop_;
  std::vector<Waiting> waiting_;
  std::unique_ptr<HttpServer> server_;
  std::string address_;
};

TEST_F(HttpServerTest, HandsRequestsOverAndAnswersThemOnOneConnection) {
  Serve({});
  Client client(loop_, address_);
  client.Say("POST /a?b=c HTTP/1.1\r\nHost: x\r\nX-Key: v\r\nContent-Length: 4\r\n\r\nbo");
  client.Say("dy");
  Waiting first = Take();
  EXPECT_EQ(first.request.method, "POST");
  EXPECT_EQ(first.request.target, "/a?b=c");
  EXPECT_EQ(FindHeader(first.request.headers, "x-key"), "v");
  EXPECT_EQ(first.request.body, "body");
  first.responder->Reply(201, {{"X-Own", "a\r\nb"}}, "made");
  client.Hear("HTTP/1.1 201 Created\r\nX-Own: a  b\r\nContent-Length: 4\r\n\r\nmade");
  client.Say("GET http://x/d HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  Waiting second = Take();
  EXPECT_EQ(second.request.target, "/d");
  second.responder->Reply(200, {}, "bye");
  EXPECT_TRUE(client.HearAll().ends_with("Connection: close\r\nContent-Length: 3\r\n\r\nbye"));
}

TEST_F(HttpServerTest, StreamsInChunks) {
  Serve({});
  Client client(loop_, address_);
  client.Say("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  Waiting request = Take();
  request.responder->Begin(200, {{"Content-Type", "text/event-stream"}});
  request.responder->Write("data: 1\n\n");
  client.Hear("chunked\r\n\r\n9\r\ndata: 1\n\n\r\n");
  request.responder->Write("");  // Would be the end.
  request.responder->Write(std::string(17, 'x'));
  request.responder->End();
  client.Hear("11\r\n" + std::string(17, 'x') + "\r\n0\r\n\r\n");
}

TEST_F(HttpServerTest, StreamsToOldClientsUntilTheConnectionEnds) {
  Serve({});
  Client client(loop_, address_);
  client.Say("GET / HTTP/1.0\r\n\r\n");
  Waiting request = Take();
  request.responder->Begin(200, {});
  request.responder->Write("a");
  request.responder->Write("b");
  request.responder->End();
  EXPECT_EQ(client.HearAll(), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nab");
}

TEST_F(HttpServerTest, PipelinedRequestsAreHandledInOrderOneAtATime) {
  Serve({});
  Client client(loop_, address_);
  std::string all;
  for (char c = 'a'; c < 'k'; ++c) {
    all += "POST /" + std::string(1, c) + " HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n" + c;
  }
  client.Say(all);
  for (char c = 'a'; c < 'k'; ++c) {
    Waiting request = Take();
    EXPECT_EQ(request.request.body, std::string(1, c));
    EXPECT_TRUE(waiting_.empty());
    request.responder->Reply(200, {}, "answer " + std::string(1, c));
    client.Hear("answer " + std::string(1, c));
  }
}

TEST_F(HttpServerTest, ReadsChunkedBodiesAndSaysContinue) {
  Serve({});
  Client client(loop_, address_);
  client.Say(
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n");
  client.Hear("HTTP/1.1 100 Continue\r\n\r\n");
  client.Say("3\r\nabc\r\n2;e=1\r\nde\r\n0\r\n\r\n");
  EXPECT_EQ(Take().request.body, "abcde");  // Not answered: 500.
  client.Hear("HTTP/1.1 500 Internal Server Error\r\n");
}

TEST_F(HttpServerTest, HeadHasNoBody) {
  Serve({});
  Client client(loop_, address_);
  client.Say("HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  Take().responder->Reply(200, {}, "12345");
  EXPECT_TRUE(client.HearAll().ends_with("Content-Length: 5\r\n\r\n"));
}

TEST_F(HttpServerTest, RefusesWhatIsWrongOrTooLarge) {
  Serve({.head_bytes_max = 1000, .body_bytes_max = 100});
  const std::string post = "POST / HTTP/1.1\r\nHost: x\r\n";
  EXPECT_TRUE(Refusal("hello\r\n\r\n").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(Refusal(std::string(2000, '\0')).starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(Refusal("GET / HTTP/3.0\r\n\r\n").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(Refusal("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(Refusal("GET nowhere HTTP/1.1\r\nHost: x\r\n\r\n").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(Refusal(post + "Content-Length: -1\r\n\r\n").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(Refusal(post + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n")
                  .starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(
      Refusal(post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(Refusal("GET /" + std::string(2000, 'a')).starts_with("HTTP/1.1 431 "));
  const std::string large = Refusal(post + "Content-Length: 101\r\n\r\n" + std::string(101, 'a'));
  EXPECT_TRUE(large.starts_with("HTTP/1.1 413 ")) << large;
  EXPECT_NE(large.find("more than 100 bytes"), std::string::npos);
  EXPECT_TRUE(Refusal(post + "Transfer-Encoding: chunked\r\n\r\n65\r\n" + std::string(101, 'a'))
                  .starts_with("HTTP/1.1 413 "));
  // A line of a chunked body that never ends: nothing is kept for it beyond a limit.
  EXPECT_TRUE(Refusal(post + "Transfer-Encoding: chunked\r\n\r\n1;" + std::string(70'000, 'e'))
                  .starts_with("HTTP/1.1 400 "));
}

TEST_F(HttpServerTest, SlowRequestsTimeOut) {
  Serve({.head_max = milliseconds(150), .body_max = milliseconds(150)});
  // A byte at a time does not help.
  Client slow(loop_, address_);
  for (const char c : std::string("GET / HTTP/1.1\r\n")) {
    slow.Say({&c, 1});
    loop_.RunUntil([] { return false; }, milliseconds(15));
  }
  EXPECT_TRUE(slow.HearAll().starts_with("HTTP/1.1 408 "));
  EXPECT_TRUE(Refusal("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc")
                  .starts_with("HTTP/1.1 408 "));
  EXPECT_EQ(Refusal(""), "");  // Never began.
}

TEST_F(HttpServerTest, IdleConnectionsEndAndBusyOnesDoNot) {
  Serve({.head_max = milliseconds(100), .idle_max = milliseconds(200)});
  Client client(loop_, address_);
  client.Say("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  Waiting request = Take();
  loop_.RunUntil([] { return false; }, milliseconds(400));  // Longer than every deadline.
  request.responder->Reply(200, {}, "late");
  EXPECT_TRUE(client.HearAll().ends_with("late"));
}

TEST_F(HttpServerTest, NoticesThatAClientGoes) {
  Serve({});
  for (const bool streaming : {false, true}) {
    auto client = std::make_unique<Client>(loop_, address_);
    client->Say("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    Waiting request = Take();
    int gone = 0;
    request.responder->OnGone([&] { ++gone; });
    if (streaming) {
      request.responder->Begin(200, {});
      request.responder->Write("some");
      client->Hear("some");
    }
    client.reset();
    EXPECT_TRUE(loop_.RunUntil([&] { return gone > 0; }, kPatience));
    request.responder->Write("nobody hears it");
    request.responder->End();
    EXPECT_EQ(gone, 1);
  }
}

TEST_F(HttpServerTest, NobodyIsToldThatAClientWentAfterTheEnd) {
  Serve({});
  auto client = std::make_unique<Client>(loop_, address_);
  client->Say("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  Waiting request = Take();
  bool gone = false;
  request.responder->OnGone([&] { gone = true; });
  request.responder->Reply(200, {}, "all");
  client->Hear("all");
  client.reset();
  EXPECT_TRUE(loop_.RunUntil([&] { return server_->connections() == 0; }, kPatience));
  EXPECT_FALSE(gone);
}

TEST_F(HttpServerTest, AStreamThatIsAbandonedIsCut) {
  Serve({});
  Client client(loop_, address_);
  client.Say("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  Waiting request = Take();
  request.responder->Begin(200, {});
  request.responder->Write("half");
  client.Hear("half");
  request.responder.reset();
  EXPECT_EQ(client.HearAll().find("0\r\n\r\n"), std::string::npos);
}

TEST_F(HttpServerTest, AClientThatDoesNotReadIsDropped) {
  Serve({.queue_bytes_max = 1 << 20});
  boost::asio::io_context nobody_runs_it;
  boost::asio::ip::tcp::socket client(nobody_runs_it);
  client.connect(*ParseEndpoint(address_));
  boost::asio::write(client, boost::asio::buffer(std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n")));
  Waiting request = Take();
  bool gone = false;
  request.responder->OnGone([&] { gone = true; });
  request.responder->Begin(200, {});
  std::size_t written = 0;
  while (!gone && written < (std::size_t{64} << 20)) {
    request.responder->Write(std::string(64 << 10, 'x'));
    written += 64 << 10;
    while (loop_.RunOne(Duration(0))) {
    }
  }
  EXPECT_TRUE(gone) << written;
  EXPECT_EQ(server_->connections(), 0U);
}

TEST_F(HttpServerTest, AWholeAnswerMayBeLargerThanTheQueue) {
  Serve({.queue_bytes_max = 1000});
  Client client(loop_, address_);
  client.Say("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  Take().responder->Reply(200, {}, std::string(5 << 20, 'x'));
  EXPECT_GT(client.HearAll().size(), std::size_t{5} << 20);
}

TEST_F(HttpServerTest, TooManyConnectionsAreRefused) {
  Serve({});
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 64; ++i) {
    clients.push_back(std::make_unique<Client>(loop_, address_));
    clients.back()->Say("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  EXPECT_TRUE(loop_.RunUntil([&] { return waiting_.size() == 64; }, kPatience));
  Client late(loop_, address_);
  late.Say("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(late.HearAll().starts_with("HTTP/1.1 503 "));
  EXPECT_EQ(waiting_.size(), 64U);
  clients.pop_back();
  EXPECT_TRUE(loop_.RunUntil([&] { return server_->connections() == 63; }, kPatience));
  Client later(loop_, address_);
  later.Say("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(loop_.RunUntil([&] { return waiting_.size() == 65; }, kPatience));
}

TEST_F(HttpServerTest, PagesMayUseItOnlyIfAllowed) {
  const std::string preflight =
      "OPTIONS /v1 HTTP/1.1\r\nHost: x\r\nOrigin: http://page\r\n"
      "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type\r\n"
      "Connection: close\r\n\r\n";
  Serve({.allow_origin = "*"});
  const std::string allowed = Refusal(preflight);
  EXPECT_TRUE(allowed.starts_with("HTTP/1.1 204 ")) << allowed;
  EXPECT_NE(allowed.find("Access-Control-Allow-Headers: content-type\r\n"), std::string::npos);
  EXPECT_NE(allowed.find("Access-Control-Allow-Origin: *\r\n"), std::string::npos);
  Serve({});
  Client client(loop_, address_);
  client.Say(preflight);
  Take().responder->Reply(204, {}, "");
  EXPECT_EQ(client.HearAll().find("Access-Control"), std::string::npos);
}

TEST_F(HttpServerTest, SaysThatAPortIsInUse) {
  Serve({});
  HttpServer other(loop_, {}, [](HttpServerRequest, std::unique_ptr<HttpResponder>) {});
  const Status status = other.Listen(address_).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.message(), address_ + " is in use; another shoal serve? use --http ADDR");
  EXPECT_EQ(other.Listen("localhost").status().code(), Code::kInvalidArgument);
}

TEST_F(HttpServerTest, CanEndBeforeItsAnswers) {
  Serve({});
  Client client(loop_, address_);
  client.Say("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  Waiting request = Take();
  bool gone = false;
  request.responder->OnGone([&] { gone = true; });
  server_.reset();
  EXPECT_TRUE(loop_.RunUntil([&] { return gone; }, kPatience));
  request.responder->Reply(200, {}, "nobody hears it");
}

}  // namespace
}  // namespace shoal::os
