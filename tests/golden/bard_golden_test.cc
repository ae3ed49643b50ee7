// The model of the repository (zoo/bard) beside what torch makes of the same file in double
// (scripts/golden/make_bard.py): its tokens, its logits and what it thinks of a passage.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "llm/chat_template.h"
#include "llm/engine.h"
#include "llm/gguf.h"
#include "llm/gguf_model.h"
#include "llm/gguf_vocabulary.h"
#include "llm/model_config.h"
#include "llm/model_weights.h"
#include "llm/tokenizer.h"
#include "os/file.h"
#include "os/mapped_file.h"

namespace shoal::llm {
namespace {

using Json = nlohmann::json;

// Ours is not torch's arithmetic: before each matrix, activations become 8-bit numbers with one
// scale for 32 of them (an error of up to 0.4 % of the largest), and the residual and the cache are
// F16. Logits of this model spread over about 20; measured: at most 0.04 off.
constexpr double kLogitTolerance = 0.15;
// Errors of single logits cancel out over a passage; measured: 0.0001 off.
constexpr double kLossTolerance = 0.002;

class BardGoldenTest : public testing::Test {
 protected:
  BardGoldenTest() {
    const std::string path = SHOAL_ZOO "/bard/bard-q8_0.gguf";
    file_ = std::make_unique<os::MappedFile>(*os::MappedFile::Open(path));
    std::vector<GgufFile> parts;
    parts.push_back(*GgufFile::Parse(path, file_->bytes()));
    model_ = std::make_unique<GgufModel>(*GgufModel::Make(std::move(parts)));
    tokenizer_ =
        std::make_unique<Tokenizer>(*Tokenizer::Create(*ReadGgufVocabulary(model_->metadata())));
    golden_ = Json::parse(*os::ReadFile(SHOAL_GOLDEN "/bard.json", std::size_t{1} << 20));
  }

  Serial serial_;
  std::unique_ptr<os::MappedFile> file_;
  std::unique_ptr<GgufModel> model_;
  std::unique_ptr<Tokenizer> tokenizer_;
  Json golden_;
};

TEST_F(BardGoldenTest, TextIsCutAlikeAndComesBack) {
  const auto text = golden_.at("text").get<std::string>();
  const std::vector<TokenId> tokens = tokenizer_->Encode(text, {.add_ends = true});
  EXPECT_EQ(tokens, golden_.at("tokens").get<std::vector<TokenId>>());
  std::string back;
  for (std::size_t i = 1; i < tokens.size(); ++i) back += tokenizer_->TokenBytes(tokens[i]);
  EXPECT_EQ(back, text);
}

TEST_F(BardGoldenTest, ConversationsAreWrittenAlike) {
  const auto chat_template = ChatTemplate::Parse(tokenizer_->vocabulary().chat_template);
  ASSERT_TRUE(chat_template.ok()) << chat_template.status().ToString();
  std::vector<ChatMessage> messages;
  for (const Json& message : golden_.at("conversation").at("messages")) {
    messages.push_back({message[0].get<std::string>(), message[1].get<std::string>()});
  }
  const auto prompt = chat_template->Render(messages, {.bos_token = "<|bos|>"});
  ASSERT_TRUE(prompt.ok()) << prompt.status().ToString();
  EXPECT_EQ(tokenizer_->Encode(prompt->segments),
            golden_.at("conversation").at("tokens").get<std::vector<TokenId>>());
}

TEST_F(BardGoldenTest, LogitsAreTorchs) {
  const ModelWeights weights = WeightsOf(*model_);
  const auto engine = Engine::Load(weights, *ReadModelConfig(*model_), {}, serial_);
  ASSERT_TRUE(engine.ok()) << engine.status().ToString();
  KvSequence sequence = (*engine)->NewSequence();
  const auto tokens = golden_.at("tokens").get<std::vector<TokenId>>();
  const auto logits = (*engine)->Feed(sequence, tokens, tokens.size());
  ASSERT_TRUE(logits.ok()) << logits.status().ToString();
  const std::size_t vocab = (*engine)->vocab();
  double worst = 0;
  for (const Json& row : golden_.at("positions")) {
    const auto at = row.at("position").get<std::size_t>() * vocab;
    for (const Json& top : row.at("top")) {
      const float ours = (*logits)[at + top[0].get<std::size_t>()];
      const double off = std::abs(static_cast<double>(ours) - top[1].get<double>());
      EXPECT_LE(off, kLogitTolerance) << "after token " << row.at("position") << ": " << top;
      worst = std::max(worst, off);
    }
  }
  double loss = 0;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    double sum = 0;
    for (const float logit : logits->subspan(i * vocab, vocab)) {
      sum += std::exp(static_cast<double>(logit));
    }
    const auto next = static_cast<std::size_t>(tokens[i + 1]);
    loss += std::log(sum) - static_cast<double>((*logits)[i * vocab + next]);
  }
  loss /= static_cast<double>(tokens.size() - 1);
  EXPECT_NEAR(loss, golden_.at("loss").get<double>(), kLossTolerance);
  std::printf("logits at most %.4f off, loss %.5f, torch's %.5f\n", worst, loss,
              golden_.at("loss").get<double>());
}

}  // namespace
}  // namespace shoal::llm
