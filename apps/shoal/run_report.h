// RunReport: what a training tells while it runs: a line that moves on a terminal, lines for
// files, a log, and at the end a page with the curves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/time.h"
#include "shoal/line_file.h"
#include "train/curves.h"
#include "train/trainer.h"

namespace shoal {

// Where a run stands.
struct RunProgress {
  std::int64_t iteration = 0;
  std::int64_t stop = 0;
  std::int64_t display = 0;          // Iterations between two lines; 0: none.
  std::int64_t images_per_step = 0;  // Of all devices.
  double loss = 0;                   // Smoothed.
  double rate = 0;
  bool done() const { return iteration >= stop; }
};

RunProgress ProgressOf(const train::Trainer& trainer);

struct RunReportOptions {
  std::string prefix;  // Of the files: <prefix>.log.jsonl, <prefix>.html.
  bool quiet = false;  // Nothing but files.
};

class RunReport {
 public:
  // `clock` outlives it.
  RunReport(const RunReportOptions& options, const Clock& clock);

  // Starts a log, or goes on with the one that is there, up to `iteration`.
  Status Open(bool resumed, std::int64_t iteration);
  std::string log_path() const { return options_.prefix + ".log.jsonl"; }
  std::string page_path() const { return options_.prefix + ".html"; }

  // After each step: prints and logs when it is time to.
  Status OnStep(const RunProgress& progress);
  Status OnTest(std::int64_t iteration, const std::vector<std::vector<train::NamedValue>>& results);
  // Time that is not training: before and after a test or a snapshot.
  void Pause();
  void Resume();

  // A run that lost all of its devices goes on from here: what came after never was.
  Status GoBack(std::int64_t iteration);
  // A line of news, clear of the one that moves.
  void Say(const std::string& line) const;

  // Writes the page and says how it went.
  Status Finish(const RunProgress& progress);

 private:
  double Elapsed() const;  // Seconds of this process and of those it resumed.
  std::string Line(const RunProgress& progress, double images_per_second) const;
  Status Rewrite();
  void ClearLine() const;

  RunReportOptions options_;
  const Clock& clock_;
  bool terminal_;
  train::RunLog log_;
  LineFile file_;
  double seconds_before_ = 0;  // Of the runs that this one resumes.
  Instant begin_, paused_at_, shown_;
  Duration paused_{0};                  // In all.
  Instant window_begin_;                // Since the last line of the log, …
  Duration window_paused_{0};           // … pauses before it …
  std::int64_t window_iterations_ = 0;  // … and iterations since.
  std::int64_t first_iteration_ = 0;
};

}  // namespace shoal
