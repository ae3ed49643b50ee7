// Whatever a person types as a join token: one that its own text names again, or a Status.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "wire/join_token.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shoal::wire;
  const auto token = DecodeJoinToken({reinterpret_cast<const char*>(data), size});
  if (token.ok()) {
    const auto again = DecodeJoinToken(EncodeJoinToken(*token));
    SHOAL_CHECK(again.ok() && *again == *token);
  } else {
    SHOAL_CHECK(token.status().code() == shoal::Code::kInvalidArgument);
  }
  return 0;
}
