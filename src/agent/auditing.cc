#include "agent/auditing.h"

#include <utility>

#include "llm/model_size.h"

namespace shoal::agent {

Auditing::Auditing(const Seams& seams, NodeId head, pipeline::LayerStore& store, News& news,
                   Parallel& parallel, Tell tell)
    : seams_(seams),
      head_(head),
      parallel_(parallel),
      tell_(std::move(tell)),
      fetcher_(seams.clock, seams.network, store, head, news) {}

void Auditing::Begin(const wire::pb::Assign& assign, pipeline::StageSpec spec) {
  audit_ = assign.epoch();
  spec_ = std::move(spec);
  stage_.reset();
  weight_bytes_ = 0;
  for (const wire::pb::LayerFile& layer : assign.layers()) {
    weight_bytes_ += static_cast<double>(layer.bytes());
  }
  fetcher_.Load(
      assign, spec_.config, [](LayerFetcher::Progress /*loaded*/) {},
      [this, audit = audit_](Result<Layers> layers) { OnLoaded(audit, std::move(layers)); });
}

void Auditing::OnLoaded(std::uint64_t audit, Result<Layers> layers) {
  if (!Has(audit)) return;
  Status status = layers.status();
  if (status.ok()) {
    stage_ = std::make_shared<pipeline::NodeStage>();
    status = stage_->Assign(spec_, *std::move(layers));
  }
  TellState(status.ok() ? wire::pb::StageState::READY : wire::pb::StageState::FAILED,
            std::string(status.message()));
}

void Auditing::TellState(wire::pb::StageState::Progress progress, const std::string& problem) {
  wire::pb::ToHead message;
  wire::pb::StageState& state = *message.mutable_state();
  state.set_epoch(audit_);
  state.set_progress(progress);
  state.set_problem(problem);
  tell_(message);
}

void Auditing::Forget(std::uint64_t audit) {
  if (!Has(audit)) return;
  audit_ = 0;
  stage_.reset();
}

void Auditing::Fail(const std::string& why) {
  if (audit_ == 0) return;
  TellState(wire::pb::StageState::FAILED, why);
  Forget(audit_);
}

void Auditing::OnPeerDown(NodeId peer) {
  fetcher_.OnPeerDown(peer);
  if (peer == head_) Forget(audit_);
}

void Auditing::OnBatch(wire::Batch batch) {
  if (stage_ == nullptr) return;
  struct Work {
    std::shared_ptr<pipeline::NodeStage> stage;
    wire::Batch batch;
    Status status;
  };
  const auto work = std::make_shared<Work>(Work{stage_, std::move(batch), {}});
  const auto rows = static_cast<double>(work->batch.RowsIn());
  const Status submitted = seams_.executor.Submit(
      {.tag = {.step = work->batch.step, .epoch = work->batch.epoch},
       .work = {.operations = 2 * rows * static_cast<double>(spec_.range.size()) *
                              llm::MeasureRow(spec_.config).multiply_adds,
                .bytes_moved = weight_bytes_},
       .run = [work,
               &parallel = parallel_] { work->status = work->stage->Apply(work->batch, parallel); },
       .done =
           [this, work, alive = std::weak_ptr<int>(alive_)](JobTag tag) {
             if (alive.expired() || !Has(tag.epoch)) return;
             if (!work->status.ok()) {
               return TellState(wire::pb::StageState::FAILED, work->status.ToString());
             }
             work->batch.to = head_;
             // If it cannot be sent, the audit is late and void.
             (void)seams_.network.Send(head_, Traffic::kActivations, wire::EncodeBatch(work->batch))
                 .ok();
           }});
  if (!submitted.ok()) TellState(wire::pb::StageState::FAILED, submitted.ToString());
}

}  // namespace shoal::agent
