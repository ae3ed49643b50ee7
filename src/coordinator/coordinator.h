// Coordinator: the head of a cluster. Knows its nodes, keeps pipelines over them, and answers.
//
// Belongs to one event loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/seams.h"
#include "coordinator/lines.h"
#include "coordinator/roster.h"
#include "pipeline/answer_book.h"
#include "pipeline/answer_store.h"
#include "pipeline/answers.h"
#include "pipeline/head_model.h"
#include "pipeline/layer_server.h"
#include "pipeline/layer_store.h"
#include "pipeline/replica.h"

namespace shoal::coordinator {

struct CoordinatorOptions {
  ModelPlan model;
  std::size_t context = 0;      // Of one answer with its prompt.
  std::size_t open_max = 1024;  // Answers that run or wait.
  // Answers that cannot begin or go on for so long, for want of phones, fail.
  Duration wait_max = std::chrono::minutes(10);
  pipeline::ReplicaOptions replica;
  std::set<std::uint64_t> revoked;  // Serials of certificates that are void.
  // Lines for the operator; may be empty.
  std::function<void(const std::string&)> news;
};

// A node that is silent for so long is gone: while it is needed for an answer, and otherwise.
inline constexpr Duration kSilenceBusy = std::chrono::milliseconds(750);
inline constexpr Duration kSilenceIdle = std::chrono::seconds(3);
inline constexpr Duration kTickInterval = std::chrono::milliseconds(50);

class Coordinator final : public NetworkEvents, public pipeline::Answers, private LinesEvents {
 public:
  // Everything outlives it. Attaches itself to the network, and goes on with what `store` holds.
  // `layers` has all of the model.
  Coordinator(const Seams& seams, CoordinatorOptions options,
              std::shared_ptr<pipeline::HeadModel> model, pipeline::LayerStore& layers,
              pipeline::AnswerStore& store);
  ~Coordinator() override;
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Network
  void OnPeerUp(NodeId peer) override;
  void OnPeerDown(NodeId peer, const Status& why) override;
  void OnFrame(NodeId from, Traffic traffic, Frame frame) override;
  void OnWritable(NodeId peer, Traffic traffic) override;

  // Answers
  Status Ask(pipeline::Question question, pipeline::AnswerEvents* events) override;
  Status Listen(const std::string& id, std::size_t first, pipeline::AnswerEvents* events) override;
  const pipeline::AnswerRecord* Find(const std::string& id) const override;
  void Forget(pipeline::AnswerEvents* events) override;
  void Stop(const std::string& id) override;
  std::size_t context() const override { return options_.context; }

  // For operators and tests.
  const Roster& roster() const { return roster_; }
  const Lines& lines() const { return lines_; }
  std::size_t answers_running() const { return running_.size(); }
  std::size_t answers_waiting() const { return queue_.size(); }
  // kNotFound: no such node is here.
  Status Drain(NodeId node, bool draining);
  // `node` is out; all others hear which certificates are void.
  void Revoke(NodeId node, const std::set<std::uint64_t>& serials);

 private:
  void OnDrawn(std::uint64_t sequence, const llm::SampledToken& token) override;
  void OnDamaged(std::uint64_t sequence) override;
  void OnHomeless(const std::vector<std::uint64_t>& sequences) override;
  void OnLinesChanged() override;
  void OnUnfit(NodeId node, const Status& why) override;
  void OnNews(const std::string& line) override;

  void Admit();
  void Finish(std::uint64_t sequence, pipeline::AnswerEnd how, const Status& status);
  void Lose(NodeId node, const Status& why);
  void TellRevoked(NodeId node);
  void FailAll(const Status& why);
  // `from` sent a frame that means nothing; said once.
  void Ignore(NodeId from, const Status& why);
  void Tick();

  const Seams seams_;
  const CoordinatorOptions options_;
  const std::shared_ptr<pipeline::HeadModel> model_;
  Roster roster_;
  pipeline::LayerServer server_;
  pipeline::AnswerBook book_;
  Lines lines_;
  std::deque<std::string> queue_;  // Answers that wait for room in a line.
  std::map<std::uint64_t, std::string> running_;
  std::map<std::string, std::uint64_t> numbers_;  // Of those in running_.
  std::uint64_t next_number_ = 1;
  std::set<std::uint64_t> revoked_;
  std::string why_waiting_;
  Instant waiting_since_;
  Instant last_tick_;
  TimerId tick_{};
};

}  // namespace shoal::coordinator
