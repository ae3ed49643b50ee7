#include "llm/tokenizer.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "llm/detokenizer.h"
#include "llm/pre_tokenizer.h"
#include "llm/tokenizer_testing.h"
#include "llm/unicode.h"

namespace shoal::llm {
namespace {

Tokenizer Create(Vocabulary vocabulary) {
  auto tokenizer = Tokenizer::Create(std::move(vocabulary));
  SHOAL_CHECK(tokenizer.ok());
  return *std::move(tokenizer);
}

// The tokens' texts with bars between them.
std::string Pieces(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  std::string pieces;
  for (const TokenId id : ids) {
    pieces +=
        (pieces.empty() ? "" : "|") + tokenizer.vocabulary().tokens[static_cast<std::size_t>(id)];
  }
  return pieces;
}

std::string Pieces(const Tokenizer& tokenizer, std::string_view text) {
  return Pieces(tokenizer, tokenizer.Encode(text));
}

std::string Words(std::string_view pre_tokenizer, std::string_view text) {
  std::vector<std::string_view> words;
  const auto found = FindPreTokenizer(pre_tokenizer);
  SHOAL_CHECK(found.ok());
  SplitWords(**found, text, words);
  std::string all;
  for (const std::string_view word : words) all.append(all.empty() ? "" : "|").append(word);
  return all;
}

std::string CreateError(Vocabulary vocabulary) {
  const auto tokenizer = Tokenizer::Create(std::move(vocabulary));
  return tokenizer.ok() ? "created" : std::string(tokenizer.status().message());
}

TEST(PreTokenizer, Gpt2) {
  EXPECT_EQ(Words("gpt-2", "Hello  world's 123\n\n x"), "Hello| | world|'s| 123|\n\n| x");
  EXPECT_EQ(Words("gpt-2", "I'LL\tgo"), "I|'|LL|\t|go");
}

TEST(PreTokenizer, SingleDigits) { EXPECT_EQ(Words("smollm", "in 2024!"), "in| |2|0|2|4|!"); }

TEST(PreTokenizer, Llama3) {
  EXPECT_EQ(Words("llama-bpe", "I'LL pay 12345 (now)\n\n  ok"),
            "I|'LL| pay| |123|45| (|now|)\n\n| | ok");
  EXPECT_EQ(Words("llama-bpe", "a  \n  \n b   "), "a|  \n  \n| b|   ");
}

TEST(PreTokenizer, Qwen2) { EXPECT_EQ(Words("qwen2", "x=12 über"), "x|=|1|2| über"); }

TEST(PreTokenizer, Qwen35KeepsMarksWithLetters) {
  EXPECT_EQ(Words("qwen2", "e\u0301a"), "e|\u0301a");
  EXPECT_EQ(Words("qwen35", "e\u0301a"), "e\u0301a");
}

TEST(PreTokenizer, TekkenCutsAtCapitals) {
  EXPECT_EQ(Words("tekken", "camelCaseHTTPServer 42 a/b"), "camel|Case|HTTPServer| |4|2| a|/b");
  EXPECT_EQ(Words("tekken", "日本A b!//\n"), "日本|A| b|!//\n");
}

TEST(PreTokenizer, Gpt4oKeepsContractions) {
  EXPECT_EQ(Words("gpt-4o", "They'Re here 1234"), "They'Re| here| |123|4");
}

TEST(PreTokenizer, DeepSeek) {
  EXPECT_EQ(Words("deepseek-llm", "Hi\nyou, 你好 123  "), "Hi|\n|you|,| |你好| |123|  ");
  EXPECT_EQ(Words("deepseek-coder", "a+b 12"), "a|+|b| |1|2");
  EXPECT_EQ(Words("deepseek-v3", "1234 .foo 你好!\n"), "123|4| .|foo| |你好|!\n");
}

TEST(PreTokenizer, UnknownOnesAreNamed) {
  const auto found = FindPreTokenizer("juggler");
  ASSERT_FALSE(found.ok());
  EXPECT_TRUE(found.status().message().starts_with("pre-tokenizer 'juggler' is not supported"));
  EXPECT_NE(found.status().message().find("qwen2"), std::string::npos);
}

TEST(PreTokenizer, WordsAreTheWholeText) {
  Random random(1);
  for (int i = 0; i < 500; ++i) {
    const std::string text = RandomText(random);
    for (const std::string_view name : PreTokenizerNames()) {
      std::vector<std::string_view> words;
      SplitWords(**FindPreTokenizer(name), text, words);
      std::string all;
      for (const std::string_view word : words) all += word;
      ASSERT_EQ(all, text) << name;
    }
  }
}

TEST(BytePairs, MergesInTheOrderOfTheList) {
  const Tokenizer tokenizer = Create(SmallBytePairs({"l o", "h e", "he l", "lo w"}));
  EXPECT_EQ(Pieces(tokenizer, "hello"), "hel|lo");
  EXPECT_EQ(Pieces(tokenizer, "helow"), "he|low");
}

TEST(BytePairs, LeftmostFirst) {
  const Tokenizer tokenizer = Create(SmallBytePairs({"a a"}));
  EXPECT_EQ(Pieces(tokenizer, "aaaaa"), "aa|aa|a");
}

TEST(BytePairs, AWordThatIsATokenIsNotCutIfMergesAreIgnored) {
  Vocabulary vocabulary = SmallBytePairs({"a b"});
  AddToken(vocabulary, "abc");
  EXPECT_EQ(Pieces(Create(vocabulary), "abc"), "ab|c");
  vocabulary.ignore_merges = true;
  EXPECT_EQ(Pieces(Create(vocabulary), "abc"), "abc");
}

TEST(BytePairs, ALongWordTakesNoQuadraticTime) {
  const Tokenizer tokenizer = Create(SmallBytePairs({"a a", "aa aa", "aaaa aaaa"}));
  EXPECT_EQ(tokenizer.Encode(std::string(1 << 18, 'a')).size(), std::size_t{1} << 15);
}

TEST(SentencePieces, TheBestScoreFirst) {
  const Tokenizer tokenizer = Create(SmallSentencePieces({"▁h", "el", "lo", "▁hel", "▁", "h"}));
  EXPECT_EQ(Pieces(tokenizer, "hello"), "▁hel|lo");
}

TEST(SentencePieces, UnknownCharactersAreBytes) {
  const Tokenizer tokenizer = Create(SmallSentencePieces({"▁", "a"}));
  EXPECT_EQ(Pieces(tokenizer, "aé"), "▁|a|<0xC3>|<0xA9>");
  EXPECT_EQ(Decode(tokenizer, tokenizer.Encode("aé")), "aé");
}

TEST(SentencePieces, TheNameOfAByteTokenIsText) {
  const Tokenizer tokenizer = Create(SmallSentencePieces({"▁", "<", "0", "x", "A", ">"}));
  EXPECT_EQ(Decode(tokenizer, tokenizer.Encode("<0x0A>")), "<0x0A>");
}

TEST(SentencePieces, MergesByListGiveTheSame) {
  Vocabulary vocabulary = SmallSentencePieces({"▁", "a", "b", "ab", "▁ab"});
  const Tokenizer scored = Create(vocabulary);
  const auto index = TokenIndex::Make(vocabulary.tokens);
  vocabulary.merges = {*FindMerge(*index, "a", "b", 0), *FindMerge(*index, "▁", "ab", 1)};
  vocabulary.scores.clear();
  const Tokenizer listed = Create(vocabulary);
  for (const char* text : {"ab ab", "b a", "a€b", " ab"}) {
    EXPECT_EQ(listed.Encode(text), scored.Encode(text)) << text;
  }
}

TEST(Tokenizer, SpecialTokensOnlyWhereTheCallerSaysSo) {
  const Tokenizer tokenizer = Create(SmallBytePairs({}));
  EXPECT_EQ(Pieces(tokenizer, tokenizer.Encode("a<|end|>", {.special = SpecialTokens::kParse})),
            "a|<|end|>");
  EXPECT_EQ(tokenizer.Encode("a<|end|>").size(), 8U);
}

TEST(Tokenizer, SegmentsAreCutAsOneText) {
  const Tokenizer tokenizer = Create(SmallBytePairs({"a b"}));
  const TextSegment segments[] = {{.text = "a", .special = SpecialTokens::kParse},
                                  {.text = "b<|end|>"},
                                  {.text = "<|end|>", .special = SpecialTokens::kParse}};
  EXPECT_EQ(Pieces(tokenizer, tokenizer.Encode(segments)), "ab|<|||e|n|d|||>|<|end|>");
}

TEST(Tokenizer, ASpecialTokenAcrossASeamIsText) {
  const Tokenizer tokenizer = Create(SmallBytePairs({}));
  const TextSegment segments[] = {{.text = "<|", .special = SpecialTokens::kParse},
                                  {.text = "end|>"}};
  EXPECT_EQ(tokenizer.Encode(segments).size(), 7U);
}

TEST(Tokenizer, UserDefinedTokensAreFoundInEveryTextUnlessTheyLookLikeControl) {
  Vocabulary vocabulary = SmallBytePairs({});
  AddToken(vocabulary, "   ", TokenType::kUserDefined);
  AddToken(vocabulary, "<|user|>", TokenType::kUserDefined);
  const Tokenizer tokenizer = Create(vocabulary);
  EXPECT_EQ(Pieces(tokenizer, "a   b"), "a|   |b");
  EXPECT_EQ(tokenizer.Encode("<|user|>").size(), 8U);
}

TEST(Tokenizer, TheLongestSpecialTokenWins) {
  Vocabulary vocabulary = SmallBytePairs({});
  AddToken(vocabulary, "<|end|>x", TokenType::kControl);
  const Tokenizer tokenizer = Create(vocabulary);
  const EncodeOptions parse{.special = SpecialTokens::kParse};
  EXPECT_EQ(Pieces(tokenizer, tokenizer.Encode("<|end|>x<|end|>y", parse)), "<|end|>x|<|end|>|y");
}

TEST(Tokenizer, SpecialTokensMaySwallowWhiteSpace) {
  Vocabulary vocabulary = SmallBytePairs({});
  const auto end = static_cast<TokenId>(vocabulary.tokens.size() - 1);
  vocabulary.strip_right = {end};
  const Tokenizer tokenizer = Create(vocabulary);
  const EncodeOptions parse{.special = SpecialTokens::kParse};
  EXPECT_EQ(Pieces(tokenizer, tokenizer.Encode("a <|end|> \n b", parse)), "a|Ġ|<|end|>|b");
}

TEST(Tokenizer, EndsAreAddedOnRequest) {
  const Tokenizer tokenizer = Create(SmallSentencePieces({"▁", "a"}));
  EXPECT_EQ(Pieces(tokenizer, tokenizer.Encode("a", {.add_ends = true})), "<s>|▁|a");
  EXPECT_TRUE(tokenizer.EndsAnswer(2));
  EXPECT_FALSE(tokenizer.EndsAnswer(1));
}

TEST(Tokenizer, InvalidUtf8CountsAsReplacementCharacters) {
  const Tokenizer bytes = Create(SmallBytePairs({}));
  const Tokenizer pieces = Create(SmallSentencePieces({"▁", "a"}));
  for (const char* text :
       {"a\xFF", "a\xC3", "a\xE2\x82", "a\xED\xA0\x80", "a\xF8\x88\x80\x80\x80"}) {
    EXPECT_EQ(Decode(bytes, bytes.Encode(text)), ReplaceInvalidUtf8(text));
    EXPECT_EQ(Decode(pieces, pieces.Encode(text)), ReplaceInvalidUtf8(text));
  }
}

TEST(Tokenizer, ComposesWhereTheModelWantsIt) {
  Vocabulary vocabulary = SmallBytePairs({});
  vocabulary.compose = true;
  const Tokenizer tokenizer = Create(vocabulary);
  EXPECT_EQ(Decode(tokenizer, tokenizer.Encode("e\u0301")), "é");
}

TEST(Tokenizer, RandomTextsComeBack) {
  const Tokenizer bytes = Create(SmallBytePairs({"Ġ Ġ", "t h"}));
  const Tokenizer pieces = Create(SmallSentencePieces({"▁", "▁▁", "a", "▁a"}));
  Random random(7);
  for (int i = 0; i < 10'000; ++i) {
    const std::string text = RandomText(random);
    ASSERT_EQ(Decode(bytes, bytes.Encode(text)), text);
    if (text.find("▁") != std::string::npos) continue;  // SentencePiece takes it for a space.
    ASSERT_EQ(Decode(pieces, pieces.Encode(text)), text);
  }
}

TEST(Detokenizer, GivesWholeCharacters) {
  const Tokenizer tokenizer = Create(SmallBytePairs({}));
  Detokenizer detokenizer(tokenizer);
  std::vector<std::string> shown;
  for (const TokenId id : tokenizer.Encode("a🦙!")) shown.push_back(detokenizer.Feed(id));
  EXPECT_EQ(shown, (std::vector<std::string>{"a", "", "", "", "🦙", "!"}));
  EXPECT_EQ(detokenizer.Flush(), "");
}

TEST(Detokenizer, FlushShowsThatSomethingIsMissing) {
  const Tokenizer tokenizer = Create(SmallBytePairs({}));
  Detokenizer detokenizer(tokenizer);
  EXPECT_EQ(detokenizer.Feed(tokenizer.Encode("🦙")[0]), "");
  EXPECT_EQ(detokenizer.Flush(), "\uFFFD");
  EXPECT_EQ(detokenizer.Feed(tokenizer.Encode("b")[0]), "b");
}

TEST(Detokenizer, HidesControlTokensUnlessAsked) {
  const Tokenizer tokenizer = Create(SmallBytePairs({}));
  const auto ids = tokenizer.Encode("a<|end|>b", {.special = SpecialTokens::kParse});
  EXPECT_EQ(Decode(tokenizer, ids), "ab");
  EXPECT_EQ(Decode(tokenizer, ids, {.show_control = true}), "a<|end|>b");
}

TEST(Detokenizer, DropsTheSpaceThatEncodePutInFront) {
  const Tokenizer tokenizer = Create(SmallSentencePieces({"▁", "a", "▁a"}));
  const auto ids = tokenizer.Encode(" a</s>a", {.special = SpecialTokens::kParse});
  EXPECT_EQ(Decode(tokenizer, ids, {.show_control = true}), " a</s>a");
  EXPECT_EQ(Decode(tokenizer, tokenizer.Encode("a"), {.continues = true}), " a");
}

TEST(Detokenizer, AnIdBeyondTheVocabularyIsNothing) {
  const Tokenizer tokenizer = Create(SmallBytePairs({}));
  Detokenizer detokenizer(tokenizer);
  EXPECT_EQ(detokenizer.Feed(-1), "");
  EXPECT_EQ(detokenizer.Feed(100'000), "");
}

TEST(TokenizerCreate, RefusesWhatContradictsItself) {
  EXPECT_EQ(CreateError({}), "the vocabulary is empty");

  Vocabulary twice = SmallBytePairs({});
  AddToken(twice, "a");
  EXPECT_EQ(CreateError(twice), "tokens 97 and 257 are both \"a\"");

  Vocabulary types = SmallBytePairs({});
  types.types.pop_back();
  EXPECT_EQ(CreateError(types), "256 token types for 257 tokens");

  Vocabulary beyond = SmallBytePairs({});
  beyond.eos = 257;
  EXPECT_EQ(CreateError(beyond), "the eos token is 257, but there are 257 tokens");

  Vocabulary cyclic = SmallBytePairs({"a b"});
  cyclic.merges.push_back({.left = 256, .right = 98, .merged = 97});
  EXPECT_EQ(CreateError(cyclic), "merge 1: \"ab\" and \"b\" do not make \"a\"");

  Vocabulary merge = SmallBytePairs({});
  merge.merges.push_back({.left = 1, .right = -2, .merged = 3});
  EXPECT_EQ(CreateError(merge), "merge 0: token -2 is beyond the vocabulary");

  Vocabulary score = SmallSentencePieces({"a"});
  score.scores[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(CreateError(score), "the score of token 5 is not a number");

  EXPECT_TRUE(CreateError(SmallBytePairs({}, "")).starts_with("pre-tokenizer '' is not supported"));
}

}  // namespace
}  // namespace shoal::llm
