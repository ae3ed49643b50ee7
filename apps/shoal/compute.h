// Compute: what a command needs to run networks: the pool of threads, a clock, and the tuner of
// convolutions with what it learned in earlier runs, which it keeps in a file of the user's cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/status.h"
#include "nn/conv_tuner.h"
#include "os/loop.h"
#include "os/thread_pool.h"

namespace CLI {
class App;
}

namespace shoal {

struct ComputeOptions {
  std::size_t threads = 0;       // 0: one for each fast core.
  std::string backend = "auto";  // As in nn::ConvTunerOptions.
  bool retune = false;           // Forget what earlier runs measured.
  std::size_t bytes_max = 0;     // What measuring may take; 0: no limit.
};

// --threads, --backend, --retune.
void AddComputeOptions(CLI::App& command, ComputeOptions& options);

// The tuner of convolutions with what it learned in earlier runs.
class KeptTuner {
 public:
  // `parallel` outlives it. Fails if there is no such backend. A file that cannot be read is told
  // of on stderr, and no reason to stop.
  static Result<KeptTuner> Make(const ComputeOptions& options, Parallel& parallel,
                                nn::ConvTuner::Seconds now);

  nn::ConvTuner& tuner() { return *tuner_; }
  // Call once networks are built: writes the file if there is something new.
  void Save();

 private:
  std::unique_ptr<nn::ConvTuner> tuner_;
  std::string path_;             // Empty: no place to keep it.
  std::size_t saved_tuned_ = 0;  // Passes measured when the file was last written.
};

class Compute {
 public:
  // As KeptTuner::Make.
  static Result<std::unique_ptr<Compute>> Make(const ComputeOptions& options);

  Clock& clock() { return loop_; }
  os::Loop& loop() { return loop_; }
  Parallel& parallel() { return pool_; }
  nn::ConvTuner& tuner() { return kept_->tuner(); }
  void SaveTimes() { kept_->Save(); }

 private:
  explicit Compute(const os::PoolPlan& plan) : pool_(plan) {}

  os::Loop loop_;
  os::ThreadPool pool_;
  std::optional<KeptTuner> kept_;
};

// "2.8G", "512M", "65536": with binary units, as people say it of memory.
Result<std::uint64_t> ParseBytes(std::string_view text);

}  // namespace shoal
