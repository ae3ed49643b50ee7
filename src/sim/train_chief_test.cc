// Goal: a head that has nobody to work with ends when it is told to and goes on when somebody can;
// what it keeps is whole. Method: a chief and workers with a toy model, whose keeper takes as long
// as the test wants.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/toy_learner.h"
#include "sim/world.h"
#include "train/cluster/chief.h"
#include "train/cluster/keeper.h"
#include "train/cluster/sample_pool.h"
#include "train/cluster/worker_node.h"

namespace shoal::sim {
namespace {

constexpr NodeId kHead{1};
constexpr NodeId kA{2};
constexpr NodeId kB{3};
constexpr NodeId kC{4};
constexpr std::int64_t kRecords = 100;
constexpr double kHot = 60;
constexpr double kCool = 20;

using State = std::vector<std::vector<float>>;

class SlowKeeper final : public train::Keeper {
 public:
  std::int64_t iteration() const override { return iteration_; }
  std::string note() const override { return ToyNote(0, static_cast<std::uint64_t>(iteration_)); }
  std::vector<std::span<float>> state() override {
    read_while_busy_ = read_while_busy_ || busy();
    return {state_.begin(), state_.end()};
  }
  std::vector<std::span<float>> incoming() override { return {incoming_.begin(), incoming_.end()}; }
  bool WantsState(std::int64_t iteration) const override { return iteration % interval_ == 0; }
  Status CheckNote(std::int64_t iteration, const std::string& note) const override {
    if (note == ToyNote(0, static_cast<std::uint64_t>(iteration))) return {};
    return {Code::kInvalidArgument, "gives weights of something else"};
  }
  void Adopt(std::int64_t iteration, const std::string& /*note*/, const train::PoolState& /*pool*/,
             UniqueFunction<void(Status)> done) override {
    iteration_ = iteration;
    state_ = incoming_;
    done_ = std::move(done);
    if (!slow_) Finish();
  }
  Status OnStep(const train::CommittedStep& /*step*/) override { return {}; }
  void OnRollback() override {}

  void KeepEvery(std::int64_t interval) { interval_ = interval; }
  // What it adopts from now on takes until Finish.
  void BeSlow() { slow_ = true; }
  void Finish() { std::exchange(done_, UniqueFunction<void(Status)>())({}); }
  bool busy() const { return static_cast<bool>(done_); }
  bool read_while_busy() const { return read_while_busy_; }

 private:
  std::int64_t interval_ = 1000;
  std::int64_t iteration_ = 0;
  State state_ = State(2, std::vector<float>(kToyWeights));
  State incoming_ = state_;
  bool slow_ = false;
  bool read_while_busy_ = false;
  UniqueFunction<void(Status)> done_;
};

class Head final : public Program {
 public:
  Head(const Surroundings& around, std::int64_t stop, std::size_t workers, std::uint64_t batch,
       SlowKeeper& keeper) {
    train::SamplePool pool = *train::SamplePool::Restore(kRecords, /*shuffle=*/true, 1, {});
    train::ChiefOptions options{.pool = std::move(pool)};
    options.job.set_batch(batch);
    options.job.set_records(kRecords);
    options.job.set_shuffle(true);
    options.job.set_seed(1);
    ToyLearner learner(1, [](std::uint64_t, std::uint64_t, std::uint64_t) {});
    options.shape = train::DescribeShape(learner);
    options.stop = stop;
    options.workers_first = workers;
    options.news = [this](const std::string& line) { news_.push_back(line); };
    chief_ = std::make_unique<train::Chief>(
        Seams{around.clock, around.network, around.executor, around.random}, std::move(options),
        keeper, [](std::int64_t index) { return Result<std::string>(std::to_string(index)); });
  }

