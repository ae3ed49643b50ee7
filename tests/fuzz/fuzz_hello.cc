// Whatever a stranger sends first: a hello that encodes to the same bytes, or a Status.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "wire/hello.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using shoal::Code;
  shoal::wire::HelloBytes bytes{};
  const auto given = std::as_bytes(std::span(data, size));
  std::copy_n(given.begin(), std::min(size, bytes.size()), bytes.begin());
  const auto hello = shoal::wire::DecodeHello(bytes);
  if (hello.ok()) {
    SHOAL_CHECK(shoal::wire::EncodeHello(*hello) == bytes);
  } else {
    const Code code = hello.status().code();
    SHOAL_CHECK(code == Code::kCorruption || code == Code::kInvalidArgument);
  }
  return 0;
}
