// The door from outside: a real server, a real model (zoo/bard), clients over sockets.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <ctime>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/door.h"
#include "base/parallel.h"
#include "engine_answers.h"
#include "llm/detokenizer.h"
#include "llm/engine.h"
#include "os/loop.h"
#include "os/net/http_client.h"
#include "os/net/http_server.h"
#include "shoal/door_adapter.h"
#include "shoal/model_files.h"
#include "shoal/tokenizer_files.h"

namespace shoal {
namespace {

using nlohmann::json;

const std::string kBard = SHOAL_ZOO "/bard/bard-q8_0.gguf";
constexpr std::size_t kContext = 512;

class NoHealth final : public api::HealthSource {
 public:
  api::Health GetHealth() const override { return {.nodes = 1}; }
};

// A head that serves bard, on a thread of its own.
class Head {
 public:
  Head()
      : model_(*OpenModel(kBard)),
        tokenizer_(*OpenTokenizer(kBard)),
        engine_(
            *llm::Engine::Load(model_.weights, model_.config, {.context = 16 * kContext}, serial_)),
        answers_(loop_, *engine_, kContext) {
    Open();
    thread_ = std::thread([this] { loop_.Run(); });
  }
  ~Head() {
    loop_.Stop();
    thread_.join();
  }
  Head(const Head&) = delete;
  Head& operator=(const Head&) = delete;

  const llm::Tokenizer& tokenizer() const { return tokenizer_; }
  std::string url() const { return "http://" + address_; }
  // REQUIRES: nothing runs.
  llm::Engine& engine() { return *engine_; }

