// Goal: a node's layers compute the same wherever a model is cut, keep what they held when the cut
// moves, and refuse what they cannot continue.
#include "pipeline/node_stage.h"

#include <gtest/gtest.h>

#include <utility>

#include "sim/toy_model.h"

namespace shoal::pipeline {
namespace {

constexpr std::int64_t kLayers = 4;
constexpr std::int64_t kDim = 64;

class NodeStageTest : public testing::Test {
 protected:
  std::vector<std::shared_ptr<const llm::Layer>> Layers(LayerRange range) {
    std::vector<std::shared_ptr<const llm::Layer>> layers;
    for (std::int64_t i = range.first; i < range.end; ++i) {
      auto layer = llm::LoadLayer(model_.weights(), model_.config(), i, serial_);
      EXPECT_TRUE(layer.ok());
      layers.push_back(std::make_shared<const llm::Layer>(*std::move(layer)));
    }
    return layers;
  }
  void Assign(NodeStage& stage, LayerRange range, std::size_t positions = 256,
              const std::string& model = "toy") {
    const Status status = stage.Assign({.model = model,
                                        .config = model_.config(),
                                        .kv = kernels::KvType::kF16,
                                        .positions = positions,
                                        .range = range},
                                       Layers(range));
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  // Rows that depend on sequence and position alone.
  static wire::Batch Rows(std::vector<wire::Run> runs, std::uint32_t last = 0) {
    wire::Batch batch;
    batch.dim = kDim;
    batch.last = last;
    batch.runs = std::move(runs);
    for (const wire::Run& run : batch.runs) {
      for (std::uint32_t p = run.begin; p < run.begin + run.count; ++p) {
        for (std::uint32_t d = 0; d < kDim; ++d) {
          const std::uint64_t mixed = (run.sequence * 31 + p) * 37 + d * 7;
          // F16 numbers between 0.5 and 1, of both signs.
          batch.rows.push_back(static_cast<std::uint16_t>(0x3800U | (mixed * 101 % 0x400) |
                                                          (mixed % 3 == 0 ? 0x8000U : 0U)));
        }
      }
    }
    return batch;
  }
  std::vector<std::uint16_t> Apply(const std::vector<NodeStage*>& stages, wire::Batch batch) {
    batch.last = static_cast<std::uint32_t>(stages.size() - 1);
    for (NodeStage* stage : stages) {
      const Status status = stage->Apply(batch, serial_);
      EXPECT_TRUE(status.ok()) << status.ToString();
    }
    EXPECT_EQ(batch.stage, stages.size());
    return batch.rows;
  }

  sim::ToyModel model_{kLayers, kDim, 7};
  Serial serial_;
};

TEST_F(NodeStageTest, WhereTheModelIsCutChangesNoBit) {
  const std::vector<wire::Batch> batches = {Rows({{1, 0, 70, 1}, {2, 0, 3, 3}}),
                                            Rows({{2, 3, 1, 1}, {1, 70, 2, 2}}),
                                            // Guesses were wrong: a position again.
                                            Rows({{1, 71, 1, 1}})};
  std::vector<std::vector<std::uint16_t>> expected;
  NodeStage whole;
  Assign(whole, {0, kLayers});
  for (const wire::Batch& batch : batches) expected.push_back(Apply({&whole}, batch));
  EXPECT_NE(expected[1], std::vector<std::uint16_t>(expected[1].size(), 0));
  for (std::int64_t cut = 1; cut < kLayers; ++cut) {
    NodeStage first;
    NodeStage second;
    Assign(first, {0, cut});
    Assign(second, {cut, kLayers});
    for (std::size_t i = 0; i < batches.size(); ++i) {
      EXPECT_EQ(Apply({&first, &second}, batches[i]), expected[i]) << cut << ", batch " << i;
    }
  }
}

TEST_F(NodeStageTest, OnlyWantedRowsGoBackAndOnlyAfterTheLastStage) {
  NodeStage first;
  NodeStage second;
  Assign(first, {0, 2});
  Assign(second, {2, kLayers});
  wire::Batch batch = Rows({{1, 0, 3, 0}, {2, 0, 4, 2}, {3, 0, 2, 1}}, 1);
  ASSERT_TRUE(first.Apply(batch, serial_).ok());
  EXPECT_EQ(batch.stage, 1U);
  EXPECT_EQ(batch.rows.size(), batch.RowsIn() * kDim);
  wire::Batch all = batch;
  all.last = 2;  // As if another stage followed.
  NodeStage twin;
  Assign(twin, {2, kLayers});
  ASSERT_TRUE(twin.Apply(all, serial_).ok());
  ASSERT_TRUE(second.Apply(batch, serial_).ok());
  EXPECT_EQ(batch.stage, 2U);
  ASSERT_EQ(batch.rows.size(), batch.RowsBack() * kDim);
  std::vector<std::uint16_t> wanted;
  for (const std::ptrdiff_t row : {5, 6, 8}) {
    wanted.insert(wanted.end(), all.rows.begin() + row * kDim, all.rows.begin() + (row + 1) * kDim);
  }
  EXPECT_EQ(batch.rows, wanted);
}

TEST_F(NodeStageTest, ARangeThatGrowsKeepsWhatItHeld) {
  const wire::Batch prompt = Rows({{1, 0, 40, 40}});
  const wire::Batch next = Rows({{1, 40, 1, 1}});
  NodeStage whole;
  Assign(whole, {0, kLayers});
  Apply({&whole}, prompt);
  const std::vector<std::uint16_t> expected = Apply({&whole}, next);

  NodeStage first;
  NodeStage grown;
  Assign(first, {0, 1});
  Assign(grown, {1, 3});
  EXPECT_TRUE(grown.Kept().empty());
  wire::Batch between = prompt;
  between.last = 2;
  ASSERT_TRUE(first.Apply(between, serial_).ok());
  const wire::Batch after_first = between;
  ASSERT_TRUE(grown.Apply(between, serial_).ok());

  // Takes the lost end of the model: the kept layers see nothing twice, and the new one all.
  Assign(grown, {1, kLayers});
  EXPECT_EQ(grown.Kept(), (std::vector<LayerRange>{{1, 3}}));
  wire::Batch follows = next;
  follows.last = 1;
  ASSERT_TRUE(first.Apply(follows, serial_).ok());
  wire::Batch early = follows;
  EXPECT_EQ(grown.Apply(early, serial_).code(), Code::kNotFound) << "the new layer has nothing";
  wire::Batch again = after_first;
  ASSERT_TRUE(grown.Apply(again, serial_).ok());
  ASSERT_TRUE(grown.Apply(follows, serial_).ok());
  EXPECT_EQ(follows.rows, expected);
}

TEST_F(NodeStageTest, ARangeThatIsCutKeepsTheRest) {
  // Of two pages and of sequences that share none.
  const wire::Batch prompts = Rows({{1, 0, 70, 70}, {2, 0, 5, 5}});
  const wire::Batch next = Rows({{1, 70, 1, 1}, {2, 5, 2, 2}});
  NodeStage whole;
  Assign(whole, {0, kLayers});
  Apply({&whole}, prompts);
  const std::vector<std::uint16_t> expected = Apply({&whole}, next);
  for (const LayerRange rest : {LayerRange{0, 3}, {1, kLayers}, {1, 3}, {2, 3}}) {
    NodeStage before;
    NodeStage cut;
    NodeStage after;
    std::vector<NodeStage*> stages;
    wire::Batch rows = prompts;
    rows.last = 2;
    if (rest.first > 0) {
      Assign(before, {0, rest.first});
      stages.push_back(&before);
      ASSERT_TRUE(before.Apply(rows, serial_).ok());
    }
    stages.push_back(&cut);
    Assign(cut, {0, kLayers});
    Apply({&cut}, prompts);
    Assign(cut, rest);
    EXPECT_EQ(cut.Kept(), std::vector<LayerRange>{rest});
    EXPECT_EQ(cut.pages_used(), 3U);
    // What is no longer here is elsewhere, and has seen it all.
    NodeStage again;
    Assign(again, rest);
    ASSERT_TRUE(again.Apply(rows, serial_).ok());
    if (rest.end < kLayers) {
      Assign(after, {rest.end, kLayers});
      stages.push_back(&after);
      ASSERT_TRUE(after.Apply(rows, serial_).ok());
    }
    EXPECT_EQ(Apply(stages, next), expected) << "[" << rest.first << "," << rest.end << ")";
  }
}

TEST_F(NodeStageTest, ARangeThatMovesKeepsWhatIsInBoth) {
  NodeStage stage;
  Assign(stage, {0, 3});
  Apply({&stage}, Rows({{1, 0, 4, 1}}));
  Assign(stage, {1, 4});
  EXPECT_EQ(stage.Kept(), (std::vector<LayerRange>{{1, 3}}));
  EXPECT_EQ(stage.pages_used(), 1U);
  wire::Batch next = Rows({{1, 4, 1, 1}});
  EXPECT_EQ(stage.Apply(next, serial_).code(), Code::kNotFound) << "the new layer has nothing";
  Assign(stage, {0, 1});
  EXPECT_TRUE(stage.Kept().empty());
  EXPECT_EQ(stage.pages_used(), 0U);
}

TEST_F(NodeStageTest, NothingIsKeptOfAnotherModelOrWithoutSequences) {
  NodeStage stage;
  Assign(stage, {1, 4});
  Assign(stage, {1, 4});
  EXPECT_TRUE(stage.Kept().empty());
  Apply({&stage}, Rows({{1, 0, 4, 1}}));
  Assign(stage, {1, 4});
  EXPECT_EQ(stage.Kept(), (std::vector<LayerRange>{{1, 4}}));
  Assign(stage, {1, 4}, 256, "another");
  EXPECT_TRUE(stage.Kept().empty());
}

TEST_F(NodeStageTest, TheSameRangeAgainGoesOn) {
  NodeStage stage;
  Assign(stage, {0, kLayers});
  Apply({&stage}, Rows({{1, 0, 4, 1}}));
  Assign(stage, {0, kLayers});
  wire::Batch next = Rows({{1, 4, 1, 1}});
  EXPECT_TRUE(stage.Apply(next, serial_).ok());
}

TEST_F(NodeStageTest, ARunBeyondWhatIsHeldIsNotFound) {
  NodeStage stage;
  Assign(stage, {0, kLayers});
  Apply({&stage}, Rows({{1, 0, 4, 1}}));
  wire::Batch gap = Rows({{1, 5, 1, 1}});
  EXPECT_EQ(stage.Apply(gap, serial_).code(), Code::kNotFound);
  wire::Batch stranger = Rows({{2, 1, 1, 1}});
  const Status status = stage.Apply(stranger, serial_);
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find("sequence 2"), std::string::npos) << status.ToString();
}

TEST_F(NodeStageTest, WhatIsOverGivesItsPagesBack) {
  NodeStage stage;
  Assign(stage, {0, kLayers}, 128);
  Apply({&stage}, Rows({{1, 0, 65, 1}}));
  EXPECT_EQ(stage.pages_used(), 2U);
  wire::Batch full = Rows({{2, 0, 1, 1}});
  EXPECT_EQ(stage.Apply(full, serial_).code(), Code::kResourceExhausted);
  wire::Batch next = Rows({{2, 0, 1, 1}});
  next.over = {1, 99};
  Apply({&stage}, next);
  EXPECT_EQ(stage.pages_used(), 1U);
  wire::Batch news = Rows({});
  news.over = {2};
  Apply({&stage}, news);
  EXPECT_EQ(stage.pages_used(), 0U);
}

TEST_F(NodeStageTest, PositionsAreCountedInWholePages) {
  NodeStage stage;
  Assign(stage, {0, kLayers}, 65);
  Apply({&stage}, Rows({{1, 0, 128, 1}}));
  wire::Batch more = Rows({{1, 128, 1, 1}});
  EXPECT_EQ(stage.Apply(more, serial_).code(), Code::kResourceExhausted);
}

TEST_F(NodeStageTest, RowsOfAnotherWidthOrNumberAreRefused) {
  NodeStage stage;
  Assign(stage, {0, kLayers});
  wire::Batch wide = Rows({{1, 0, 2, 1}});
  wide.dim = kDim / 2;
  EXPECT_EQ(stage.Apply(wide, serial_).code(), Code::kInvalidArgument);
  wire::Batch short_of = Rows({{1, 0, 2, 1}});
  short_of.rows.resize(kDim);
  EXPECT_EQ(stage.Apply(short_of, serial_).code(), Code::kInvalidArgument);
  EXPECT_EQ(stage.pages_used(), 0U);
}

}  // namespace
}  // namespace shoal::pipeline
