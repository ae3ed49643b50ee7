#include "agent/kept_rows.h"

#include <span>
#include <utility>

#include "kernels/revision.h"
#include "wire/batch.h"

namespace shoal::agent {

KeptRows::KeptRows(const Seams& seams, NodeId head, Tell tell)
    : seams_(seams),
      head_(head),
      tell_(std::move(tell)),
      log_(std::make_shared<pipeline::RowLog>(pipeline::kRowLogBytes)) {}

void KeptRows::TellGone(std::uint64_t audit) {
  wire::pb::ToHead message;
  message.set_rows_gone(audit);
  tell_(message);
}

void KeptRows::EndAll() {
  // If it cannot be queued, others go first, which costs nothing but an audit.
  (void)seams_.executor
      .Submit(
          {.tag = {}, .work = {}, .run = [log = log_] { log->EndAll(); }, .done = [](JobTag) {}})
      .ok();
}

void KeptRows::OnGet(const wire::pb::RowsGet& get) {
  struct Wanted {
    std::shared_ptr<pipeline::RowLog> log;
    wire::Batch batch;
  };
  const auto wanted = std::make_shared<Wanted>();
  wanted->log = log_;
  wanted->batch.to = head_;
  wanted->batch.epoch = get.audit();
  wanted->batch.arithmetic = kernels::kKernelRevision;
  wanted->batch.stage = 1;
  if (get.count() == 0 || get.count() > wire::kBatchRowsMax) return TellGone(get.audit());
  const Status submitted = seams_.executor.Submit(
      {.tag = {.step = 0, .epoch = get.audit()},
       .work = {.operations = 0, .bytes_moved = 0},
       .run =
           [wanted, get] {
             const std::span<const std::uint16_t> rows =
                 wanted->log->Find(get.sequence(), get.boundary(), get.begin(), get.count());
             wanted->batch.dim = static_cast<std::uint32_t>(rows.size() / get.count());
             wanted->batch.rows.assign(rows.begin(), rows.end());
             wanted->batch.runs = {{.sequence = get.sequence(),
                                    .begin = get.begin(),
                                    .count = get.count(),
                                    .wanted = get.count()}};
           },
       .done =
           [this, wanted, alive = std::weak_ptr<int>(alive_)](JobTag tag) {
             if (alive.expired()) return;
             if (wanted->batch.rows.empty() ||
                 wanted->batch.rows.size() * 2 > kActivationsFrameBytesMax / 2) {
               return TellGone(tag.epoch);
             }
             (void)seams_.network
                 .Send(head_, Traffic::kActivations, wire::EncodeBatch(wanted->batch))
                 .ok();
           }});
  if (!submitted.ok()) TellGone(get.audit());
}

}  // namespace shoal::agent
