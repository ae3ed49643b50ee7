#include "shoal/memory_plan.h"

#include <fmt/core.h>

#include <algorithm>

#include "llm/kv_cache.h"
#include "llm/model_size.h"

namespace shoal {
namespace {

// Rows of floats for 256 tokens of a prompt: some 60 MB with 7 G parameters.
constexpr std::uint64_t kWorkingBytes = 64U << 20U;
// A prompt and an answer.
constexpr std::size_t kLeastContext = 1024;

std::size_t PagesFor(std::size_t tokens) {
  return (tokens + llm::kPagePositions - 1) / llm::kPagePositions;
}

double Gibibytes(double bytes) { return bytes / 0x1p30; }

}  // namespace

MemoryNeeds NeedsOf(const llm::ModelWeights& weights, const llm::ModelConfig& config,
                    kernels::KvType kv) {
  const llm::KvShape shape = {.layers = static_cast<std::size_t>(config.layers),
                              .kv_heads = static_cast<std::size_t>(config.kv_heads),
                              .head_dim = static_cast<std::size_t>(config.head_dim),
                              .type = kv};
  return {.fixed = llm::LoadedBytes(weights, config) + kWorkingBytes,
          .kv_page = shape.page_bytes(),
          .model_context = static_cast<std::size_t>(config.context)};
}

Result<std::size_t> PlanContext(const MemoryNeeds& needs, std::size_t asked,
                                std::uint64_t free_bytes) {
  const std::size_t wanted =
      asked != 0 ? asked : std::min<std::size_t>(kLeastContext, needs.model_context);
  const std::uint64_t left = free_bytes - std::min(free_bytes, needs.fixed);
  const std::uint64_t pages = left / std::max<std::uint64_t>(1, needs.kv_page);
  if (needs.fixed <= free_bytes && pages >= PagesFor(wanted)) {
    if (asked != 0) return asked;
    return std::min<std::uint64_t>(needs.model_context, pages * llm::kPagePositions);
  }
  // As doubles: a context may be asked for that no number of bytes counts.
  const double kv = static_cast<double>(PagesFor(wanted)) * static_cast<double>(needs.kv_page);
  const bool smaller = asked > kLeastContext;
  return Status(
      Code::kResourceExhausted,
      fmt::format("needs {:.1f} GiB, {:.1f} of them for {} tokens of context; {:.1f} GiB are free: "
                  "close apps, {}, or spread it over phones",
                  Gibibytes(static_cast<double>(needs.fixed) + kv), Gibibytes(kv), wanted,
                  Gibibytes(static_cast<double>(free_bytes)),
                  smaller ? "use a smaller --context or --kv q8_0" : "use a smaller model"));
}

}  // namespace shoal
