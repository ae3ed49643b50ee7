// Whatever a peer sends as a batch: one that encodes to the same bytes, or kCorruption.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "wire/batch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto given = std::as_bytes(std::span(data, size));
  const shoal::Frame frame(given.begin(), given.end());
  const auto batch = shoal::wire::DecodeBatch(frame);
  if (batch.ok()) {
    SHOAL_CHECK(shoal::wire::EncodeBatch(*batch) == frame);
  } else {
    SHOAL_CHECK(batch.status().code() == shoal::Code::kCorruption);
  }
  return 0;
}
