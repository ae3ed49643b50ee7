// Whatever a record of a database holds: an image of the size it says, which encodes and
// decodes to itself, or a Status.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/check.h"
#include "data/datum.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using shoal::Code;
  namespace sd = shoal::data;
  sd::Record record;
  const shoal::Status status =
      sd::DecodeDatum(std::as_bytes(std::span(data, size)), sd::Colors::kAsStored, record);
  if (!status.ok()) {
    SHOAL_CHECK(status.code() == Code::kCorruption || status.code() == Code::kResourceExhausted);
    SHOAL_CHECK(!status.message().empty());
    return 0;
  }
  const auto elements = static_cast<std::size_t>(record.elements());
  SHOAL_CHECK(record.bytes.size() + record.floats.size() == elements);
  if (!record.floats.empty()) return 0;  // A NaN is not equal to itself.
  const std::string again = sd::EncodeDatum(record);
  sd::Record copy;
  SHOAL_CHECK(sd::DecodeDatum(std::as_bytes(std::span(again)), sd::Colors::kAsStored, copy).ok());
  SHOAL_CHECK(copy.bytes == record.bytes && copy.label == record.label);
  return 0;
}
