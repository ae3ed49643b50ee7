// RunAudits: a cluster that answers question after question while some of its nodes compute
// wrongly, tell lies about what they sent, or hide what they did. Who is found out, and when?
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster_run.h"
#include "sim/toy_model.h"
#include "sim/trace.h"

namespace shoal::sim {

enum class Lie : std::uint8_t {
  kResults,   // A bit of a row that it made is flipped, and it vouches for the row.
  kLink,      // It sends other rows than it says and shows.
  kReceipts,  // It says that it made others than it did.
  kSilence,   // It flips bits, and sends no receipts.
  kEvasion,   // It flips bits, and leaves those batches out of its receipts.
  kForgery,   // It sends batches that are for others to send.
  kTamper,    // It passes rows on as if they were for other positions or answers.
};

struct AuditRunOptions {
  std::uint64_t seed = 1;
  std::uint32_t nodes = 5;  // Beside the head, which is node 1.
  std::size_t stages = 4;
  double audit = 0.2;
  std::size_t at_once = 3;  // Answers.
  std::size_t guesses = 2;  // Rows of wrong ones do no harm, and nobody looks at them.
  std::optional<std::uint32_t> liar =
      std::nullopt;  // A node's number, from 0; none: all are honest.
  Lie lie = Lie::kResults;
  double chance = 0.01;           // Of a row to be wrong.
  std::size_t tokens_max = 2000;  // Rows that answers take, prompts included.
};

struct AuditRunResult {
  std::string failure;              // Empty: nothing happened that must not.
  std::vector<NodeId> quarantined;  // In the order in which they were.
  std::size_t tokens = 0;           // Computed until the first was found out, or at all.
  std::uint64_t right = 0;          // Audits that found nothing,
  std::uint64_t voided = 0;         // and that were not finished.
  double share = 0;                 // Of all work: what was computed again.
  std::size_t lies = 0;             // Rows that were wrong, until then.
  std::size_t spoiled = 0;          // Answers with such, not counting rows of wrong guesses.
  std::size_t failed = 0;           // Answers whose askers were told that they were wrong.
};

AuditRunResult RunAudits(const AuditRunOptions& options, const ToyModel& model,
                         const std::vector<ClusterQuestion>& questions,
                         const Trace::Line& transcript);

}  // namespace shoal::sim
