// Whatever a DNS server, or somebody in its place, answers: addresses of the kind that was
// asked for, or a Status.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "os/net/dns_message.h"

// The answer's own id is taken for the query's, so that more than one in 65536 gets far.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using shoal::Code;
  using shoal::os::DnsType;
  shoal::os::DnsQuestion question{.id = 0, .name = "ab.co", .type = DnsType::kA};
  if (size >= 2) question.id = static_cast<std::uint16_t>(data[0] << 8U | data[1]);
  for (const DnsType type : {DnsType::kA, DnsType::kAaaa}) {
    question.type = type;
    const auto found = shoal::os::ParseDnsAnswer(std::as_bytes(std::span(data, size)), question);
    if (found.ok()) {
      SHOAL_CHECK(found->size() * 4 <= size);
      for (const auto& address : *found) SHOAL_CHECK(address.v6 == (type == DnsType::kAaaa));
    } else {
      const Code code = found.status().code();
      SHOAL_CHECK(code == Code::kCorruption || code == Code::kNotFound ||
                  code == Code::kUnavailable);
    }
  }
  return 0;
}
