#include "agent/stage_work.h"

#include "wire/row_hash.h"

namespace shoal::agent {

void StageWork::Run(Parallel& parallel) {
  if (assign) status = stage->Assign(assign->first, std::move(assign->second));
  if (log != nullptr && status.ok()) {
    plan = wire::PlanHash(batch);
    given = wire::RowHashes(batch.rows, batch.dim);
  }
  if (status.ok()) status = stage->Apply(batch, parallel, [this](wire::Batch& all) { Note(all); });
}

void StageWork::Note(wire::Batch& all) {
  if (spoil) spoil(all);
  if (log == nullptr) return;
  made = wire::RowHashes(all.rows, all.dim);
  log->Add(all, boundary);
}

}  // namespace shoal::agent
