// SynthSource: a small image set to learn from, out of nothing: ten kinds of shapes and
// patterns in colours that lean towards their class, somewhere in the image, under noise.
// Integers only, so the same bits on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "data/record.h"

namespace shoal::data {

inline constexpr std::int32_t kSynthClasses = 10;

struct SynthOptions {
  std::int64_t count = 1000;
  std::int64_t size = 32;  // Of a side; 8 to 1024.
  std::int64_t channels = 3;
  std::int32_t classes = kSynthClasses;
  std::int32_t noise = 32;  // A pixel is off by at most that much.
  std::uint64_t seed = 1;   // Another seed: other images of the same classes.
};

class SynthSource final : public RecordSource {
 public:
  static Result<SynthSource> Create(const SynthOptions& options);

  std::int64_t size() const override { return options_.count; }
  // The labels go round: every class has as many images, up to one.
  Status Read(std::int64_t index, Record& out) const override;

 private:
  explicit SynthSource(const SynthOptions& options) : options_(options) {}

  SynthOptions options_;
};

// "disc", "ring" and so on, by label.
std::vector<std::string> SynthClassNames();

}  // namespace shoal::data
