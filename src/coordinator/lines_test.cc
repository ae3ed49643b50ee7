// Goal: several pipelines live side by side: no node is in two, answers go where there is room,
// and what one of them loses another goes on with.
#include "coordinator/lines.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/parallel.h"
#include "base/random.h"
#include "kernels/revision.h"
#include "llm/model_config_text.h"
#include "sim/fake_network_for_test.h"
#include "sim/manual_clock_for_test.h"
#include "sim/toy_model.h"

namespace shoal::coordinator {
namespace {

// Takes jobs, and never runs one: nothing comes back.
class LazyExecutor final : public Executor {
 public:
  Status Submit(Job job) override {
    jobs_.push_back(std::move(job));
    return {};
  }

 private:
  std::vector<Job> jobs_;
};

class NoLayers final : public pipeline::LayerStore {
 public:
  std::shared_ptr<const pipeline::LayerBytes> Find(const std::string&) override { return nullptr; }
  std::vector<std::string> Whole() const override { return {}; }
  void Open(const wire::pb::LayerFile&, UniqueFunction<void(Result<std::uint32_t>)>) override {}
  void Append(const wire::pb::LayerFile&, std::uint32_t, std::vector<std::byte>,
              UniqueFunction<void(Status)>) override {}
};

constexpr std::size_t kLayers = 6;
constexpr std::size_t kPositions = 100;
constexpr Duration kTick = std::chrono::milliseconds(50);

class LinesTest : public testing::Test, private LinesEvents {
 protected:
  // Nodes that each have room for so many of the six layers.
  void Start(pipeline::PlanWish wish, std::uint64_t nodes, std::uint64_t room = kLayers) {
    plan_.id = "toy";
    plan_.config = llm::SerializeConfig(toy_.config());
    for (const sim::ToyModel::File& file : toy_.files()) plan_.layers.push_back(file.name);
    plan_.positions = kPositions;
    plan_.dim = 64;
    plan_.wish = wish;
    room_ = room * plan_.layers[0].bytes();
    auto head = llm::ModelHead::Load(toy_.weights(), toy_.config(), serial_);
    ASSERT_TRUE(head.ok());
    lines_ = std::make_unique<Lines>(
        LineWorld{{clock_.clock(), network_, executor_, random_},
                  roster_,
                  plan_,
                  std::make_shared<pipeline::HeadModel>(*std::move(head), serial_),
                  {},
                  server_},
        0, static_cast<LinesEvents&>(*this));
    for (std::uint64_t i = 0; i < nodes; ++i) Arrive(NodeId{i + 2});
    Pass(std::chrono::seconds(8));
  }

  void Arrive(NodeId node) {
    roster_.Arrived(node, clock_.clock().Now());
    Member& member = *roster_.Find(node);
    member.greeted = true;
    member.hello.set_arithmetic(kernels::kKernelRevision);
    member.hello.set_memory_bytes(room_);
    member.hello.mutable_profile()->set_weight_bytes_per_second(1e9);
    member.hello.mutable_profile()->set_operations_per_second(1e9);
    lines_->OnArrived();
  }

  void Lose(NodeId node) {
    roster_.Left(node);
    lines_->OnLost(node, clock_.clock().Now(), {Code::kUnavailable, "unplugged"});
  }

  // Every node is ready at once, unless it is one of the slow ones.
  void Pass(Duration time) {
    for (Duration at{0}; at < time; at += kTick) {
      lines_->Tick();
      for (const auto& line : lines_->lines()) {
        if (!line->formation().forming()) continue;
        const pipeline::Route route = *line->formation().forming();
        wire::pb::StageState ready;
        ready.set_epoch(route.epoch);
        ready.set_progress(wire::pb::StageState::READY);
        for (const pipeline::RouteStage& stage : route.stages) {
          if (!slow_.contains(stage.node)) lines_->OnState(stage.node, ready);
        }
      }
      clock_.Pass(kTick);
    }
  }

  void Add(std::uint64_t sequence, std::size_t positions) {
    lines_->Add(sequence, positions, {1, 2, 3},
                std::make_shared<llm::Sampler>(llm::SamplingOptions{}));
  }

  // Stages of each line that runs.
  std::vector<std::size_t> Stages() const {
    std::vector<std::size_t> stages;
    std::set<NodeId> nodes;
    for (const auto& line : lines_->lines()) {
      if (!line->running()) continue;
      stages.push_back(line->replica().route().stages.size());
      for (const pipeline::RouteStage& stage : line->replica().route().stages) {
        EXPECT_TRUE(nodes.insert(stage.node).second) << "in two lines";
      }
    }
    return stages;
  }
  std::vector<std::size_t> Answers() const {
    std::vector<std::size_t> answers;
    for (const auto& line : lines_->lines()) answers.push_back(line->replica().size());
    return answers;
  }
  NodeId FirstNode(std::size_t line) const {
    return lines_->lines()[line]->replica().route().stages.front().node;
  }

  void OnDrawn(std::uint64_t, const llm::SampledToken&) override {}
  void OnDamaged(std::uint64_t) override {}
  void OnHomeless(const std::vector<std::uint64_t>& sequences) override {
    homeless_.insert(homeless_.end(), sequences.begin(), sequences.end());
  }
  void OnLinesChanged() override {}
  void OnUnfit(NodeId node, const Status&) override { Lose(node); }
  void OnNews(const std::string& line) override { news_.push_back(line); }

