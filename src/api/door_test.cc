#include "api/door.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "api/door_testing.h"
#include "llm/tokenizer_testing.h"

namespace shoal::api {
namespace {

using pipeline::AnswerEnd;

constexpr std::string_view kTemplate =
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}";

// A token for every byte, and <|end|> as number 256.
constexpr llm::TokenId kEnd = 256;

ServedModel Bytes(bool chat = true) {
  llm::Vocabulary vocabulary = llm::SmallBytePairs({});
  vocabulary.eos = kEnd;
  if (chat) vocabulary.chat_template = kTemplate;
  return *MakeServedModel("bytes", *llm::Tokenizer::Create(std::move(vocabulary)), 5);
}

class SomeHealth final : public HealthSource {
 public:
  Health GetHealth() const override { return health; }
  Health health{.nodes = 3, .replicas = 1, .answers_running = 2};
};

class DoorTest : public testing::Test {
 protected:
  // Collected things must outlive the door, which may still write to them.
  Collected& Send(const std::string& method, const std::string& target, std::string body = {},
                  Headers headers = {}) {
    collected_.push_back(std::make_unique<Collected>());
    door_->Handle({.method = method,
                   .target = target,
                   .headers = std::move(headers),
                   .body = std::move(body)},
                  std::make_unique<CollectingResponder>(*collected_.back()));
    return *collected_.back();
  }
  Collected& Complete(const std::string& fields, Headers headers = {}) {
    return Send("POST", "/v1/completions", R"({"prompt":"Say","max_tokens":100)" + fields + "}",
                std::move(headers));
  }
  Collected& Chat(const std::string& fields, Headers headers = {}) {
    return Send("POST", "/v1/chat/completions",
                R"({"messages":[{"role":"user","content":"Hi"}])" + fields + "}",
                std::move(headers));
  }
  // Each byte is a token.
  void Say(std::string_view text) {
    for (const char c : text) {
      answers_.Say({.token = static_cast<unsigned char>(c), .logprob = -1, .top = {}});
    }
  }
  void End() {
    answers_.Say({.token = kEnd, .logprob = -1, .top = {}});
    answers_.End(AnswerEnd::kEndToken);
  }
  // As after a restart of the head.
  void NewDoor(bool chat = true) {
    door_ = std::make_unique<Door>(DoorWorld{.answers = answers_,
                                             .health = health_,
                                             .admin = nullptr,
                                             .random = random_,
                                             .unix_time = [] { return 1000; },
                                             .grams_per_kwh = grams_per_kwh_},
                                   Bytes(chat));
  }
  void SetUp() override { NewDoor(); }

