#include "llm/tokenizer_json.h"

#include <gtest/gtest.h>

#include <string>

#include "llm/detokenizer.h"
#include "llm/tokenizer.h"

namespace shoal::llm {
namespace {

constexpr const char* kBytePairs = R"({
  "added_tokens": [{"id": 5, "content": "<|end|>", "special": true, "rstrip": true},
                   {"id": 6, "content": "<think>", "special": false}],
  "normalizer": {"type": "NFC"},
  "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
    {"type": "Digits", "individual_digits": true},
    {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}]},
  "post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<|end|>", "type_id": 0}}, {"Sequence": {"id": "A"}}]},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4},
            "merges": ["a b", ["ab", "c"]]}
})";

Result<Vocabulary> Read(std::string text, std::string_view from = {}, std::string_view to = {}) {
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return ReadTokenizerJson("t", text, "");
}

std::string ReadError(const std::string& text, std::string_view from = {},
                      std::string_view to = {}) {
  const auto vocabulary = Read(text, from, to);
  return vocabulary.ok() ? "read" : std::string(vocabulary.status().message());
}

TEST(TokenizerJson, BytePairs) {
  const auto vocabulary = Read(kBytePairs);
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.status().ToString();
  EXPECT_EQ(vocabulary->model, TokenModel::kBytePairs);
  EXPECT_EQ(vocabulary->pre_tokenizer, "smollm");
  EXPECT_TRUE(vocabulary->compose);
  EXPECT_EQ(vocabulary->tokens.size(), 7U);
  EXPECT_EQ(vocabulary->types[5], TokenType::kControl);
  EXPECT_EQ(vocabulary->types[6], TokenType::kUserDefined);
  EXPECT_EQ(vocabulary->merges, (std::vector<Merge>{{0, 1, 3}, {3, 2, 4}}));
  EXPECT_EQ(vocabulary->bos, 5);
  EXPECT_TRUE(vocabulary->add_bos);
  EXPECT_EQ(vocabulary->strip_right, std::vector<TokenId>{5});
  const auto tokenizer = Tokenizer::Create(*vocabulary);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().ToString();
  EXPECT_EQ(tokenizer->Encode("abc", {.add_ends = true}), (std::vector<TokenId>{5, 4}));
}

TEST(TokenizerJson, SentencePieces) {
  const auto vocabulary = Read(R"({
    "added_tokens": [{"id": 0, "content": "<unk>", "special": true}],
    "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
      {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
    "pre_tokenizer": null,
    "model": {"type": "BPE", "byte_fallback": true, "unk_token": "<unk>",
              "vocab": {"<unk>": 0, "<0x0A>": 1, "▁": 2, "a": 3, "▁a": 4}, "merges": ["▁ a"]}
  })");
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.status().ToString();
  EXPECT_EQ(vocabulary->model, TokenModel::kSentencePiece);
  EXPECT_TRUE(vocabulary->add_space_prefix);
  EXPECT_EQ(vocabulary->types[1], TokenType::kByte);
  EXPECT_EQ(vocabulary->unknown, 0);
  const auto tokenizer = Tokenizer::Create(*vocabulary);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().ToString();
  EXPECT_EQ(tokenizer->Encode("a a\n"), (std::vector<TokenId>{4, 4, 1}));
  EXPECT_EQ(Decode(*tokenizer, tokenizer->Encode("a a\n")), "a a\n");
}

TEST(TokenizerJson, TheConfigKnowsTemplateAndEnds) {
  const auto vocabulary = ReadTokenizerJson(
      "t", kBytePairs,
      R"({"eos_token": {"content": "<|end|>"}, "bos_token": null, "add_bos_token": false,
          "chat_template": [{"name": "tools", "template": "x"},
                            {"name": "default", "template": "hello"}]})");
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.status().ToString();
  EXPECT_EQ(vocabulary->eos, 5);
  EXPECT_FALSE(vocabulary->add_bos);
  EXPECT_EQ(vocabulary->chat_template, "hello");
}

TEST(TokenizerJson, SaysWhatIsWrong) {
  EXPECT_TRUE(ReadError("{").starts_with("t: [json.exception.parse_error"));
  EXPECT_EQ(ReadError("[]"), "t: the tokenizer model without a type is not supported; BPE is");
  EXPECT_EQ(ReadError(R"({"model": {"type": "WordPiece"}})"),
            "t: the tokenizer model \"WordPiece\" is not supported; BPE is");
  EXPECT_EQ(ReadError(kBytePairs, "\"c\": 2", "\"c\": 1152921504606846976"),
            "t: token \"c\" has the id 1152921504606846976; ids are 0 to 1037");
  EXPECT_EQ(ReadError(kBytePairs, "\"c\": 2", "\"c\": -1"),
            "t: token \"c\" has the id number; ids are 0 to 1037");
  EXPECT_EQ(ReadError(kBytePairs, "\"c\": 2", "\"c\": 1"),
            "t: tokens \"b\" and \"c\" both have the id 1");
  EXPECT_EQ(ReadError(kBytePairs, "\"c\": 2", "\"d\": 2"),
            "t: merge 1: \"c\" is not in the vocabulary");
  EXPECT_EQ(ReadError(kBytePairs, "\"a b\"", "\"ab\""),
            "t: merge 0: \"ab\" is not two texts with a space between them");
  EXPECT_EQ(ReadError(kBytePairs, "\"a b\"", "7"), "t: merge 0 is neither a text nor two");
  EXPECT_EQ(ReadError(kBytePairs, "NFC", "Lowercase"),
            "t: normalizer \"Lowercase\" is not supported");
  EXPECT_EQ(ReadError(kBytePairs, "\"Digits\"", "\"Whitespace\""),
            "t: pre_tokenizer \"Whitespace\" is not supported");
  EXPECT_TRUE(ReadError(kBytePairs, R"({"type": "Digits", "individual_digits": true})",
                        R"({"type": "Split", "pattern": {"Regex": "x+"}})")
                  .starts_with("t: a pre-tokenizer of this kind is not supported: x+, then gpt2;"));
}

}  // namespace
}  // namespace shoal::llm