  train::Chief& chief() { return *chief_; }
  // How often a line with `text` was told.
  std::ptrdiff_t Told(const std::string& text) const {
    return std::count_if(news_.begin(), news_.end(), [&](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  }

 private:
  std::vector<std::string> news_;
  std::unique_ptr<train::Chief> chief_;
};

class Cache final : public train::RecordCache {
 public:
  std::int64_t size() const override { return kRecords; }
  Status Read(std::int64_t /*index*/, data::Record& /*out*/) const override { return {}; }
  bool Has(std::int64_t index) const override { return has_.contains(index); }
  Status Put(std::int64_t index, std::span<const std::byte> /*datum*/) override {
    has_.insert(index);
    return {};
  }
  void Hold(std::span<const std::int64_t> /*indices*/) override {}
  std::vector<std::int64_t> Present() const override { return {has_.begin(), has_.end()}; }

 private:
  std::set<std::int64_t> has_;
};

// What a phone tells the head, changed on its way.
using Change = std::function<void(wire::pb::TrainToHead&)>;

class ChangingNetwork final : public Network {
 public:
  ChangingNetwork(Network& network, Change change)
      : network_(network), change_(std::move(change)) {}

  NodeId self() const override { return network_.self(); }
  void Attach(NetworkEvents* events) override { network_.Attach(events); }
  void Connect(NodeId peer, const std::string& address) override {
    network_.Connect(peer, address);
  }
  void Disconnect(NodeId peer) override { network_.Disconnect(peer); }
  Status Send(NodeId to, Traffic traffic, Frame frame) override {
    if (change_ && to == kHead && traffic == Traffic::kControl) {
      wire::pb::ToHead message = *wire::DecodeToHead(frame);
      if (message.has_train()) change_(*message.mutable_train());
      frame = wire::Encode(message);
    }
    return network_.Send(to, traffic, std::move(frame));
  }

 private:
  Network& network_;
  const Change change_;
};

class Phone final : public Program, private train::WorkerHost {
 public:
  Phone(const Surroundings& around, const std::string& address, Change change)
      : network_(around.network, std::move(change)) {
    train::WorkerNodeOptions options;
    options.head = kHead;
    options.head_address = "sim:1";
    options.hello.set_address(address);
    train::WorkerHost& host = *this;
    node_ = std::make_unique<train::WorkerNode>(
        Seams{around.clock, network_, around.executor, around.random}, std::move(options), host);
  }

 private:
  Result<std::shared_ptr<train::RecordCache>> OpenCache(const std::string& /*data_id*/,
                                                        std::int64_t /*records*/) override {
    return std::shared_ptr<train::RecordCache>(std::make_shared<Cache>());
  }
  Result<std::unique_ptr<train::Learner>> MakeLearner(
      const wire::pb::TrainJob& /*job*/, std::shared_ptr<train::RecordCache> /*cache*/) override {
    return std::unique_ptr<train::Learner>(
        std::make_unique<ToyLearner>(1e9, [](std::uint64_t, std::uint64_t, std::uint64_t) {}));
  }

  ChangingNetwork network_;
  std::unique_ptr<train::WorkerNode> node_;
};

class TrainChief : public testing::Test {
 protected:
  train::Chief& Lead(std::int64_t stop, std::size_t workers, std::uint64_t batch = 32) {
    world_.AddNode(kHead, [&](const Surroundings& around) {
      auto program = std::make_unique<Head>(around, stop, workers, batch, keeper_);
      head_ = program.get();
      return program;
    });
    return head_->chief();
  }
  void Join(NodeId node, Change change = {}) {
    Join(node, "sim:" + std::to_string(ToNumber(node)), std::move(change));
  }
  void Join(NodeId node, const std::string& address, Change change = {}) {
    world_.AddNode(node, [address, change](const Surroundings& around) {
      return std::make_unique<Phone>(around, address, change);
    });
  }
  // The phone says how hot it is.
  void Tell(NodeId node, double celsius) {
    wire::pb::ToHead message;
    message.mutable_telemetry()->set_battery_celsius(celsius);
    EXPECT_TRUE(world_.SurroundingsOf(node)
                    .network.Send(kHead, Traffic::kControl, wire::Encode(message))
                    .ok());
  }
  bool Reach(std::int64_t iteration) {
    return world_.RunUntil([&] { return head_->chief().iteration() >= iteration; },
                           std::chrono::minutes(1));
  }
  bool End() {
    return world_.RunUntil([&] { return head_->chief().over(); }, std::chrono::minutes(1));
  }

  SlowKeeper keeper_;
  World world_{{.seed = 1, .faults = {}, .link = {}}};
  Head* head_ = nullptr;
};

TEST_F(TrainChief, EndsWhileItWaitsForTheFirst) {
  train::Chief& chief = Lead(100, 2);
  Join(kA);
  world_.RunFor(std::chrono::seconds(2));
  EXPECT_EQ(chief.iteration(), 0);
  chief.Stop();
  EXPECT_TRUE(chief.over());
  EXPECT_TRUE(chief.status().ok());
}

TEST_F(TrainChief, EndsWhenAllAreLost) {
  train::Chief& chief = Lead(1000, 1);
  Join(kA);
  keeper_.KeepEvery(4);
  ASSERT_TRUE(Reach(6));
  world_.Crash(kA, Death::kKilled);
  world_.RunFor(std::chrono::seconds(10));
  EXPECT_FALSE(chief.over()) << "somebody may come";
  chief.Stop();
  EXPECT_TRUE(chief.over());
  EXPECT_TRUE(chief.status().ok());
  EXPECT_EQ(chief.iteration(), keeper_.iteration());
}

TEST_F(TrainChief, EndsWhenAllLeaveDuringTheLastTest) {
  train::Chief& chief = Lead(10, 2);
  Join(kA);
  Join(kB);
  keeper_.BeSlow();
  ASSERT_TRUE(world_.RunUntil([&] { return keeper_.busy(); }, std::chrono::minutes(1)));
  EXPECT_EQ(keeper_.iteration(), 10);
  world_.Crash(kA, Death::kKilled);
  world_.Crash(kB, Death::kKilled);
  world_.RunFor(std::chrono::seconds(10));
  EXPECT_FALSE(chief.over());
  EXPECT_TRUE(chief.keeping());
  keeper_.Finish();
  ASSERT_TRUE(End());
  EXPECT_TRUE(chief.status().ok());
}

TEST_F(TrainChief, WhoRestsStillGivesTheWeights) {
  train::Chief& chief = Lead(1000, 2);
  Join(kA);
  Join(kB);
  ASSERT_TRUE(Reach(5));
  Tell(kA, kHot);
  Tell(kB, kHot);
  world_.RunFor(std::chrono::seconds(10));
  const std::int64_t rests = chief.iteration();
  EXPECT_LT(rests, 1000);
  chief.Stop();
  ASSERT_TRUE(End());
  EXPECT_TRUE(chief.status().ok());
  EXPECT_EQ(keeper_.iteration(), rests) << "no step is lost";
}

TEST_F(TrainChief, GoesOnWhenSomebodyHasCooled) {
  train::Chief& chief = Lead(1000, 2);
  Join(kA);
  Join(kB);
  ASSERT_TRUE(Reach(5));
  Tell(kA, kHot);
  Tell(kB, kHot);
  world_.RunFor(std::chrono::seconds(10));
  const std::int64_t rests = chief.iteration();
  world_.RunFor(std::chrono::seconds(10));
  EXPECT_EQ(chief.iteration(), rests);
  EXPECT_EQ(head_->Told("all devices rest"), 1);
  Tell(kB, kCool);
  EXPECT_TRUE(Reach(rests + 5));
  EXPECT_EQ(head_->Told("training goes on"), 1);
}

// So many that a message has no room for their addresses.
TEST_F(TrainChief, EndsWhenWhatItHasToSayIsTooLarge) {
  constexpr std::uint64_t kPhones = 950;
  train::Chief& chief = Lead(1000, kPhones, kPhones);
  for (std::uint64_t i = 0; i < kPhones; ++i) Join(NodeId{2 + i}, std::string(300, 'a'));
  ASSERT_TRUE(End());
  EXPECT_EQ(chief.status().code(), Code::kResourceExhausted);
  EXPECT_NE(chief.status().message().find("cannot be told what to do"), std::string::npos)
      << chief.status().message();
}

TEST_F(TrainChief, NobodyIsToldALongAddress) {
  train::Chief& chief = Lead(10, 1);
  Join(kB);
  world_.RunFor(std::chrono::milliseconds(20));
  Join(kA, std::string(200000, 'a'));
  ASSERT_TRUE(End());
  EXPECT_TRUE(chief.status().ok());
  EXPECT_EQ(chief.crew().Find(kA)->state, train::Mate::State::kUnfit);
}

// What is being written down must not be sent meanwhile: writing changes it for a moment.
TEST_F(TrainChief, SendsNothingOfWhatTheKeeperReads) {
  Lead(1000, 1);
  Join(kA);
  keeper_.KeepEvery(4);
  keeper_.BeSlow();
  ASSERT_TRUE(Reach(6));
  ASSERT_TRUE(keeper_.busy());
  world_.Crash(kA, Death::kKilled);
  Join(kB);
  world_.RunFor(std::chrono::seconds(10));
  EXPECT_FALSE(keeper_.read_while_busy());
  keeper_.Finish();
  EXPECT_TRUE(Reach(7));
  EXPECT_FALSE(keeper_.read_while_busy());
}

TEST_F(TrainChief, WhoIsReadyFirstMayBeWrong) {
  train::Chief& chief = Lead(10, 1);
  const auto other_shape = [](wire::pb::TrainToHead& message) {
    if (message.has_ready()) message.mutable_ready()->set_shape(7);
  };
  const auto other_buckets = [](wire::pb::TrainToHead& message) {
    if (message.has_ready()) message.mutable_ready()->add_buckets(7);
  };
  Join(kA, other_shape);
  Join(kB, other_buckets);
  Join(kC);
  ASSERT_TRUE(End());
  EXPECT_EQ(chief.crew().Find(kA)->state, train::Mate::State::kUnfit);
  EXPECT_EQ(chief.crew().Find(kB)->state, train::Mate::State::kUnfit);
  EXPECT_EQ(keeper_.iteration(), 10);
}

// It gives the weights, and says of them what cannot be.
struct BadNote {
  std::string name;
  std::string note;
};

class TrainChiefNote : public TrainChief, public testing::WithParamInterface<BadNote> {};

TEST_P(TrainChiefNote, WeightsComeFromSomebodyElseThen) {
  train::Chief& chief = Lead(10, 2);
  Join(kA, [](wire::pb::TrainToHead& message) {
    if (!message.done().note().empty()) message.mutable_done()->set_note(GetParam().note);
  });
  Join(kB);
  keeper_.KeepEvery(4);
  ASSERT_TRUE(End());
  EXPECT_TRUE(chief.status().ok()) << chief.status().ToString();
  EXPECT_EQ(chief.crew().Find(kA)->state, train::Mate::State::kUnfit);
  EXPECT_EQ(keeper_.iteration(), 10);
}

INSTANTIATE_TEST_SUITE_P(Notes, TrainChiefNote,
                         testing::Values(BadNote{"Unreadable", "nonsense"},
                                         BadNote{"AnotherIteration", "0 3"}, BadNote{"Empty", ""},
                                         BadNote{"Long", std::string(200000, '1')}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace shoal::sim
