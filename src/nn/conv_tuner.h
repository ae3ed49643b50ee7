// ConvTuner: chooses the row of the convolution table that is the fastest on this device, by
// running each for a few milliseconds, and remembers it. What it learned can be kept as text, for
// the next start, and as choices in a snapshot, so that a resumed training computes the same bits.
//
// Has no clock and no files of its own: both are the caller's.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "kernels/conv.h"
#include "nn/conv_chooser.h"
#include "nn/conv_times.h"

namespace shoal::nn {

struct ConvTunerOptions {
  // "auto": all rows. "portable": ours. The name of a row: that one, and the first of the table
  // for what it does not support.
  std::string backend = "auto";
  // What times belong to: the model of the CPU, and the version and compiler of this build.
  std::string device = "unknown";
  std::string build = "unknown";
  // For one pass of one shape, unless a single run of each row takes longer.
  double seconds_per_pass = 0.1;
  // Rows that want more to work in are left out (but the first of the table).
  std::size_t workspace_bytes_max = std::size_t{512} << 20U;
  // What a measurement may take, operands and workspace; 0: no limit. A pass too large to be
  // measured is computed by the first row of the table.
  std::size_t bytes_max = 0;
};

// A pass ("n4 56x56x64 … forward") and the row that computes it.
struct ConvChoice {
  std::string pass;
  std::string row;

  bool operator==(const ConvChoice&) const = default;
};

// One thread; Choose runs passes on `parallel`.
class ConvTuner final : public ConvChooser {
 public:
  using Seconds = std::function<double()>;  // Since any moment; never goes back.

  // Fails if no row is called `options.backend`. `parallel` outlives the tuner; `rows` is static.
  static Result<std::unique_ptr<ConvTuner>> Make(
      ConvTunerOptions options, Parallel& parallel, Seconds now,
      std::span<const kernels::ConvImplementation> rows = kernels::ConvImplementations());

  const kernels::ConvImplementation& Choose(const kernels::ConvShape& shape,
                                            ConvDirection direction) override;

  // Adds what an earlier tuner saved; what does not apply here (another device, number of workers,
  // revision, build or rows) is kept for Save. Fails, and adds nothing, if a line is wrong.
  Status Load(std::string_view text);
  std::string Save() const;

  // All that Choose answered, sorted by pass.
  std::vector<ConvChoice> Choices() const;
  // From now on Choose gives exactly these, whatever is faster. Fails if a row is not in the table.
  Status Preset(std::span<const ConvChoice> choices);

  std::size_t measured() const { return measured_; }  // Passes, not loaded and not preset.

 private:
  ConvTuner(ConvTunerOptions options, Parallel& parallel, Seconds now,
            std::span<const kernels::ConvImplementation> rows);

  const kernels::ConvImplementation* Find(std::string_view name) const;
  const kernels::ConvImplementation* Remembered(const std::string& pass) const;
  const kernels::ConvImplementation& Measure(const kernels::ConvShape& shape,
                                             ConvDirection direction, const std::string& pass);

  ConvTunerOptions options_;
  Parallel& parallel_;
  Seconds now_;
  std::span<const kernels::ConvImplementation> rows_;
  std::vector<const kernels::ConvImplementation*> candidates_;  // Of the backend, in table order.
  std::string section_;                                         // Of times_: what applies here.
  ConvTimes times_;
  std::map<std::string, const kernels::ConvImplementation*> preset_;
  std::map<std::string, const kernels::ConvImplementation*> chosen_;
  std::size_t measured_ = 0;
};

// "n4 56x56x64 o64 k3x3 s1x1 p1x1 d1x1 g1 forward"
std::string PassName(const kernels::ConvShape& shape, ConvDirection direction);

}  // namespace shoal::nn