  const sim::ToyModel toy_{kLayers, 64, 1};
  Serial serial_;
  sim::ManualClock clock_;
  sim::FakeNetwork network_;
  LazyExecutor executor_;
  Random random_{1};
  NoLayers store_;
  pipeline::LayerServer server_{network_, store_};
  Roster roster_;
  ModelPlan plan_;
  std::uint64_t room_ = 0;
  std::set<NodeId> slow_;
  std::vector<std::uint64_t> homeless_;
  std::vector<std::string> news_;
  std::unique_ptr<Lines> lines_;
};

using Sizes = std::vector<std::size_t>;

TEST_F(LinesTest, NodesBeyondTheStagesMakeMoreLines) {
  Start({.stages = 3}, 7);
  EXPECT_EQ(Stages(), (Sizes{3, 3}));
  Arrive(NodeId{20});
  Arrive(NodeId{21});
  Pass(std::chrono::seconds(3));
  EXPECT_EQ(Stages(), (Sizes{3, 3, 3}));
  EXPECT_EQ(lines_->why_waiting(), "");
}

TEST_F(LinesTest, ThereAreNoMoreThanWereAllowed) {
  Start({.stages = 2, .replicas_max = 2}, 9);
  EXPECT_EQ(Stages(), (Sizes{2, 2}));
}

TEST_F(LinesTest, WithoutAWishEveryNodeThatHoldsAllIsALine) {
  Start({}, 4);
  EXPECT_EQ(Stages(), (Sizes{1, 1, 1, 1}));
}

TEST_F(LinesTest, ThePredictedFiguresAreSaid) {
  Start({.stages = 3}, 6);
  EXPECT_EQ(std::count_if(news_.begin(), news_.end(),
                          [](const std::string& line) {
                            return line.starts_with("replica 2: ") &&
                                   line.find("predicted ") != std::string::npos &&
                                   line.find(" tokens/s") != std::string::npos;
                          }),
            1);
}

TEST_F(LinesTest, AnswersAreSpreadAndEachLineHasItsOwnRoom) {
  Start({.stages = 3}, 6);
  Add(1, 60);
  Add(2, 60);
  EXPECT_EQ(Answers(), (Sizes{1, 1}));
  EXPECT_FALSE(lines_->HasRoom(60));
  EXPECT_TRUE(lines_->HasRoom(40));
  lines_->Remove(1);
  EXPECT_TRUE(lines_->HasRoom(60));
  Add(3, 60);
  EXPECT_EQ(Answers(), (Sizes{1, 1}));
}

TEST_F(LinesTest, ALossIsRepairedFromSparesNotFromOthers) {
  Start({.stages = 3}, 7, 2);
  Add(1, 10);
  Lose(FirstNode(1));
  Pass(kTick);
  EXPECT_EQ(Stages(), (Sizes{3, 3}));
  EXPECT_TRUE(homeless_.empty());
}

TEST_F(LinesTest, ALineThatCannotBeRepairedEndsAndItsAnswersMove) {
  Start({.stages = 3}, 6, 2);
  Add(1, 60);
  Add(2, 60);
  Lose(FirstNode(1));
  Pass(2 * kTick);
  EXPECT_EQ(Stages(), Sizes{3});
  EXPECT_EQ(Answers(), Sizes{1});
  EXPECT_EQ(homeless_, std::vector<std::uint64_t>{2});
  // Its nodes are spares for whoever needs them.
  Lose(FirstNode(0));
  Pass(kTick);
  EXPECT_EQ(Stages(), Sizes{3});
  // And when others come, there are two again.
  for (std::uint64_t i = 30; i < 33; ++i) Arrive(NodeId{i});
  Pass(std::chrono::seconds(3));
  EXPECT_EQ(Stages(), (Sizes{3, 3}));
}

TEST_F(LinesTest, TheLastOneKeepsItsAnswersAndWaits) {
  Start({.stages = 3}, 3, 2);
  Add(1, 60);
  Lose(FirstNode(0));
  Pass(std::chrono::seconds(5));
  EXPECT_EQ(Stages(), Sizes{});
  EXPECT_NE(lines_->why_waiting(), "");
  EXPECT_FALSE(lines_->HasRoom(1));
  EXPECT_TRUE(homeless_.empty());
  Arrive(NodeId{30});
  Pass(std::chrono::seconds(1));
  EXPECT_EQ(Stages(), Sizes{3});
  EXPECT_EQ(Answers(), Sizes{1});
}

TEST_F(LinesTest, AnswersDoNotWaitForALongRepair) {
  Start({.stages = 3}, 7, 2);
  Add(1, 60);
  Add(2, 60);
  for (std::uint64_t i = 2; i < 9; ++i) {
    if (!lines_->lines()[0]->formation().Has(NodeId{i}) &&
        !lines_->lines()[1]->formation().Has(NodeId{i})) {
      slow_.insert(NodeId{i});
    }
  }
  Lose(FirstNode(1));
  Pass(std::chrono::milliseconds(800));
  EXPECT_TRUE(homeless_.empty());
  Pass(std::chrono::milliseconds(400));
  EXPECT_EQ(homeless_, std::vector<std::uint64_t>{2});
  slow_.clear();
  Pass(kTick);
  EXPECT_EQ(Stages(), (Sizes{3, 3}));
}

}  // namespace
}  // namespace shoal::coordinator
