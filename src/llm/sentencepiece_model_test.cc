#include "llm/sentencepiece_model.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "llm/gguf_testing.h"
#include "llm/tokenizer.h"

namespace shoal::llm {
namespace {

// A field of bytes; all are shorter than 128.
std::string Bytes(int field, const std::string& value) {
  return std::string(1, static_cast<char>(field << 3 | 2)) +
         std::string(1, static_cast<char>(value.size())) + value;
}

std::string Number(int field, int value) {
  std::string out;
  const int tag = field << 3;
  if (tag > 127) out += static_cast<char>((tag & 127) | 128);
  out += static_cast<char>(tag > 127 ? tag >> 7 : tag);
  return out + static_cast<char>(value);
}

std::string Piece(const std::string& text, float score, int type) {
  std::string bits(4, '\0');
  std::memcpy(bits.data(), &score, 4);
  return Bytes(
      1, Bytes(1, text) + std::string(1, static_cast<char>(2 << 3 | 5)) + bits + Number(3, type));
}

std::string Model(int kind = 2) {
  return Piece("<unk>", 0, 2) + Piece("<s>", 0, 3) + Piece("</s>", 0, 3) + Piece("<0x0A>", 0, 6) +
         Piece("\u2581", -3, 1) + Piece("a", -4, 1) + Piece("\u2581a", -1, 1) +
         Bytes(2, Number(3, kind) + Number(40, 0) + Number(41, 1) + Number(42, 2)) +
         Bytes(3, Number(3, 1));
}

TEST(SentencePieceModelTest, ReadsPieces) {
  const std::string bytes = Model();
  const auto vocabulary = ReadSentencePieceModel("t", AsBytes(bytes), "");
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.status().ToString();
  EXPECT_EQ(vocabulary->tokens.size(), 7U);
  EXPECT_EQ(vocabulary->types[3], TokenType::kByte);
  EXPECT_EQ(vocabulary->scores[6], -1.0F);
  EXPECT_EQ(vocabulary->bos, 1);
  EXPECT_TRUE(vocabulary->add_space_prefix);
  const auto tokenizer = Tokenizer::Create(*vocabulary);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().ToString();
  EXPECT_EQ(tokenizer->Encode("a a", {.special = SpecialTokens::kAsText, .add_ends = true}),
            (std::vector<TokenId>{1, 6, 6}));
}

TEST(SentencePieceModelTest, TheConfigAddsWhatItKnows) {
  const std::string bytes = Model();
  const auto vocabulary = ReadSentencePieceModel(
      "t", AsBytes(bytes),
      R"({"add_bos_token":false,"chat_template":[{"name":"default","template":"x"}]})");
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.status().ToString();
  EXPECT_FALSE(vocabulary->add_bos);
  EXPECT_EQ(vocabulary->chat_template, "x");
  EXPECT_FALSE(ReadSentencePieceModel("t", AsBytes(bytes), "{").ok());
}

TEST(SentencePieceModelTest, OtherFilesAreNone) {
  const std::string good = Model();
  for (std::size_t size = 0; size < good.size(); ++size) {
    // Cut between two fields, all that is missing is the normaliser.
    const auto cut =
        ReadSentencePieceModel("t", AsBytes(std::string_view(good).substr(0, size)), "");
    if (size == good.size() - 4) continue;
    ASSERT_FALSE(cut.ok()) << size;
    EXPECT_EQ(cut.status().code(), Code::kInvalidArgument) << size;
    EXPECT_TRUE(cut.status().message().starts_with("t: ")) << size;
  }
  const std::string unigram = Model(1);
  EXPECT_EQ(ReadSentencePieceModel("t", AsBytes(unigram), "").status().message(),
            "t: a model of kind 1 is not supported; BPE (2) is");
  const std::string type = Piece("a", 0, 7) + good;
  EXPECT_FALSE(ReadSentencePieceModel("t", AsBytes(type), "").ok());
  const std::string endless(20, '\xff');
  EXPECT_FALSE(ReadSentencePieceModel("t", AsBytes(endless), "").ok());
}

}  // namespace
}  // namespace shoal::llm
