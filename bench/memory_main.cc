// What reading memory costs: with huge pages, as AlignedBuffer asks for them, and with
// pages of 4 KiB. Weights are read once per token, so this bounds decoding.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.h"
#include "bench/interleave.h"
#include "bench/peak_bench.h"
#include "bench/report.h"
#include "bench/threads.h"
#include "tensor/aligned_buffer.h"

namespace shoal::bench {
namespace {

// Larger than the last-level cache of any machine we have met.
constexpr std::size_t kBytes = std::size_t{1} << 30;

std::span<const float> Floats(AlignedBuffer& buffer) {
  std::memset(buffer.data(), 0, buffer.size());  // Makes the pages.
  return {reinterpret_cast<const float*>(buffer.data()), buffer.size() / sizeof(float)};
}

Contender Reader(std::string name, std::span<const float> floats, Parallel& parallel) {
  return {std::move(name), [floats, &parallel] { ReadOnce(floats, parallel); }};
}

Report RunMemoryBench() {
  Result<AlignedBuffer> huge = AlignedBuffer::Make(kBytes);
  Result<AlignedBuffer> small = AlignedBuffer::Make(kBytes);
  SHOAL_CHECK(huge.ok() && small.ok());
  (void)madvise(small->data(), small->size(), MADV_NOHUGEPAGE);
  const std::span<const float> huge_floats = Floats(*huge);
  const std::span<const float> small_floats = Floats(*small);
  Report report{.bench = "memory", .rows = {}};
  for (const std::size_t threads : {1U, 2U}) {
    const std::unique_ptr<Parallel> parallel = MakePool(threads);
    const std::vector<Contender> readers = {Reader("huge", huge_floats, *parallel),
                                            Reader("4 KiB", small_floats, *parallel)};
    const std::vector<double> seconds = RunInterleaved(readers, {});
    const double gigabytes = static_cast<double>(kBytes) * 1e-9;
    report.rows.push_back({.name = fmt::format("read 1 GiB t={}", threads),
                           .unit = "GB/s",
                           .ours = gigabytes / seconds[0],
                           .peers = {{"4 KiB pages", gigabytes / seconds[1]}},
                           .limit = {}});
  }
  return report;
}

}  // namespace
}  // namespace shoal::bench

int main(int argc, char** argv) {
  CLI::App app{"What reading memory costs, with huge pages and without.", "memory"};
  bool json = false;
  app.add_flag("--json", json, "Print one JSON object");
  CLI11_PARSE(app, argc, argv);
  shoal::bench::Print(shoal::bench::RunMemoryBench(), json);
  return 0;
}
