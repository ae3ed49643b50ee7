// Published vocabularies with published vectors: texts and the ids that the models' own tokenizers
// gave them. They are not part of this repository: without them the tests are skipped.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "llm/detokenizer.h"
#include "llm/gguf.h"
#include "llm/gguf_vocabulary.h"
#include "llm/tokenizer.h"
#include "llm/tokenizer_json.h"
#include "llm/tokenizer_testing.h"
#include "llm/unicode.h"
#include "os/file.h"
#include "os/mapped_file.h"

namespace shoal::llm {
namespace {

const std::string kDirectory = std::string(SHOAL_SHARED_DATA) + "/tokenizers/";
constexpr std::size_t kBytesMax = std::size_t{64} << 20;

std::string ReadOrEmpty(const std::string& path) {
  auto bytes = os::ReadFile(path, kBytesMax);
  return bytes.ok() ? *std::move(bytes) : std::string();
}

Result<Tokenizer> OpenGguf(const std::string& path) {
  SHOAL_ASSIGN_OR_RETURN(const os::MappedFile mapping, os::MappedFile::Open(path));
  SHOAL_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::Parse(path, mapping.bytes()));
  SHOAL_ASSIGN_OR_RETURN(Vocabulary vocabulary, ReadGgufVocabulary(file.metadata()));
  return Tokenizer::Create(std::move(vocabulary));
}

Result<Tokenizer> OpenFolder(const std::string& path) {
  SHOAL_ASSIGN_OR_RETURN(const std::string tokenizer,
                         os::ReadFile(path + "/tokenizer.json", kBytesMax));
  SHOAL_ASSIGN_OR_RETURN(
      Vocabulary vocabulary,
      ReadTokenizerJson(path, tokenizer, ReadOrEmpty(path + "/tokenizer_config.json")));
  return Tokenizer::Create(std::move(vocabulary));
}

Result<Tokenizer> Open(const std::string& name) {
  if (name == "qwen2") return OpenFolder(kDirectory + "qwen2_5");
  return OpenGguf(kDirectory + "ggml-vocab-" + name + ".gguf");
}

std::vector<std::string> Texts(const std::string& file) {
  static const std::string kSeparator = "\n__ggml_vocab_test__\n";
  std::vector<std::string> texts;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + kSeparator.size()) {
    end = file.find(kSeparator, begin);
    if (end == std::string::npos) break;
    texts.push_back(file.substr(begin, end - begin));
  }
  return texts;
}

std::vector<std::vector<TokenId>> Ids(const std::string& file) {
  std::vector<std::vector<TokenId>> all;
  std::istringstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream numbers(line);
    all.emplace_back();
    for (TokenId id = 0; numbers >> id;) all.back().push_back(id);
  }
  return all;
}

// A vocabulary may lack bytes (StarCoder: those that begin rare characters), and SentencePiece
// takes ▁ for a space.
std::string MissingBytes(const Vocabulary& vocabulary) {
  if (vocabulary.model == TokenModel::kSentencePiece) return {};
  const auto index = TokenIndex::Make(vocabulary.tokens);
  std::string missing;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    if (!index->Find(ToByteAlphabet({&c, 1}))) missing += c;
  }
  return missing;
}

bool CanComeBack(const Vocabulary& vocabulary, const std::string& missing,
                 const std::string& text) {
  if (vocabulary.model == TokenModel::kSentencePiece) return text.find("▁") == std::string::npos;
  return text.find_first_of(missing) == std::string::npos;
}

class TokenizerVectors : public testing::TestWithParam<const char*> {};

#define OPEN_OR_SKIP(tokenizer)                                                    \
  const auto tokenizer = Open(GetParam());                                         \
  if (tokenizer.status().code() == Code::kNotFound) GTEST_SKIP() << "is not here"; \
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().ToString()

TEST_P(TokenizerVectors, GiveThePublishedIds) {
  OPEN_OR_SKIP(tokenizer);
  const std::string stem = kDirectory + "ggml-vocab-" + GetParam() + ".gguf";
  const auto texts = Texts(ReadOrEmpty(stem + ".inp"));
  const auto expected = Ids(ReadOrEmpty(stem + ".out"));
  ASSERT_EQ(texts.size(), expected.size());
  ASSERT_GT(texts.size(), 40U);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::vector<TokenId> ids = tokenizer->Encode(texts[i]);
    EXPECT_EQ(ids, expected[i]) << '"' << texts[i] << '"';
    EXPECT_EQ(Decode(*tokenizer, ids), texts[i]);
  }
}

TEST_P(TokenizerVectors, RandomTextsComeBack) {
  OPEN_OR_SKIP(tokenizer);
  const std::string missing = MissingBytes(tokenizer->vocabulary());
  Random random(20240607);
  for (int tried = 0; tried < 10'000;) {
    std::string text = RandomText(random);
    if (tokenizer->vocabulary().compose) text = ComposedForm(text);
    if (!CanComeBack(tokenizer->vocabulary(), missing, text)) continue;
    ASSERT_EQ(Decode(*tokenizer, tokenizer->Encode(text)), text) << "text " << tried;
    ++tried;
  }
}

TEST_P(TokenizerVectors, ATextNeverBecomesAControlToken) {
  OPEN_OR_SKIP(tokenizer);
  const Vocabulary& vocabulary = tokenizer->vocabulary();
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (!tokenizer->IsControl(static_cast<TokenId>(id)) || vocabulary.tokens[id].empty()) continue;
    for (const TokenId made : tokenizer->Encode(vocabulary.tokens[id])) {
      ASSERT_FALSE(tokenizer->IsControl(made)) << vocabulary.tokens[id];
    }
    const auto parsed =
        tokenizer->Encode(vocabulary.tokens[id], {.special = SpecialTokens::kParse});
    if (vocabulary.types[id] == TokenType::kControl) {
      EXPECT_EQ(parsed, std::vector<TokenId>{static_cast<TokenId>(id)});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TokenizerVectors,
                         testing::Values("llama-spm", "phi-3", "gpt-2", "starcoder", "deepseek-llm",
                                         "qwen2"),
                         [](const auto& param_info) {
                           std::string name = param_info.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace shoal::llm
