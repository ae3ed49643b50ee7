// Goal: a node obeys the head's limit as long as that is its head, and its own heat whatever the
// head says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "base/random.h"
#include "data/datum.h"
#include "llm/model_config_text.h"
#include "sim/fake_network_for_test.h"
#include "sim/manual_clock_for_test.h"
#include "sim/toy_learner.h"
#include "sim/toy_model.h"
#include "train/cluster/memory_record_cache.h"
#include "wire/item.h"

namespace shoal::agent {
namespace {

constexpr NodeId kHead{1};
constexpr Duration kSecond = std::chrono::seconds(1);

class Queue final : public Executor {
 public:
  Status Submit(Job job) override {
    jobs_.push_back(std::move(job));
    return {};
  }
  void RunAll() {
    for (Job& job : std::exchange(jobs_, {})) {
      job.run();
      job.done(job.tag);
    }
  }

 private:
  std::vector<Job> jobs_;
};

class TrainsToys final : public train::WorkerHost {
 public:
  Result<std::shared_ptr<train::RecordCache>> OpenCache(const std::string&,
                                                        std::int64_t records) override {
    return std::shared_ptr<train::RecordCache>(
        std::make_shared<train::MemoryRecordCache>(records, 1000, data::Colors::kAsStored));
  }
  Result<std::unique_ptr<train::Learner>> MakeLearner(
      const wire::pb::TrainJob&, std::shared_ptr<train::RecordCache>) override {
    return std::unique_ptr<train::Learner>(
        std::make_unique<sim::ToyLearner>(1, [](std::uint64_t, std::uint64_t, std::uint64_t) {}));
  }
};

class NoLayers final : public pipeline::LayerStore {
 public:
  std::shared_ptr<const pipeline::LayerBytes> Find(const std::string&) override { return nullptr; }
  std::vector<std::string> Whole() const override { return {}; }
  void Open(const wire::pb::LayerFile&, UniqueFunction<void(Result<std::uint32_t>)>) override {}
  void Append(const wire::pb::LayerFile&, std::uint32_t, std::vector<std::byte>,
              UniqueFunction<void(Status)>) override {}
};

class Thermometer final : public Probe {
 public:
  void Read(wire::pb::Telemetry& telemetry) override {
    if (celsius) telemetry.set_battery_celsius(*celsius);
  }
  std::optional<double> celsius;
};

class AgentCareTest : public testing::Test {
 protected:
  AgentCareTest() {
    AgentOptions options;
    options.head = kHead;
    options.trains = &host_;
    options.set_duty = [this](double duty) { duties_.push_back(duty); };
    options.news = [this](const std::string& line) { news_.push_back(line); };
    agent_.emplace(Seams{clock_.clock(), network_, executor_, random_}, std::move(options), layers_,
                   thermometer_, serial_);
    agent_->OnPeerUp(kHead);
  }