  std::vector<std::unique_ptr<Collected>> collected_;
  ScriptedAnswers answers_;
  SomeHealth health_;
  Random random_{1};
  std::optional<double> grams_per_kwh_;
  std::unique_ptr<Door> door_;
};

TEST_F(DoorTest, AWholeChat) {
  const Collected& client = Chat(R"(,"seed":7)");
  EXPECT_EQ(answers_.question().sampling.seed, 7U);
  EXPECT_EQ(answers_.question().end_tokens, std::vector<std::int32_t>{kEnd});
  Say("Hello");
  EXPECT_FALSE(client.ended);
  End();
  ASSERT_TRUE(client.ended);
  EXPECT_EQ(client.status, 200);
  const auto json = client.json();
  EXPECT_EQ(json["id"], answers_.ids.at(0));
  EXPECT_TRUE(json["id"].get<std::string>().starts_with("chatcmpl-"));
  EXPECT_EQ(json["object"], "chat.completion");
  EXPECT_EQ(json["created"], 1000);
  EXPECT_EQ(json["model"], "bytes");
  EXPECT_EQ(json["choices"][0]["message"]["role"], "assistant");
  EXPECT_EQ(json["choices"][0]["message"]["content"], "Hello");
  EXPECT_EQ(json["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(json["usage"]["prompt_tokens"], answers_.question().prompt.size());
  EXPECT_EQ(json["usage"]["completion_tokens"], 6);
  EXPECT_EQ(answers_.listening(), 0U);
}

TEST_F(DoorTest, SaysWhatAnAnswerTook) {
  const auto take = [this] {
    answers_.records.at(answers_.ids.back()).energy = {
        .joules = 7.2, .work = 8, .work_covered = 6, .estimated = true};
  };
  // Without the grid's figure nobody knows the grams.
  const Collected& plain = Chat("");
  take();
  End();
  EXPECT_EQ(plain.json()["usage"]["energy"].dump(),
            R"({"covered":0.75,"estimated":true,"joules_per_token":7.2,"wh":0.002})");
  grams_per_kwh_ = 400;
  NewDoor();
  const Collected& whole = Chat("");
  Say("ab");
  take();
  End();
  EXPECT_EQ(whole.json()["usage"]["energy"]["gco2e"], 0.0008);
  EXPECT_EQ(whole.json()["usage"]["energy"]["joules_per_token"], 2.4);  // Of three.
  const auto again = Send("GET", "/v1/answers/" + answers_.ids.back()).json();
  EXPECT_EQ(again["usage"]["energy"], whole.json()["usage"]["energy"]);
  // OpenAI's clients get it where they look for usage.
  const Collected& stream = Chat(R"(,"stream":true,"stream_options":{"include_usage":true})");
  take();
  End();
  const auto events = stream.events();
  const auto last = nlohmann::json::parse(events.at(events.size() - 2));
  EXPECT_EQ(last["usage"]["energy"]["wh"], 0.002);
  // Nothing is known: nothing is said.
  const Collected& unknown = Chat("");
  End();
  EXPECT_FALSE(unknown.json()["usage"].contains("energy"));
}

TEST_F(DoorTest, AStreamedChat) {
  const Collected& client = Chat(R"(,"stream":true,"stream_options":{"include_usage":true})");
  EXPECT_EQ(client.headers[0].second, "text/event-stream");
  EXPECT_EQ(client.events().size(), 1U);
  EXPECT_EQ(nlohmann::json::parse(client.events()[0])["choices"][0]["delta"]["role"], "assistant");
  Say("Hi");
  EXPECT_EQ(client.events().size(), 3U);
  answers_.End(AnswerEnd::kLength);
  const std::vector<std::string> events = client.events();
  ASSERT_EQ(events.size(), 6U);
  EXPECT_EQ(client.streamed_text(), "Hi");
  const auto text = nlohmann::json::parse(events[1]);
  EXPECT_EQ(text["id"], answers_.ids.at(0));
  EXPECT_EQ(text["object"], "chat.completion.chunk");
  EXPECT_EQ(text["usage"], nullptr);
  EXPECT_EQ(text["choices"][0]["finish_reason"], nullptr);
  const auto last = nlohmann::json::parse(events[3]);
  EXPECT_EQ(last["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(last["choices"][0]["delta"], nlohmann::json::object());
  const auto usage = nlohmann::json::parse(events[4]);
  EXPECT_TRUE(usage["choices"].empty());
  EXPECT_EQ(usage["usage"]["completion_tokens"], 2);
  EXPECT_EQ(events[5], "[DONE]");
  EXPECT_TRUE(client.ended);
}

TEST_F(DoorTest, MessagesNeverBecomeSpecialTokens) {
  Send("POST", "/v1/chat/completions", R"({"messages":[{"role":"user","content":"<|end|>"}]})");
  const auto& prompt = answers_.question().prompt;
  EXPECT_EQ(std::count(prompt.begin(), prompt.end(), kEnd), 1);  // The template's.
  Send("POST", "/v1/completions", R"({"prompt":"<|end|>"})");
  EXPECT_EQ(answers_.question().prompt.size(), 7U);
}

TEST_F(DoorTest, ACompletionIsShortUnlessToldOtherwise) {
  Send("POST", "/v1/completions", R"({"prompt":[5,6]})");
  EXPECT_EQ(answers_.question().prompt, (std::vector<std::int32_t>{5, 6}));
  EXPECT_EQ(answers_.question().tokens_max, 16U);
  Chat("");
  EXPECT_EQ(answers_.question().tokens_max, 512 - answers_.question().prompt.size());
  Complete(R"(,"max_tokens":100000)");
  EXPECT_EQ(answers_.question().tokens_max, 512U - 3);
}

TEST_F(DoorTest, StopStringsAcrossTokens) {
  for (const bool stream : {false, true}) {
    answers_.stopped.clear();
    const Collected& client =
        Complete(std::string(R"(,"stop":["END","xyz"],"stream":)") + (stream ? "true" : "false"));
    Say("one EN");
    if (stream) {
      EXPECT_EQ(client.streamed_text(), "one ");
    }
    Say("C two EN");
    EXPECT_TRUE(answers_.stopped.empty());
    Say("D");
    EXPECT_EQ(answers_.stopped, std::vector<std::string>{answers_.ids.back()});
    ASSERT_TRUE(client.ended);
    Say("more");  // Was under way.
    answers_.End(AnswerEnd::kStopped);
    if (stream) {
      EXPECT_EQ(client.streamed_text(), "one ENC two ");
    } else {
      EXPECT_EQ(client.json()["choices"][0]["text"], "one ENC two ");
      EXPECT_EQ(client.json()["choices"][0]["finish_reason"], "stop");
      EXPECT_EQ(client.json()["usage"]["completion_tokens"], 15);
    }
    EXPECT_EQ(answers_.listening(), 0U);
  }
}

TEST_F(DoorTest, WhatWasHeldBackIsShownAtTheEnd) {
  const Collected& client = Complete(R"(,"stop":"END","stream":true)");
  Say("the EN");
  answers_.End(AnswerEnd::kLength);
  EXPECT_EQ(client.streamed_text(), "the EN");
}

TEST_F(DoorTest, CharactersAcrossTokens) {
  const Collected& client = Complete(R"(,"stream":true)");
  for (const char c : std::string("\xF0\x9F\x90\x9F\xC3\xA9")) {
    Say({&c, 1});
    // Every event is JSON, and so UTF-8.
    for (const std::string& event : client.events()) {
      EXPECT_TRUE(nlohmann::json::accept(event)) << event;
    }
  }
  Say("\xE2\x82");
  answers_.End(AnswerEnd::kLength);
  EXPECT_EQ(client.streamed_text(), "\xF0\x9F\x90\x9F\xC3\xA9\xEF\xBF\xBD");
}

TEST_F(DoorTest, AClientThatGoesCancelsItsAnswer) {
  for (const char* stream : {"true", "false"}) {
    answers_.cancelled.clear();
    Collected& client = Chat(std::string(R"(,"stream":)") + stream);
    Say("Hel");
    client.GoAway();
    EXPECT_EQ(answers_.cancelled, std::vector<std::string>{answers_.ids.back()});
    EXPECT_EQ(answers_.listening(), 0U);
  }
}

TEST_F(DoorTest, AnAnswerThatIsKeptGoesOnAlone) {
  Collected& client = Chat(R"(,"stream":true,"stop":"END")", {{"Shoal-Keep", "1"}});
  Say("Hel");
  client.GoAway();
  // One who looks after it is enough, however often clients come and go.
  for (int i = 0; i < 3; ++i) Send("GET", "/v1/answers/" + answers_.ids[0] + "?stream=1").GoAway();
  EXPECT_EQ(answers_.listening(), 1U);
  EXPECT_TRUE(answers_.stopped.empty());
  EXPECT_TRUE(answers_.cancelled.empty());
  Say("lo");
  EXPECT_EQ(Send("GET", "/v1/answers/" + answers_.ids[0]).json()["choices"][0]["finish_reason"],
            nullptr);
  Say("END");
  EXPECT_EQ(answers_.stopped, answers_.ids);  // Somebody looked after the stop string.
  answers_.End(AnswerEnd::kStopped);
  const auto json = Send("GET", "/v1/answers/" + answers_.ids[0]).json();
  EXPECT_EQ(json["choices"][0]["message"]["content"], "Hello");
  EXPECT_EQ(json["choices"][0]["finish_reason"], "stop");
}

TEST_F(DoorTest, AnAnswerCanBeHadAgainAfterARestart) {
  Chat(R"(,"stream":true,"stop":"END")");
  const std::string id = answers_.ids[0];
  Say("Hello \xC3");
  answers_.listeners.clear();
  NewDoor();
  const auto part = Send("GET", "/v1/answers/" + id).json();
  EXPECT_EQ(part["id"], id);
  EXPECT_EQ(part["object"], "chat.completion");
  EXPECT_EQ(part["created"], 1000);
  EXPECT_EQ(part["choices"][0]["message"]["content"], "Hello ");
  const Collected& again = Send("GET", "/v1/answers/" + id + "?stream=1");
  EXPECT_EQ(again.streamed_text(), "Hello ");
  Say("\xA9 ENDless");
  EXPECT_EQ(again.streamed_text(), "Hello \xC3\xA9 ");
  EXPECT_EQ(again.events().back(), "[DONE]");
  answers_.End(AnswerEnd::kStopped);
  const Collected& late = Send("GET", "/v1/answers/" + id + "?stream=1");
  EXPECT_TRUE(late.ended);
  EXPECT_EQ(late.streamed_text(), "Hello \xC3\xA9 ");
  EXPECT_EQ(nlohmann::json::parse(late.events().rbegin()[1])["choices"][0]["finish_reason"],
            "stop");
}

TEST_F(DoorTest, AnAnswerThatWasMadeAgainSaysSo) {
  Complete("");
  const std::string id = answers_.ids[0];
  answers_.End(AnswerEnd::kEndToken);
  EXPECT_FALSE(Send("GET", "/v1/answers/" + id).json()["usage"].contains("recomputed"));
  answers_.records.at(id).remade = 2;
  EXPECT_EQ(Send("GET", "/v1/answers/" + id).json()["usage"]["recomputed"], 2);
}

TEST_F(DoorTest, AStopStringThatNobodySawEndsTheAnswer) {
  Complete(R"(,"stop":"END")");
  answers_.listeners.clear();
  NewDoor();
  Say("so END ... and on");
  const Collected& again = Send("GET", "/v1/answers/" + answers_.ids[0] + "?stream=1");
  EXPECT_EQ(again.streamed_text(), "so ");
  EXPECT_TRUE(again.ended);
  EXPECT_EQ(answers_.stopped, answers_.ids);
}

TEST_F(DoorTest, AnAnswerEndsWithItsLastClient) {
  Collected& first = Chat(R"(,"stream":true)");
  Collected& second = Send("GET", "/v1/answers/" + answers_.ids[0] + "?stream=1");
  first.GoAway();
  EXPECT_TRUE(answers_.cancelled.empty());
  Say("Hi");
  EXPECT_EQ(second.streamed_text(), "Hi");
  second.GoAway();
  EXPECT_EQ(answers_.cancelled, answers_.ids);
}

TEST_F(DoorTest, WaitingIsSaidInStreams) {
  const Collected& stream = Chat(R"(,"stream":true)");
  answers_.Wait("too few phones:\nlayers 3 to 5 are nobody's");
  EXPECT_TRUE(stream.body.ends_with(": waiting: too few phones: layers 3 to 5 are nobody's\n\n"));
  answers_.Wait("");
  const Collected& whole = Chat("");
  answers_.Wait("too few phones");
  EXPECT_TRUE(whole.body.empty());
}

TEST_F(DoorTest, FailuresAreSaid) {
  const Collected& whole = Chat("");
  answers_.End(AnswerEnd::kFailed, {Code::kUnavailable, "no phones for an hour"});
  EXPECT_EQ(whole.status, 503);
  EXPECT_EQ(whole.json()["error"]["message"], "no phones for an hour");
  const Collected& stream = Chat(R"(,"stream":true)");
  Say("Hi");
  answers_.End(AnswerEnd::kFailed, {Code::kCorruption, "a logit is no number"});
  EXPECT_EQ(nlohmann::json::parse(stream.events().back())["error"]["type"], "server_error");
  EXPECT_TRUE(stream.ended);
  answers_.refusal = {Code::kResourceExhausted, "too many wait"};
  const Collected& refused = Chat(R"(,"stream":true)");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.json()["error"]["type"], "rate_limit_error");
}

TEST_F(DoorTest, ManyAtOnceDoNotMix) {
  std::vector<Collected*> clients;
  for (int i = 0; i < 20; ++i) clients.push_back(&Chat(R"(,"stream":true)"));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 20; ++i) {
      answers_.Say({.token = 'a' + i, .logprob = 0, .top = {}},
                   answers_.ids[static_cast<std::size_t>(i)]);
    }
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(clients[static_cast<std::size_t>(i)]->streamed_text(),
              std::string(3, static_cast<char>('a' + i)));
  }
  std::sort(answers_.ids.begin(), answers_.ids.end());
  EXPECT_EQ(std::unique(answers_.ids.begin(), answers_.ids.end()), answers_.ids.end());
}

TEST_F(DoorTest, Logprobs) {
  const llm::SampledToken token{.token = 'A', .logprob = -0.5F, .top = {{'A', -0.5F}, {'B', -2}}};
  const Collected& chat = Chat(R"(,"logprobs":true,"top_logprobs":2)");
  EXPECT_EQ(answers_.question().sampling.top_logprobs, 2U);
  answers_.Say(token);
  answers_.Say({.token = 0xC3, .logprob = -1, .top = {}});
  answers_.End(AnswerEnd::kLength);
  const auto content = chat.json()["choices"][0]["logprobs"]["content"];
  ASSERT_EQ(content.size(), 2U);
  EXPECT_EQ(content[0]["token"], "A");
  EXPECT_EQ(content[0]["logprob"], -0.5);
  EXPECT_EQ(content[0]["top_logprobs"][1]["token"], "B");
  EXPECT_EQ(content[1]["bytes"], nlohmann::json::array({0xC3}));

  const Collected& stream = Complete(R"(,"logprobs":2,"stream":true)");
  answers_.Say(token);
  answers_.Say(token);
  answers_.End(AnswerEnd::kLength);
  const auto second = nlohmann::json::parse(stream.events()[1])["choices"][0]["logprobs"];
  EXPECT_EQ(second["tokens"], nlohmann::json::array({"A"}));
  EXPECT_EQ(second["top_logprobs"][0]["B"], -2);
  EXPECT_EQ(second["text_offset"], nlohmann::json::array({1}));
}

TEST_F(DoorTest, LogprobsOfTokensWithoutTextAreNotLost) {
  const Collected& stream = Chat(R"(,"logprobs":true,"stream":true,"stop":"AB")");
  answers_.Say({.token = 'A', .logprob = -1, .top = {}});
  answers_.Say({.token = 'B', .logprob = -1, .top = {}});
  EXPECT_NE(stream.body.find("\"bytes\":[66]"), std::string::npos);
}

TEST_F(DoorTest, RefusesRequests) {
  EXPECT_EQ(Chat(R"(,"temperature":9)").json()["error"]["param"], "temperature");
  const auto unknown = Chat(R"(,"model":"gpt")").json()["error"];
  EXPECT_EQ(unknown["code"], "model_not_found");
  EXPECT_NE(unknown["message"].get<std::string>().find("\"bytes\" is"), std::string::npos);
  EXPECT_EQ(Chat(R"(,"logit_bias":{"100000":1})").json()["error"]["param"], "logit_bias");
  answers_.context_tokens = 10;
  const auto large = Send("POST", "/v1/completions", R"({"prompt":"0123456789"})").json()["error"];
  EXPECT_EQ(large["code"], "context_length_exceeded");
  NewDoor(/*chat=*/false);
  EXPECT_NE(Chat("").json()["error"]["message"].get<std::string>().find("/v1/completions"),
            std::string::npos);
  EXPECT_TRUE(answers_.ids.empty());
}

TEST_F(DoorTest, Paths) {
  const auto models = Send("GET", "/v1/models").json();
  EXPECT_EQ(models["data"][0]["id"], "bytes");
  EXPECT_EQ(models["data"][0]["created"], 5);
  EXPECT_EQ(Send("HEAD", "/v1/models?x").status, 200);
  EXPECT_EQ(Send("GET", "/nowhere").status, 404);
  EXPECT_EQ(Send("GET", "/shoal/nodes").status, 404);
  EXPECT_EQ(Send("GET", "/v1/answers/nobody's").status, 404);
  EXPECT_EQ(Send("GET", "/v1/completions").status, 405);
  EXPECT_EQ(Send("DELETE", "/v1/answers/x").status, 405);
  EXPECT_EQ(Send("OPTIONS", "/v1/completions").headers, (Headers{{"Allow", "POST, OPTIONS"}}));
}

TEST_F(DoorTest, Health) {
  EXPECT_EQ(
      Send("GET", "/health").json(),
      nlohmann::json::parse(
          R"({"status":"ok","nodes":3,"replicas":1,"answers_running":2,"answers_waiting":0})"));
  health_.health.waiting = "too few phones";
  const Collected& waiting = Send("GET", "/health");
  EXPECT_EQ(waiting.status, 503);
  EXPECT_EQ(waiting.json()["status"], "waiting");
  EXPECT_EQ(waiting.json()["why"], "too few phones");
}

TEST_F(DoorTest, EndsBeforeItsClients) {
  Collected& client = Chat(R"(,"stream":true)");
  door_.reset();
  EXPECT_EQ(answers_.listening(), 0U);
  client.GoAway();
}

}  // namespace
}  // namespace shoal::api
