#include "bench/peers/llama_cpp.h"

namespace shoal::bench {

Result<std::unique_ptr<LlamaCpp>> LoadLlamaCpp(const std::string& folder,
                                               const std::string& /*model*/,
                                               std::size_t /*context*/) {
  return Status(Code::kUnavailable, folder + ": a static program cannot load libraries");
}

Status QuantizeByLlamaCpp(const std::string& folder, const std::string& /*from*/,
                          const std::string& /*to*/, std::int32_t /*file_type*/) {
  return Status(Code::kUnavailable, folder + ": a static program cannot load libraries");
}

}  // namespace shoal::bench
