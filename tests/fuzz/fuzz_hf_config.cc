// Whatever a config.json holds: the configuration of a model with which its tensors can be counted,
// or one line that says why not.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "llm/hf_config.h"
#include "llm/model_tensors.h"
#include "llm/rope.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // After a zero byte comes quantize_config.json.
  const std::size_t cut = bytes.find('\0');
  const std::string_view quantize =
      cut == std::string_view::npos ? std::string_view() : bytes.substr(cut + 1);
  const auto config = shoal::llm::ReadHfConfig("f", bytes.substr(0, cut), quantize);
  if (!config.ok()) {
    SHOAL_CHECK(!config.status().message().empty());
    return 0;
  }
  if (config->model.rope.dims < 4096) (void)shoal::llm::Rope(config->model.rope);
  if (config->model.layers * (config->model.experts + 1) < 1000) {
    SHOAL_CHECK(!shoal::llm::TensorsOf(config->model).empty());
  }
  return 0;
}