  void Tell(const wire::pb::ToNode& message) {
    agent_->OnFrame(kHead, Traffic::kControl, wire::Encode(message));
  }
  void Limit(double duty) {
    wire::pb::ToNode message;
    message.mutable_limit()->set_duty(duty);
    Tell(message);
  }
  // All layers of a model that nobody has.
  void Assign(std::uint64_t epoch) {
    wire::pb::ToNode message;
    wire::pb::Assign& assign = *message.mutable_assign();
    assign.set_epoch(epoch);
    assign.set_stages(1);
    assign.set_end(static_cast<std::uint32_t>(model_.config().layers));
    assign.set_config(llm::SerializeConfig(model_.config()));
    for (const sim::ToyModel::File& file : model_.files()) *assign.add_layers() = file.name;
    assign.mutable_next()->set_node(ToNumber(kHead));
    Tell(message);
  }
  void SendItem(wire::ItemPiece::Kind kind, const std::string& bytes) {
    agent_->OnFrame(
        kHead, Traffic::kBulk,
        wire::EncodeItemPiece(
            {.kind = kind, .total = bytes.size(), .data = std::as_bytes(std::span(bytes))}));
  }
  // Until the head gives it the weights.
  void Train() {
    wire::pb::ToNode offer;
    offer.mutable_train()->mutable_offer()->set_job("job");
    Tell(offer);
    wire::pb::TrainJob job;
    job.set_records(1);
    SendItem(wire::ItemPiece::Kind::kJob, job.SerializeAsString());
    SendItem(wire::ItemPiece::Kind::kRecord,
             data::EncodeDatum({.channels = 1, .height = 1, .width = 1, .label = 1, .bytes = {1}}));
    executor_.RunAll();
    wire::pb::ToNode message;
    wire::pb::TrainRound& round = *message.mutable_train()->mutable_round();
    round.set_job("job");
    round.set_round(1);
    round.set_kind(wire::pb::TrainRound::SYNC);
    round.mutable_group()->set_epoch(1);
    round.mutable_group()->set_pieces_ahead(1);
    for (const NodeId node : {kHead, network_.self()}) {
      round.mutable_group()->add_members()->set_node(ToNumber(node));
    }
    Tell(message);
  }
  // The texts of troubles and failures that the head was told of since the last call.
  std::vector<std::string> Complaints() {
    std::vector<std::string> complaints;
    for (const sim::FakeNetwork::Sent& sent : network_.sent) {
      if (sent.traffic != Traffic::kControl) continue;
      const Result<wire::pb::ToHead> message = wire::DecodeToHead(sent.frame);
      if (!message.ok()) continue;
      if (message->train().has_trouble()) {
        complaints.push_back("training: " + message->train().trouble().text());
      }
      if (message->has_trouble()) complaints.push_back("trouble: " + message->trouble().text());
      if (message->state().progress() == wire::pb::StageState::FAILED) {
        complaints.push_back("failed: " + message->state().problem());
      }
    }
    network_.sent.clear();
    return complaints;
  }

  const sim::ToyModel model_{2, 64, 1};
  sim::ManualClock clock_;
  sim::FakeNetwork network_;
  Queue executor_;
  Random random_{1};
  NoLayers layers_;
  Thermometer thermometer_;
  TrainsToys host_;
  Serial serial_;
  std::vector<double> duties_;
  std::vector<std::string> news_;
  std::optional<Agent> agent_;
};

TEST_F(AgentCareTest, ObeysTheLimitOfItsHead) {
  Limit(0.5);
  for (const double wrong : {0.0, -1.0, 2.0, std::nan("")}) Limit(wrong);
  EXPECT_EQ(duties_, std::vector<double>{0.5});
  agent_->OnPeerDown(kHead, {Code::kUnavailable, "unplugged"});
  EXPECT_EQ(duties_, (std::vector<double>{0.5, 1})) << "the next head says it again";
}

TEST_F(AgentCareTest, GivesUpWhatItHasWhenItIsTooHot) {
  thermometer_.celsius = 45;
  clock_.Pass(kSecond);
  Assign(7);
  clock_.Pass(kSecond);
  EXPECT_TRUE(Complaints().empty());
  thermometer_.celsius = 50.5;
  clock_.Pass(kSecond);
  EXPECT_EQ(Complaints(), std::vector<std::string>{"trouble: its battery is too hot to compute"});
  Assign(8);
  EXPECT_EQ(Complaints(), std::vector<std::string>{"failed: its battery is too hot to compute"});
  thermometer_.celsius = 44;
  clock_.Pass(60 * kSecond);
  Assign(9);
  EXPECT_EQ(Complaints().size(), 1U) << "still too hot";
  thermometer_.celsius = 39;
  clock_.Pass(kSecond);
  Assign(10);
  EXPECT_TRUE(Complaints().empty());
  EXPECT_EQ(news_.back(), "has cooled down: ready to compute again");
}

TEST_F(AgentCareTest, TrainsNoMoreWhenItIsTooHot) {
  Train();
  thermometer_.celsius = 49;
  clock_.Pass(kSecond);
  EXPECT_EQ(Complaints(), std::vector<std::string>());
  thermometer_.celsius = 50.5;
  clock_.Pass(5 * kSecond);
  const std::vector<std::string> told = Complaints();
  EXPECT_EQ(std::count(told.begin(), told.end(), "training: is not in step with the others"), 1);
}

}  // namespace
}  // namespace shoal::agent
