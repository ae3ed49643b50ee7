// Whatever a stranger sends to the enrolment port, or answers from it: a message that
// encodes to the same bytes, or a Status.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "wire/enrol.h"

namespace {

void CheckCode(const shoal::Status& status) {
  SHOAL_CHECK(status.code() == shoal::Code::kCorruption ||
              status.code() == shoal::Code::kInvalidArgument);
}

// `bytes` without the header, as `encoded` has it.
void CheckSame(std::span<const std::byte> body, const std::vector<std::byte>& encoded) {
  const auto again = std::span(encoded).subspan(shoal::wire::kEnrolHeaderBytes);
  SHOAL_CHECK(std::vector<std::byte>(body.begin(), body.end()) ==
              std::vector<std::byte>(again.begin(), again.end()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shoal::wire;
  const auto bytes = std::as_bytes(std::span(data, size));
  if (size >= kEnrolHeaderBytes) {
    const EnrolHeader header = bytes.first<kEnrolHeaderBytes>();
    if (const auto n = EnrolRequestBodyBytes(header); !n.ok()) CheckCode(n.status());
    if (const auto n = EnrolAnswerBodyBytes(header); !n.ok()) CheckCode(n.status());
  }
  const auto body = bytes.subspan(size >= kEnrolHeaderBytes ? kEnrolHeaderBytes : 0);
  const auto request = DecodeEnrolRequest(body);
  if (request.ok()) {
    CheckSame(body, EncodeEnrolRequest(*request));
  } else {
    CheckCode(request.status());
  }
  const auto answer = DecodeEnrolAnswer(body);
  if (answer.ok()) {
    SHOAL_CHECK(!ExplainVerdict(*answer).empty());
    CheckSame(body, EncodeEnrolAnswer(*answer));
  } else {
    CheckCode(answer.status());
  }
  return 0;
}