  // Runs `task` on the head's loop and waits for it.
  void Run(const std::function<void()>& task) {
    std::promise<void> done;
    loop_.Post([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }
  // New server and new door, as after a restart; the answers are as they were.
  void Reopen() {
    Run([this] {
      server_.reset();
      door_.reset();
      Open();
    });
  }
  std::size_t running() {
    std::size_t count = 0;
    Run([&] { count = answers_.running(); });
    return count;
  }
  // REQUIRES: it has.
  pipeline::AnswerEnd HowItEnded(const std::string& id) {
    pipeline::AnswerEnd how{};
    Run([&] { how = answers_.Find(id)->how; });
    return how;
  }
  // False: still some after a while.
  bool AllEnd() {
    for (int i = 0; i < 2000 && running() > 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return running() == 0;
  }

 private:
  void Open() {
    door_ = std::make_unique<api::Door>(
        api::DoorWorld{.answers = answers_,
                       .health = health_,
                       .admin = nullptr,
                       .random = random_,
                       .unix_time = [] { return std::int64_t{std::time(nullptr)}; }},
        *api::MakeServedModel("bard", tokenizer_, 0));
    server_ = std::make_unique<os::HttpServer>(loop_, os::HttpServer::Options{}, HandlerOf(*door_));
    address_ = *server_->Listen("127.0.0.1:0");
  }

  Serial serial_;
  OpenedModel model_;
  llm::Tokenizer tokenizer_;
  std::unique_ptr<llm::Engine> engine_;
  NoHealth health_;
  Random random_{7};
  os::Loop loop_;
  EngineAnswers answers_;
  std::unique_ptr<api::Door> door_;
  std::unique_ptr<os::HttpServer> server_;
  std::string address_;
  std::thread thread_;
};

// A client with a loop of its own, for one thread. Outlives its responses.
class Client {
 public:
  explicit Client(const Head& head) : url_(head.url()) {}

  os::HttpResponse Post(const std::string& path, const json& body, os::HttpHeaders headers = {}) {
    return *client_.Post(
        {.url = *os::ParseUrl(url_ + path), .headers = std::move(headers), .private_headers = {}},
        "application/json", body.dump());
  }
  os::HttpResponse Get(const std::string& path) {
    return *client_.Get({.url = *os::ParseUrl(url_ + path), .headers = {}, .private_headers = {}});
  }

 private:
  os::Loop loop_;
  os::HttpClient client_{loop_, {}};
  std::string url_;
};

json ReadJson(os::HttpResponse response) { return json::parse(*response.ReadAll(1 << 20)); }

// The events of a stream.
std::vector<std::string> EventsOf(const std::string& stream) {
  std::vector<std::string> events;
  for (std::size_t at = 0; (at = stream.find("data: ", at)) != std::string::npos; at += 6) {
    events.push_back(stream.substr(at + 6, stream.find("\n\n", at) - at - 6));
  }
  return events;
}

std::string TextOf(const std::vector<std::string>& events) {
  std::string text;
  for (const std::string& event : events) {
    if (event == "[DONE]") break;
    const json chunk = json::parse(event);
    for (const json& choice : chunk.at("choices")) {
      text += choice.contains("delta") ? choice["delta"].value("content", "")
                                       : choice["text"].get<std::string>();
    }
  }
  return text;
}

// Reads until an event with text has come; the id.
std::string ReadSome(os::HttpResponse& response) {
  std::string stream;
  std::array<std::byte, 1024> buffer{};
  while (TextOf(EventsOf(stream.substr(0, stream.rfind("\n\n") + 1))).empty()) {
    const auto n = response.Read(buffer);
    if (!n.ok() || *n == 0) return {};
    stream.append(reinterpret_cast<const char*>(buffer.data()), *n);
  }
  return json::parse(EventsOf(stream)[0])["id"];
}

json Chat(int seed, bool stream, int tokens = 40) {
  return {{"model", "bard"},
          {"messages", {{{"role", "user"}, {"content", "Good morrow, cousin."}}}},
          {"seed", seed},
          {"max_tokens", tokens},
          {"stream", stream}};
}

TEST(DoorHttp, ACompletionIsWhatTheEngineSays) {
  Head head;
  Client client(head);
  const json answer = ReadJson(client.Post(
      "/v1/completions", {{"prompt", "ROMEO:"}, {"temperature", 0}, {"max_tokens", 30}}));
  llm::Generation generation(head.engine(), {.temperature = 0}, 0);
  generation.Append(head.tokenizer().Encode("ROMEO:", {.add_ends = true}));
  std::vector<llm::TokenId> tokens;
  for (int i = 0; i < 30; ++i) tokens.push_back(generation.Next()->token);
  EXPECT_EQ(answer["choices"][0]["text"],
            llm::Decode(head.tokenizer(), tokens, {.continues = true}));
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(answer["usage"]["completion_tokens"], 30);
}

TEST(DoorHttp, StreamedAndWholeAreTheSameAndManyAtOnceToo) {
  Head head;
  Client single(head);
  constexpr int kClients = 8;
  std::vector<std::string> whole;
  for (int i = 0; i < kClients; ++i) {
    const json answer = ReadJson(single.Post("/v1/chat/completions", Chat(i, false)));
    whole.push_back(answer["choices"][0]["message"]["content"]);
    EXPECT_FALSE(whole.back().empty());
  }
  EXPECT_NE(whole[0], whole[1]);
  std::vector<std::string> streamed(kClients);
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&, i] {
      Client client(head);
      auto response = client.Post("/v1/chat/completions", Chat(i, true));
      const auto events = EventsOf(*response.ReadAll(1 << 20));
      if (!events.empty() && events.back() == "[DONE]") {
        streamed[static_cast<std::size_t>(i)] = TextOf(events);
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(streamed, whole);
}

TEST(DoorHttp, AClientThatGoesCancelsItsAnswer) {
  Head head;
  std::string id;
  {
    Client client(head);
    json body = Chat(1, true, 480);
    body["logit_bias"] = json::object();
    const api::ServedModel model = *api::MakeServedModel("bard", head.tokenizer(), 0);
    for (const llm::TokenId end : model.end_tokens) {
      body["logit_bias"][std::to_string(end)] = -100;  // It would go on for long.
    }
    auto response = client.Post("/v1/chat/completions", body);
    id = ReadSome(response);
    ASSERT_FALSE(id.empty());
  }
  EXPECT_TRUE(head.AllEnd());
  EXPECT_EQ(head.HowItEnded(id), pipeline::AnswerEnd::kStopped);
}

TEST(DoorHttp, AnAnswerIsHadAgainByItsIdAfterARestart) {
  Head head;
  Client client(head);
  const json whole = ReadJson(client.Post("/v1/chat/completions", Chat(3, false, 200)));
  std::optional<os::HttpResponse> cut =
      client.Post("/v1/chat/completions", Chat(3, true, 200), {{"Shoal-Keep", "1"}});
  const std::string id = ReadSome(*cut);
  ASSERT_FALSE(id.empty());
  head.Reopen();
  cut.reset();
  Client later(head);
  const auto events = EventsOf(*later.Get("/v1/answers/" + id + "?stream=1").ReadAll(1 << 20));
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back(), "[DONE]");
  EXPECT_EQ(json::parse(events[0])["id"], id);
  EXPECT_EQ(TextOf(events), whole["choices"][0]["message"]["content"]);
  const json again = ReadJson(later.Get("/v1/answers/" + id));
  EXPECT_EQ(again["choices"], whole["choices"]);
  EXPECT_EQ(again["usage"], whole["usage"]);
}

TEST(DoorHttp, StopStringsAndErrors) {
  Head head;
  Client client(head);
  json body = {{"prompt", "ROMEO:"}, {"temperature", 0}, {"max_tokens", 40}};
  const std::string text = ReadJson(client.Post("/v1/completions", body))["choices"][0]["text"];
  const std::string stop = text.substr(text.size() / 2, 3);
  body["stop"] = stop;
  const json stopped = ReadJson(client.Post("/v1/completions", body));
  EXPECT_EQ(stopped["choices"][0]["text"], text.substr(0, text.find(stop)));
  EXPECT_EQ(stopped["choices"][0]["finish_reason"], "stop");
  auto refused = client.Post("/v1/completions", {{"prompt", "x"}, {"top_p", 2}});
  EXPECT_EQ(refused.head().status, 400);
  EXPECT_EQ(ReadJson(std::move(refused))["error"]["param"], "top_p");
  EXPECT_EQ(client.Post("/v1/completions", {{"prompt", {999'999}}}).head().status, 400);
  EXPECT_EQ(ReadJson(client.Get("/v1/models"))["data"][0]["id"], "bard");
  EXPECT_EQ(ReadJson(client.Get("/health"))["status"], "ok");
  EXPECT_TRUE(head.AllEnd());
}

}  // namespace
}  // namespace shoal
