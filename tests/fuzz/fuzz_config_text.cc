// Whatever a head sends as a model's configuration: one that is the same when it is written and
// read again, or kCorruption.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "llm/config_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto config =
      shoal::llm::ParseConfig(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!config.ok()) {
    SHOAL_CHECK(config.status().code() == shoal::Code::kCorruption);
    return 0;
  }
  const std::string text = shoal::llm::ConfigText(*config);
  const auto again = shoal::llm::ParseConfig(text);
  SHOAL_CHECK(again.ok() && shoal::llm::ConfigText(*again) == text);
  return 0;
}
