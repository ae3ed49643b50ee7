#include "api/chat_request.h"

#include <gtest/gtest.h>

#include <string>

namespace shoal::api {
namespace {

CompletionRequest Read(AnswerKind kind, const std::string& body) {
  auto read = ReadCompletionRequest(kind, body);
  const auto* error = std::get_if<ApiError>(&read);
  EXPECT_EQ(error, nullptr) << error->message;
  return error == nullptr ? std::get<CompletionRequest>(read) : CompletionRequest();
}

// A chat with these further fields.
std::string Chat(const std::string& fields) {
  return R"({"messages":[{"role":"user","content":"Hi"}])" + (fields.empty() ? "" : "," + fields) +
         "}";
}

ApiError Error(AnswerKind kind, const std::string& body) {
  auto read = ReadCompletionRequest(kind, body);
  const auto* error = std::get_if<ApiError>(&read);
  EXPECT_NE(error, nullptr) << body;
  return error == nullptr ? ApiError() : *error;
}

// The field that is named for being wrong.
std::string Wrong(const std::string& fields) {
  const ApiError error = Error(AnswerKind::kChat, Chat(fields));
  EXPECT_EQ(error.status, 400);
  EXPECT_TRUE(error.message.starts_with(error.param + ": ")) << error.message;
  return error.param;
}

TEST(ChatRequest, DefaultsAreOpenAis) {
  const CompletionRequest request = Read(AnswerKind::kChat, Chat(""));
  EXPECT_EQ(request.messages.size(), 1U);
  EXPECT_EQ(request.sampling.temperature, 1);
  EXPECT_EQ(request.sampling.top_p, 1);
  EXPECT_EQ(request.sampling.top_k, 0U);
  EXPECT_EQ(request.sampling.min_p, 0);
  EXPECT_EQ(request.tokens_max, std::nullopt);
  EXPECT_EQ(request.seed, std::nullopt);
  EXPECT_FALSE(request.stream);
}

TEST(ChatRequest, ReadsEveryField) {
  const CompletionRequest request = Read(AnswerKind::kChat, R"({
    "model": "m", "messages": [
      {"role": "developer", "content": "Be brief."},
      {"role": "user", "name": "x", "content": [{"type":"text","text":"a"},{"type":"text","text":"b"}]},
      {"role": "assistant", "content": null}, {"role": "tool", "content": "7"}],
    "max_tokens": 5, "max_completion_tokens": 7.0, "temperature": 0, "top_p": 0.5, "top_k": 3,
    "min_p": 0.25, "n": 1, "seed": -1, "stop": ["x", "yz"], "stream": true,
    "stream_options": {"include_usage": true}, "presence_penalty": 0.5, "frequency_penalty": -2,
    "repetition_penalty": 1.5, "logit_bias": {"7": -100, "8": 1.5}, "logprobs": true,
    "top_logprobs": 20, "user": 7, "tools": [], "response_format": {"type": "text"},
    "unheard": {"of": [1, 2]}})");
  EXPECT_EQ(request.model, "m");
  ASSERT_EQ(request.messages.size(), 4U);
  EXPECT_EQ(request.messages[0].role, "system");
  EXPECT_EQ(request.messages[1].content, "ab");
  EXPECT_EQ(request.messages[2].content, "");
  EXPECT_EQ(request.tokens_max, 7U);
  EXPECT_EQ(request.sampling.temperature, 0);
  EXPECT_EQ(request.sampling.top_p, 0.5F);
  EXPECT_EQ(request.sampling.top_k, 3U);
  EXPECT_EQ(request.sampling.min_p, 0.25F);
  EXPECT_EQ(request.seed, ~std::uint64_t{0});
  EXPECT_EQ(request.stop, (std::vector<std::string>{"x", "yz"}));
  EXPECT_TRUE(request.stream);
  EXPECT_TRUE(request.include_usage);
  EXPECT_EQ(request.sampling.presence_penalty, 0.5F);
  EXPECT_EQ(request.sampling.frequency_penalty, -2);
  EXPECT_EQ(request.sampling.repetition_penalty, 1.5F);
  EXPECT_EQ(request.sampling.logit_bias,
            (std::vector<std::pair<std::int32_t, float>>{{7, -100.0F}, {8, 1.5F}}));
  EXPECT_TRUE(request.logprobs);
  EXPECT_EQ(request.sampling.top_logprobs, 20U);
}

TEST(ChatRequest, NullIsAbsent) {
  const CompletionRequest request = Read(
      AnswerKind::kChat,
      Chat(R"("max_tokens":null,"temperature":null,"stop":null,"seed":null,"stream":null,"n":null,
              "logit_bias":null,"tools":null,"stream_options":null,"model":null)"));
  EXPECT_EQ(request.sampling.temperature, 1);
}

TEST(ChatRequest, ReadsPrompts) {
  const auto prompt = [](const std::string& json) {
    return Read(AnswerKind::kCompletion, R"({"prompt":)" + json + "}");
  };
  EXPECT_EQ(prompt("\"a\"").prompt, "a");
  EXPECT_EQ(prompt("\"\"").prompt, "");
  EXPECT_EQ(prompt("[\"a\"]").prompt, "a");
  EXPECT_EQ(prompt("[1,2]").prompt_tokens, (std::vector<llm::TokenId>{1, 2}));
  EXPECT_EQ(prompt("[[3]]").prompt_tokens, (std::vector<llm::TokenId>{3}));
  EXPECT_EQ(prompt("\"a\",\"logprobs\":2").sampling.top_logprobs, 2U);
  EXPECT_TRUE(prompt("\"a\",\"logprobs\":0").logprobs);
  for (const char* wrong : {"null", "1", "[]", "[[]]", "[\"a\",\"b\"]", "[1,\"a\"]", "[-1]",
                            "[1.5]", "[4294967296]", "{}", "[[[1]]]", "[{}]"}) {
    EXPECT_EQ(Error(AnswerKind::kCompletion, R"({"prompt":)" + std::string(wrong) + "}").param,
              "prompt")
        << wrong;
  }
}

TEST(ChatRequest, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(Wrong(R"("model":1)"), "model");
  EXPECT_EQ(Wrong(R"("max_tokens":0)"), "max_tokens");
  EXPECT_EQ(Wrong(R"("max_tokens":1.5)"), "max_tokens");
  EXPECT_EQ(Wrong(R"("max_completion_tokens":"7")"), "max_completion_tokens");
  EXPECT_EQ(Wrong(R"("max_tokens":1e300)"), "max_tokens");
  EXPECT_EQ(Wrong(R"("temperature":"hot")"), "temperature");
  EXPECT_EQ(Wrong(R"("temperature":2.1)"), "temperature");
  EXPECT_EQ(Wrong(R"("temperature":-1)"), "temperature");
  EXPECT_EQ(Wrong(R"("top_p":1.01)"), "top_p");
  EXPECT_EQ(Wrong(R"("top_k":-2)"), "top_k");
  EXPECT_EQ(Wrong(R"("min_p":true)"), "min_p");
  EXPECT_EQ(Wrong(R"("presence_penalty":3)"), "presence_penalty");
  EXPECT_EQ(Wrong(R"("frequency_penalty":[])"), "frequency_penalty");
  EXPECT_EQ(Wrong(R"("repetition_penalty":0)"), "repetition_penalty");
  EXPECT_EQ(Wrong(R"("seed":1.5)"), "seed");
  EXPECT_EQ(Wrong(R"("seed":9223372036854775808.0)"), "seed");
  EXPECT_EQ(Wrong(R"("stop":1)"), "stop");
  EXPECT_EQ(Wrong(R"("stop":["1","2","3","4","5"])"), "stop");
  EXPECT_EQ(Wrong(R"("stop":")" + std::string(kStopBytesMax + 1, 'x') + "\""), "stop");
  EXPECT_EQ(Wrong(R"("stream":1)"), "stream");
  EXPECT_EQ(Wrong(R"("stream_options":{"include_usage":1})"), "stream_options.include_usage");
  EXPECT_EQ(Wrong(R"("logit_bias":{"x":1})"), "logit_bias");
  EXPECT_EQ(Wrong(R"("logit_bias":{"1":101})"), "logit_bias");
  EXPECT_EQ(Wrong(R"("logit_bias":[1])"), "logit_bias");
  EXPECT_EQ(Wrong(R"("logprobs":1)"), "logprobs");
  EXPECT_EQ(Wrong(R"("logprobs":true,"top_logprobs":21)"), "top_logprobs");
  EXPECT_EQ(Wrong(R"("top_logprobs":1)"), "top_logprobs");
}

TEST(ChatRequest, RefusesWhatItCannotHonour) {
  EXPECT_EQ(Wrong(R"("n":2)"), "n");
  EXPECT_EQ(Wrong(R"("best_of":3)"), "best_of");
  EXPECT_EQ(Wrong(R"("tools":[{"type":"function"}])"), "tools");
  EXPECT_EQ(Wrong(R"("echo":true)"), "echo");
  EXPECT_EQ(Wrong(R"("suffix":"x")"), "suffix");
  EXPECT_EQ(Wrong(R"("response_format":{"type":"json_object"})"), "response_format");
  EXPECT_EQ(Wrong(R"("response_format":1)"), "response_format");
}

TEST(ChatRequest, NamesTheMessageThatIsWrong) {
  const auto wrong = [](const std::string& messages) {
    return Error(AnswerKind::kChat, R"({"messages":)" + messages + "}").param;
  };
  EXPECT_EQ(wrong("null"), "messages");
  EXPECT_EQ(wrong("[]"), "messages");
  EXPECT_EQ(wrong("[1]"), "messages[0]");
  EXPECT_EQ(wrong("[{}]"), "messages[0].role");
  EXPECT_EQ(wrong(R"([{"role":"user","content":"x"},{"role":"king","content":"x"}])"),
            "messages[1].role");
  EXPECT_EQ(wrong(R"([{"role":"user"}])"), "messages[0].content");
  EXPECT_EQ(wrong(R"([{"role":"user","content":7}])"), "messages[0].content");
  EXPECT_EQ(wrong(R"([{"role":"user","content":[{"type":"image_url"}]}])"), "messages[0].content");
  EXPECT_EQ(wrong(R"([{"role":"user","content":[{"type":"text","text":7}]}])"),
            "messages[0].content");
  EXPECT_EQ(
      wrong(R"([{"role":"user","content":")" + std::string(kPromptBytesMax + 1, 'x') + "\"}]"),
      "messages");
  std::string many = "[";
  for (std::size_t i = 0; i <= kMessagesMax; ++i) many += "1,";
  EXPECT_EQ(wrong(many + "1]"), "messages");
}

TEST(ChatRequest, RefusesWhatIsNoModestJson) {
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("[]"), std::string("{\"a\":\"\xFF\"}"),
        std::string("{\"a\":1e999}"), std::string(100'000, '['),
        R"({"a":[)" + std::string(2'000'000, ',') + "]}"}) {
    const ApiError error = Error(AnswerKind::kChat, body);
    EXPECT_EQ(error.status, 400);
    EXPECT_TRUE(error.message.starts_with("the body")) << error.message;
  }
}

}  // namespace
}  // namespace shoal::api
