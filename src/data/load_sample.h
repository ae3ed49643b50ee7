// One sample of a batch: read, checked, transformed. What loaders have in common.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "data/record.h"
#include "data/sample_order.h"
#include "data/transform.h"

namespace shoal::data {

// Where samples come from and what all of them look like. Thread-safe.
struct SampleReader {
  const RecordSource& source;
  const Transform& transform;
  ImageShape shape;
  std::int64_t stride;  // Floats between pixels.

  // Writes the image of record `index` as the sample `at`, and its label. `scratch` is memory to
  // reuse. kInvalidArgument: the record has another shape; failures name it.
  // REQUIRES: the source has that record.
  Status Read(std::int64_t index, Cursor at, Record& scratch, float* image, float& label) const;
};

}  // namespace shoal::data
