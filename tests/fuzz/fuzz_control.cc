// Whatever a peer sends as a control message, or a store holds as an answer: kCorruption, or one
// that encodes to bytes that mean the same.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/check.h"
#include "pipeline/answer_store.h"
#include "wire/control.h"

namespace {

using shoal::Code;
using shoal::Frame;

template <class Decode>
void CheckControl(const Frame& frame, Decode decode) {
  const auto message = decode(frame);
  if (!message.ok()) {
    SHOAL_CHECK(message.status().code() == Code::kCorruption);
    return;
  }
  const Frame encoded = shoal::wire::Encode(*message);
  const auto again = decode(encoded);
  SHOAL_CHECK(again.ok());
  SHOAL_CHECK(shoal::wire::Encode(*again) == encoded);
}

void CheckAnswer(std::string_view bytes) {
  const auto stored = shoal::pipeline::DecodeAnswer(bytes);
  if (!stored.ok()) {
    SHOAL_CHECK(stored.status().code() == Code::kCorruption);
    return;
  }
  const std::string encoded = shoal::pipeline::EncodeAnswer(stored->record, stored->model_id);
  const auto again = shoal::pipeline::DecodeAnswer(encoded);
  SHOAL_CHECK(again.ok());
  SHOAL_CHECK(shoal::pipeline::EncodeAnswer(again->record, again->model_id) == encoded);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto given = std::as_bytes(std::span(data, size));
  const Frame frame(given.begin(), given.end());
  CheckControl(frame, shoal::wire::DecodeToHead);
  CheckControl(frame, shoal::wire::DecodeToNode);
  CheckAnswer({reinterpret_cast<const char*>(data), size});
  return 0;
}
