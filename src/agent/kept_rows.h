// KeptRows: the rows that a node has made lately, and the head's questions for them: it lets others
// compute them again.
//
// Belongs to one event loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/seams.h"
#include "pipeline/row_log.h"
#include "wire/control.h"

namespace shoal::agent {

class KeptRows {
 public:
  using Tell = std::function<void(const wire::pb::ToHead&)>;
  // Everything outlives it. `tell` reaches the head.
  KeptRows(const Seams& seams, NodeId head, Tell tell);

  // Where jobs put them. Touched by jobs only.
  const std::shared_ptr<pipeline::RowLog>& log() const { return log_; }
  // No sequence goes on here, as far as is known: their rows are the first to go.
  void EndAll();
  // The head gets them, or hears that they are gone.
  void OnGet(const wire::pb::RowsGet& get);

 private:
  void TellGone(std::uint64_t audit);

  const Seams seams_;
  const NodeId head_;
  const Tell tell_;
  const std::shared_ptr<pipeline::RowLog> log_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace shoal::agent
