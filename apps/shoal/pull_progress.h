// How far a download is, on stderr: one line that changes on a terminal, else a line for
// every tenth of the file or every half minute.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"

namespace shoal {

// "model.gguf: 1234.5 of 4370.0 MB (28 %), 56.1 MB/s, 0:55 left". Without a rate nothing
// is said about the time.
std::string ProgressText(const std::string& name, std::uint64_t bytes,
                         std::optional<std::uint64_t> size, double bytes_per_s);

class Progress {
 public:
  // `quiet`: says nothing.
  Progress(const Clock& clock, std::string name, bool terminal, bool quiet);

  // The file has `bytes` of `size` now. A jump backwards or at the start counts for nothing.
  void Update(std::uint64_t bytes, std::optional<std::uint64_t> size);
  // A message of its own, which does not spoil the line.
  void Say(const std::string& text);
  // Ends the line.
  void End();

 private:
  void Measure(std::uint64_t bytes, Instant now);

  const Clock& clock_;
  const std::string name_;
  const bool terminal_;
  const bool quiet_;
  bool line_open_ = false;
  Instant shown_at_{};
  std::uint64_t shown_bytes_ = 0;
  Instant measured_at_{};
  std::uint64_t measured_bytes_ = 0;
  bool measuring_ = false;
  double bytes_per_s_ = 0;  // Of the last seconds.
};

}  // namespace shoal
