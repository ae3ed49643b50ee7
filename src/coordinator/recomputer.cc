#include "coordinator/recomputer.h"

#include <utility>

#include "base/check.h"
#include "kernels/revision.h"
#include "llm/model_config_text.h"
#include "llm/model_size.h"
#include "pipeline/mapped_layer.h"
#include "wire/row_hash.h"

namespace shoal::coordinator {

Recomputer::Recomputer(const Seams& seams, const ModelPlan& model, pipeline::LayerStore& layers,
                       Parallel& parallel)
    : seams_(seams),
      model_(model),
      layers_(layers),
      parallel_(parallel),
      config_(llm::ParseConfig("the model", model.config)) {}

void Recomputer::Begin(std::uint64_t number, NodeId where, const pipeline::LayerRange& range,
                       std::size_t positions, Ready ready) {
  End();
  number_ = number;
  where_ = where;
  range_ = range;
  ready_ = std::move(ready);
  step_ = 0;
  if (!config_.ok()) return Fail(config_.status());
  spec_ = {.model = model_.id,
           .config = *config_,
           .kv = static_cast<kernels::KvType>(model_.kv),
           .positions = positions,
           .range = range};
  if (IsHere()) return OpenNext();
  wire::pb::ToNode message;
  wire::pb::Assign& assign = *message.mutable_assign();
  assign.set_audit(true);
  assign.set_epoch(number_);
  assign.set_stages(1);
  assign.set_first(static_cast<std::uint32_t>(range.first));
  assign.set_end(static_cast<std::uint32_t>(range.end));
  assign.set_model_id(model_.id);
  assign.set_config(model_.config);
  for (std::int64_t i = range.first; i < range.end; ++i) {
    *assign.add_layers() = model_.layers[static_cast<std::size_t>(i)];
  }
  assign.set_positions(positions);
  assign.set_kv(model_.kv);
  const Status sent = seams_.network.Send(where_, Traffic::kControl, wire::Encode(message));
  if (!sent.ok()) Fail(sent);
}

// One layer of the head's after the other.
void Recomputer::OpenNext() {
  const std::int64_t next = range_.first + static_cast<std::int64_t>(opened_.size());
  if (next == range_.end) {
    stage_ = std::make_shared<pipeline::NodeStage>();
    const Status assigned = stage_->Assign(spec_, std::exchange(opened_, {}));
    if (!assigned.ok()) return Fail(assigned);
    return std::exchange(ready_, {})({});
  }
  const wire::pb::LayerFile& layer = model_.layers[static_cast<std::size_t>(next)];
  layers_.Open(layer, [this, &layer, number = number_,
                       alive = std::weak_ptr<int>(alive_)](const Result<std::uint32_t>& chunks) {
    if (alive.expired() || number != number_) return;
    if (!chunks.ok()) return Fail(chunks.status());
    auto bytes = layers_.Find(layer.sha256());
    if (bytes == nullptr) return Fail({Code::kUnavailable, "a layer is not in the head's store"});
    auto mapped = pipeline::MapLayer(std::move(bytes), *config_);
    if (!mapped.ok()) return Fail(mapped.status());
    opened_.push_back(*std::move(mapped));
    OpenNext();
  });
}

wire::Batch Recomputer::MakeBatch(std::size_t begin, std::vector<std::uint16_t> rows) const {
  wire::Batch batch;
  batch.to = where_;
  batch.epoch = number_;
  batch.arithmetic = kernels::kKernelRevision;
  batch.step = step_;
  batch.dim = static_cast<std::uint32_t>(model_.dim);
  const auto count = static_cast<std::uint32_t>(rows.size() / model_.dim);
  batch.runs = {
      {.sequence = 1, .begin = static_cast<std::uint32_t>(begin), .count = count, .wanted = count}};
  batch.rows = std::move(rows);
  return batch;
}

void Recomputer::Compute(std::size_t begin, std::vector<std::uint16_t> rows, Done done) {
  SHOAL_CHECK(!rows.empty() && rows.size() % model_.dim == 0);
  rows_ = rows.size() / model_.dim;
  done_ = std::move(done);
  ++step_;
  wire::Batch batch = MakeBatch(begin, std::move(rows));
  if (IsHere()) return ComputeHere(std::move(batch));
  const Status sent = seams_.network.Send(where_, Traffic::kActivations, wire::EncodeBatch(batch));
  if (!sent.ok()) Fail(sent);
}

void Recomputer::ComputeHere(wire::Batch batch) {
  struct Work {
    std::shared_ptr<pipeline::NodeStage> stage;
    wire::Batch batch;
    Status status;
    std::vector<std::uint64_t> hashes;
  };
  const auto work = std::make_shared<Work>(Work{stage_, std::move(batch), {}, {}});
  double bytes = 0;
  for (std::int64_t i = range_.first; i < range_.end; ++i) {
    bytes += static_cast<double>(model_.layers[static_cast<std::size_t>(i)].bytes());
  }
  const Status submitted = seams_.executor.Submit(
      {.tag = {.step = step_, .epoch = number_},
       .work = {.operations = 2 * static_cast<double>(rows_) * static_cast<double>(range_.size()) *
                              llm::MeasureRow(spec_.config).multiply_adds,
                .bytes_moved = bytes},
       .run =
           [work, &parallel = parallel_] {
             work->status = work->stage->Apply(work->batch, parallel);
             if (work->status.ok()) {
               work->hashes = wire::RowHashes(work->batch.rows, work->batch.dim);
             }
           },
       .done =
           [this, work, alive = std::weak_ptr<int>(alive_)](JobTag tag) {
             if (alive.expired() || tag.epoch != number_) return;
             if (!work->status.ok()) return Fail(work->status);
             std::exchange(done_, {})(std::move(work->hashes));
           }});
  if (!submitted.ok()) Fail(submitted);
}

void Recomputer::End() {
  if (number_ == 0) return;
  if (!IsHere()) {
    wire::pb::ToNode message;
    message.set_forget(number_);
    (void)seams_.network.Send(where_, Traffic::kControl, wire::Encode(message)).ok();
  }
  number_ = 0;
  ready_ = {};
  done_ = {};
  opened_.clear();
  stage_.reset();
}

void Recomputer::Fail(const Status& why) {
  const Ready ready = std::exchange(ready_, {});
  const Done done = std::exchange(done_, {});
  End();
  if (done) return done(why);
  if (ready) ready(why);
}

void Recomputer::OnState(NodeId from, const wire::pb::StageState& state) {
  if (number_ == 0 || from != where_ || state.epoch() != number_) return;
  if (state.progress() == wire::pb::StageState::FAILED) {
    return Fail({Code::kUnavailable, "it cannot compute these layers"});
  }
  if (state.progress() == wire::pb::StageState::READY && ready_) {
    std::exchange(ready_, {})({});
  }
}

void Recomputer::OnBatch(NodeId from, const wire::Batch& batch) {
  if (number_ == 0 || from != where_ || batch.epoch != number_ || batch.step != step_ || !done_) {
    return;
  }
  if (batch.dim != model_.dim || batch.rows.size() != rows_ * model_.dim) {
    return Fail({Code::kCorruption, "it computes other rows than it was given"});
  }
  std::exchange(done_, {})(wire::RowHashes(batch.rows, batch.dim));
}

void Recomputer::OnLost(NodeId node) {
  if (number_ != 0 && node == where_) Fail({Code::kUnavailable, "it is gone"});
}

}  // namespace shoal::coordinator
