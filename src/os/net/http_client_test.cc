// The client against a server that says what it is told. How `shoal pull` uses it, TLS too,
// is in tests/integration/pull_*test.py.
#include "os/net/http_client.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include <thread>

namespace shoal::os {
namespace {

using boost::asio::ip::tcp;
using std::chrono::milliseconds;

// Answers the first connection with the first text, and so on, then hangs up.
class Server {
 public:
  explicit Server(std::vector<std::string> answers)
      : answers_(std::move(answers)),
        acceptor_(context_, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)),
        port_(acceptor_.local_endpoint().port()),
        thread_([this] { Serve(); }) {}
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() { Join(); }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // REQUIRES: every answer was fetched.
  const std::vector<std::string>& requests() {
    Join();
    return requests_;
  }

 private:
  void Join() {
    if (thread_.joinable()) thread_.join();
  }
  void Serve() {
    for (const std::string& answer : answers_) {
      tcp::socket socket(context_);
      boost::system::error_code error;
      acceptor_.accept(socket, error);
      std::string request;
      boost::asio::read_until(socket, boost::asio::dynamic_buffer(request), "\r\n\r\n", error);
      requests_.push_back(request);
      boost::asio::write(socket, boost::asio::buffer(answer), error);
    }
  }

  const std::vector<std::string> answers_;
  boost::asio::io_context context_;
  tcp::acceptor acceptor_;
  const std::uint16_t port_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

std::string Ok(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

class HttpClientTest : public testing::Test {
 protected:
  Result<HttpResponse> Get(const std::string& url) {
    HttpClient::Options options;
    options.silence_max = milliseconds(5000);
    options.why_none_trusted = "none here";
    return HttpClient(loop_, options)
        .Get({.url = *ParseUrl(url), .headers = {{"A", "all"}}, .private_headers = {{"P", "own"}}});
  }
  Loop loop_;
};

TEST_F(HttpClientTest, FetchesABody) {
  Server server({"HTTP/1.1 103 Early Hints\r\n\r\n" + Ok(std::string(200'000, 'x'))});
  auto response = Get(server.url() + "/a?b");
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_EQ(response->head().status, 200);
  EXPECT_EQ(response->head().Header("content-LENGTH"), "200000");
  EXPECT_EQ(response->size(), 200'000U);
  EXPECT_EQ(*response->ReadAll(1 << 20), std::string(200'000, 'x'));
  EXPECT_TRUE(server.requests()[0].starts_with("GET /a?b HTTP/1.1\r\nHost: 127.0.0.1:"));
}

TEST_F(HttpClientTest, FetchesChunksOfAnySize) {
  Server server(
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
       "1\r\na\r\nA;x=y\r\nbcdefghijk\r\n0\r\nTrailer: z\r\n\r\n"});
  auto response = Get(server.url());
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_EQ(response->size(), std::nullopt);
  EXPECT_EQ(*response->ReadAll(100), "abcdefghijk");
}

TEST_F(HttpClientTest, PrivateHeadersStayAtTheFirstOrigin) {
  Server other({Ok("there")});
  Server server(
      {"HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n",
       "HTTP/1.1 307 Elsewhere\r\nLocation: " + other.url() + "/x\r\nContent-Length: 0\r\n\r\n"});
  auto response = Get(server.url());
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_EQ(*response->ReadAll(100), "there");
  EXPECT_EQ(response->redirects().size(), 2U);
  for (const std::string& request : server.requests()) {
    EXPECT_NE(request.find("\r\nA: all\r\nP: own\r\n"), std::string::npos) << request;
  }
  EXPECT_NE(other.requests()[0].find("\r\nA: all\r\n\r\n"), std::string::npos);
}

TEST_F(HttpClientTest, PostsABodyAndFollowsNoRedirect) {
  Server server({"HTTP/1.1 307 Elsewhere\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n"});
  HttpClient client(loop_, {});
  auto response = client.Post(
      {.url = *ParseUrl(server.url() + "/a"), .headers = {}, .private_headers = {{"P", "own"}}},
      "application/json", "{\"a\":1}\r\n\r\n");
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_EQ(response->head().status, 307);
  const std::string& request = server.requests()[0];
  EXPECT_TRUE(request.starts_with("POST /a HTTP/1.1\r\n")) << request;
  EXPECT_NE(request.find("\r\nContent-Type: application/json\r\nContent-Length: 11\r\nP: own\r\n"
                         "\r\n{\"a\":1}"),
            std::string::npos)
      << request;
}

TEST_F(HttpClientTest, ACutBodyIsAFailure) {
  Server server({"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345"});
  auto response = Get(server.url());
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_EQ(response->ReadAll(100).status().code(), Code::kUnavailable);
}

TEST_F(HttpClientTest, LimitsWhatItReads) {
  Server server({Ok(std::string(1000, 'x'))});
  EXPECT_EQ(Get(server.url())->ReadAll(999).status().code(), Code::kResourceExhausted);
}

TEST_F(HttpClientTest, SaysWhy) {
  EXPECT_EQ(Get("http://127.0.0.1:1/x?secret").status().message(),
            "http://127.0.0.1:1/x: 127.0.0.1: connect: Connection refused");
  EXPECT_EQ(Get("https://127.0.0.1:1/").status().message(),
            "https://127.0.0.1:1/: cannot verify who answers: none here");
  Server server({"220 ready\r\n"});
  EXPECT_EQ(Get(server.url()).status().code(), Code::kCorruption);
}

}  // namespace
}  // namespace shoal::os
