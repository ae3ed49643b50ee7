// Goal: what goes wrong once on a worker does not stay with it: flash that loses a record, a
// learner that cannot be built, a job that fails.
#include "train/cluster/worker_job.h"

#include <gtest/gtest.h>

#include <deque>

#include "base/random.h"
#include "data/datum.h"
#include "sim/fake_network_for_test.h"
#include "sim/manual_clock_for_test.h"
#include "sim/toy_learner.h"
#include "train/cluster/memory_record_cache.h"
#include "wire/item.h"

namespace shoal::train {
namespace {

constexpr NodeId kHead{1};

class Queue final : public Executor {
 public:
  Status Submit(Job job) override {
    jobs_.push_back(std::move(job));
    return {};
  }
  void RunAll() {
    while (!jobs_.empty()) {
      Job job = std::move(jobs_.front());
      jobs_.pop_front();
      job.run();
      job.done(job.tag);
    }
  }

 private:
  std::deque<Job> jobs_;
};

class WorkerJobTest : public testing::Test, private WorkerHost {
 protected:
  void Offer() {
    wire::pb::TrainOffer offer;
    offer.set_job("job");
    job_.OnOffer(offer);
  }
  void Send(wire::ItemPiece::Kind kind, const std::string& bytes) {
    (void)job_.OnPiece(wire::EncodeItemPiece(
        {.kind = kind, .total = bytes.size(), .data = std::as_bytes(std::span(bytes))}));
  }
  void SendJob() {
    wire::pb::TrainJob job;
    job.set_records(10);
    Send(wire::ItemPiece::Kind::kJob, job.SerializeAsString());
  }
  void SendRecord() {
    Send(wire::ItemPiece::Kind::kRecord,
         data::EncodeDatum({.channels = 1, .height = 1, .width = 1, .label = 1, .bytes = {1}}));
  }
  std::size_t RecordsAsked() const {
    std::size_t count = 0;
    for (const sim::FakeNetwork::Sent& sent : network_.sent) {
      const Result<wire::pb::ToHead> message = wire::DecodeToHead(sent.frame);
      count += static_cast<std::size_t>(message->train().ask().records_size());
    }
    return count;
  }

  // What building says, one after the other; then it works.
  std::deque<Status> problems_;
  std::vector<std::string> said_;  // Of being ready: the problem, or "ready".
  std::string records_;            // What it said it has, last.
  std::shared_ptr<MemoryRecordCache> cache_;
  sim::ManualClock clock_;
  sim::FakeNetwork network_;
  Queue executor_;
  Random random_{1};

 private:
  Result<std::shared_ptr<RecordCache>> OpenCache(const std::string&,
                                                 std::int64_t records) override {
    // Room for one.
    cache_ = std::make_shared<MemoryRecordCache>(records, 20, data::Colors::kAsStored);
    return std::shared_ptr<RecordCache>(cache_);
  }
  Result<std::unique_ptr<Learner>> MakeLearner(const wire::pb::TrainJob&,
                                               std::shared_ptr<RecordCache>) override {
    if (!problems_.empty()) {
      const Status status = problems_.front();
      problems_.pop_front();
      if (status.code() == Code::kNotFound) Lose();
      return status;
    }
    return std::unique_ptr<Learner>(
        std::make_unique<sim::ToyLearner>(1, [](std::uint64_t, std::uint64_t, std::uint64_t) {}));
  }
  // Record 0.
  void Lose() {
    cache_->Hold({});
    for (const std::int64_t index : {1, 2}) {
      const std::string datum =
          data::EncodeDatum({.channels = 1, .height = 1, .width = 1, .label = 1, .bytes = {1}});
      (void)cache_->Put(index, std::as_bytes(std::span(datum)));
    }
    ASSERT_FALSE(cache_->Has(0));
  }

 protected:
  WorkerJob job_{Seams{clock_.clock(), network_, executor_, random_},
                 kHead,
                 *this,
                 {.tell =
                      [this](const auto& message) {
                        if (!message.has_ready()) return;
                        const std::string problem = message.ready().problem();
                        records_ = message.ready().records();
                        said_.push_back(problem.empty() ? "ready" : problem);
                      },
                  .say = [](const std::string&) {},
                  .on_trouble = [](const Status&) {},
                  .on_idle = [] {}}};
};

TEST_F(WorkerJobTest, ARecordThatIsLostWhileItBuildsComesAgain) {
  problems_ = {Status(Code::kNotFound, "record 0 is not here")};
  Offer();
  SendJob();
  SendRecord();
  executor_.RunAll();
  EXPECT_TRUE(said_.empty());
  EXPECT_EQ(RecordsAsked(), 2U);
  SendRecord();
  executor_.RunAll();
  EXPECT_EQ(said_, std::vector<std::string>{"ready"});
  EXPECT_EQ(records_, "\x01") << "record 0";
}

TEST_F(WorkerJobTest, TriesAgainWhenTheHeadComesBack) {
  problems_ = {Status(Code::kResourceExhausted, "no memory")};
  Offer();
  SendJob();
  SendRecord();
  executor_.RunAll();
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_NE(said_[0].find("no memory"), std::string::npos);
  EXPECT_FALSE(job_.IsReady("job"));
  job_.OnHeadDown();
  Offer();
  executor_.RunAll();
  ASSERT_EQ(said_.size(), 2U);
  EXPECT_EQ(said_[1], "ready");
  EXPECT_TRUE(job_.IsReady("job"));
}

TEST_F(WorkerJobTest, AJobThatFailsIsTheOnlyOne) {
  Offer();
  SendJob();
  SendRecord();
  executor_.RunAll();
  std::vector<Code> codes;
  for (const Code code : {Code::kOk, Code::kNotFound, Code::kOk}) {
    job_.Submit(
        1, {}, [code](Learner&) { return code == Code::kOk ? Status() : Status(code, "no"); },
        [&codes](const Status& status) { codes.push_back(status.code()); });
  }
  executor_.RunAll();
  EXPECT_EQ(codes, (std::vector<Code>{Code::kOk, Code::kNotFound, Code::kOk}));
  Offer();
  EXPECT_EQ(said_, (std::vector<std::string>{"ready", "ready"}));
}

}  // namespace
}  // namespace shoal::train
