// Files that llama.cpp and others have published. They are not part of this repository: without
// them the tests are skipped.
#include <gtest/gtest.h>

#include <string>

#include "llm/gguf.h"
#include "llm/gguf_model.h"
#include "llm/model_config.h"
#include "os/mapped_file.h"

namespace shoal::llm {
namespace {

// Parses `name` from the shared data; skips the test if it is not there.
#define PARSE_OR_SKIP(variable, name)                                                          \
  const auto variable##_mapping = os::MappedFile::Open(std::string(SHOAL_SHARED_DATA) + name); \
  if (!variable##_mapping.ok()) GTEST_SKIP() << name << " is not here";                        \
  const auto variable = GgufFile::Parse(name, variable##_mapping->bytes());                    \
  ASSERT_TRUE(variable.ok()) << variable.status().ToString()

TEST(GgufRealFiles, Stories260K) {
  PARSE_OR_SKIP(file, "/llm/stories260K-f32.gguf");
  EXPECT_EQ(*file->metadata().GetString("general.architecture"), "llama");
  const GgufTensor* embedding = file->Find("token_embd.weight");
  ASSERT_NE(embedding, nullptr);
  EXPECT_EQ(embedding->shape, (Shape{512, 64}));
}

TEST(GgufRealFiles, Stories15M) {
  PARSE_OR_SKIP(file, "/llm/stories15M-q4_0.gguf");
  EXPECT_EQ(*file->metadata().GetUnsigned("llama.embedding_length"), 288U);
  EXPECT_EQ(file->metadata().GetStrings("tokenizer.ggml.tokens")->size(), 32000U);
  EXPECT_EQ(file->Find("blk.0.attn_q.weight")->dtype, DType::kQ4_0);
  EXPECT_EQ(file->Find("blk.0.ffn_down.weight")->shape, (Shape{288, 768}));
}

TEST(GgufRealFiles, Vocabularies) {
  struct {
    const char* name;
    std::size_t tokens;
  } const cases[] = {{"llama-spm", 32000},
                     {"gpt-2", 50257},
                     {"phi-3", 32064},
                     {"deepseek-llm", 102400},
                     {"starcoder", 49152}};
  for (const auto& c : cases) {
    const std::string name = std::string("/tokenizers/ggml-vocab-") + c.name + ".gguf";
    PARSE_OR_SKIP(file, name);
    const auto tokens = file->metadata().GetStrings("tokenizer.ggml.tokens");
    ASSERT_TRUE(tokens.ok()) << tokens.status().ToString();
    EXPECT_EQ(tokens->size(), c.tokens) << name;
  }
}

TEST(GgufRealFiles, Configurations) {
  for (const char* name : {"/llm/stories260K-f32.gguf", "/llm/stories15M-q8_0.gguf"}) {
    PARSE_OR_SKIP(file, name);
    const auto model = GgufModel::Make({*file});
    ASSERT_TRUE(model.ok()) << model.status().ToString();
    const auto config = ReadModelConfig(*model);
    ASSERT_TRUE(config.ok()) << config.status().ToString();
    EXPECT_EQ(config->q_dim(), config->dim);
    EXPECT_EQ(config->rope.pairs, RopePairs::kNeighbours);
  }
}

}  // namespace
}  // namespace shoal::llm
