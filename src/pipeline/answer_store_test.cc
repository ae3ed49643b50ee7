// Goal: an answer comes out of the store as it went in, and what is no answer does not come out.
#include "pipeline/answer_store.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace shoal::pipeline {
namespace {

// No field has its default.
AnswerRecord EveryField() {
  AnswerRecord record;
  // One by one: GCC takes a whole initializer for something uninitialised at -O3.
  Question& question = record.question;
  question.id = "answer-1";
  question.prompt = {5, 0, 7};
  question.sampling.temperature = 0.25F;
  question.sampling.top_k = 3;
  question.sampling.top_p = 0.5F;
  question.sampling.min_p = 0.125F;
  question.sampling.penalty_window = 9;
  question.sampling.repetition_penalty = 1.5F;
  question.sampling.presence_penalty = -0.5F;
  question.sampling.frequency_penalty = 0.75F;
  question.sampling.logit_bias = {{4, -2.5F}, {6, 1.0F}};
  question.sampling.seed = 0xfedcba9876543210U;
  question.sampling.top_logprobs = 2;
  question.tokens_max = 77;
  question.end_tokens = {2, 11};
  question.note = "a note";
  record.tokens = {{.token = 8, .logprob = -0.5F, .top = {{8, -0.5F}, {9, -1.5F}}},
                   {.token = 0, .logprob = -2.0F, .top = {}}};
  record.ended = true;
  record.how = AnswerEnd::kFailed;
  record.status = Status(Code::kUnavailable, "no phones");
  record.energy.joules = 1.5;
  record.energy.work = 8;
  record.energy.work_covered = 4;
  record.energy.estimated = true;
  return record;
}

TEST(AnswerStoreTest, EveryFieldComesBack) {
  const AnswerRecord record = EveryField();
  const auto stored = DecodeAnswer(EncodeAnswer(record, "a model"));
  ASSERT_TRUE(stored.ok()) << stored.status().ToString();
  EXPECT_EQ(stored->model_id, "a model");
  const Question& question = stored->record.question;
  EXPECT_EQ(question.id, record.question.id);
  EXPECT_EQ(question.prompt, record.question.prompt);
  EXPECT_EQ(question.tokens_max, record.question.tokens_max);
  EXPECT_EQ(question.end_tokens, record.question.end_tokens);
  EXPECT_EQ(question.note, record.question.note);
  const llm::SamplingOptions& sampling = question.sampling;
  const llm::SamplingOptions& expected = record.question.sampling;
  EXPECT_EQ(sampling.temperature, expected.temperature);
  EXPECT_EQ(sampling.top_k, expected.top_k);
  EXPECT_EQ(sampling.top_p, expected.top_p);
  EXPECT_EQ(sampling.min_p, expected.min_p);
  EXPECT_EQ(sampling.penalty_window, expected.penalty_window);
  EXPECT_EQ(sampling.repetition_penalty, expected.repetition_penalty);
  EXPECT_EQ(sampling.presence_penalty, expected.presence_penalty);
  EXPECT_EQ(sampling.frequency_penalty, expected.frequency_penalty);
  EXPECT_EQ(stored->record.energy.joules, record.energy.joules);
  EXPECT_EQ(stored->record.energy.covered(), 0.5);
  EXPECT_TRUE(stored->record.energy.estimated);
  EXPECT_EQ(sampling.logit_bias, expected.logit_bias);
  EXPECT_EQ(sampling.seed, expected.seed);
  EXPECT_EQ(sampling.top_logprobs, expected.top_logprobs);
  ASSERT_EQ(stored->record.tokens.size(), 2U);
  const llm::SampledToken& token = stored->record.tokens[0];
  EXPECT_EQ(token.token, 8);
  EXPECT_EQ(token.logprob, -0.5F);
  ASSERT_EQ(token.top.size(), 2U);
  EXPECT_EQ(token.top[1].token, 9);
  EXPECT_EQ(token.top[1].logprob, -1.5F);
  EXPECT_EQ(stored->record.tokens[1].token, 0);
  EXPECT_TRUE(stored->record.ended);
  EXPECT_EQ(stored->record.how, AnswerEnd::kFailed);
  EXPECT_EQ(stored->record.status.ToString(), record.status.ToString());
}

TEST(AnswerStoreTest, AnAnswerThatHasOnlyBegunComesBack) {
  AnswerRecord record;
  record.question.id = "b";
  record.question.prompt = {1};
  const auto stored = DecodeAnswer(EncodeAnswer(record, ""));
  ASSERT_TRUE(stored.ok());
  EXPECT_FALSE(stored->record.ended);
  EXPECT_TRUE(stored->record.tokens.empty());
  EXPECT_TRUE(stored->record.status.ok());
}

// The asker alone reads its note, and a message may quote a file's name.
TEST(AnswerStoreTest, NotesAndMessagesMayHoldAnyBytes) {
  AnswerRecord record = EveryField();
  record.question.note = std::string("\xff\0\xc3", 3);
  record.status = Status(Code::kUnavailable, "cannot read \xe9t\xe9");
  const auto stored = DecodeAnswer(EncodeAnswer(record, "a model"));
  ASSERT_TRUE(stored.ok()) << stored.status().ToString();
  EXPECT_EQ(stored->record.question.note, record.question.note);
  EXPECT_EQ(stored->record.status.message(), record.status.message());
}

TEST(AnswerStoreTest, WhatIsNoAnswerIsRefused) {
  const auto refused = [](const AnswerRecord& record) {
    const auto stored = DecodeAnswer(EncodeAnswer(record, "a model"));
    return !stored.ok() && stored.status().code() == Code::kCorruption;
  };
  EXPECT_EQ(DecodeAnswer("").status().code(), Code::kCorruption);
  AnswerRecord bad = EveryField();
  bad.question.id = "";
  EXPECT_TRUE(refused(bad));
  bad.question.id = std::string(kAnswerIdBytesMax + 1, 'i');
  EXPECT_TRUE(refused(bad));
  bad.question.id.pop_back();
  EXPECT_FALSE(refused(bad));
  bad.question.prompt.clear();
  EXPECT_TRUE(refused(bad));
  bad = EveryField();
  bad.how = static_cast<AnswerEnd>(static_cast<int>(AnswerEnd::kCancelled) + 1);
  EXPECT_TRUE(refused(bad));
  bad = EveryField();
  bad.status = Status(static_cast<Code>(static_cast<int>(Code::kCancelled) + 1), "?");
  EXPECT_TRUE(refused(bad));
}

TEST(AnswerStoreTest, DamagedBytesAreAnAnswerOrRefused) {
  const std::string good = EncodeAnswer(EveryField(), "a model");
  Random random(3);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes = good.substr(0, random.Below(good.size() + 1));
    if (!bytes.empty()) bytes[random.Below(bytes.size())] ^= static_cast<char>(random.Below(256));
    const auto stored = DecodeAnswer(bytes);
    EXPECT_TRUE(stored.ok() || stored.status().code() == Code::kCorruption);
  }
}

}  // namespace
}  // namespace shoal::pipeline
