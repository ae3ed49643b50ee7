// Whatever text a peer sends as a configuration: one that comes back as it is and that a stage can
// be made of, or one line that says why not.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "llm/model_config_text.h"
#include "llm/stage.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto config =
      shoal::llm::ParseConfig("f", std::string_view(reinterpret_cast<const char*>(data), size));
  if (!config.ok()) {
    SHOAL_CHECK(config.status().message().starts_with("f: "));
    return 0;
  }
  const std::string text = shoal::llm::SerializeConfig(*config);
  const auto again = shoal::llm::ParseConfig("f", text);
  SHOAL_CHECK(again.ok());
  SHOAL_CHECK(shoal::llm::SerializeConfig(*again) == text);
  (void)shoal::llm::Stage::Make({}, *config);
  return 0;
}
