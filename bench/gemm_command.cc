#include "bench/gemm_command.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

#include "bench/gemm_bench.h"
#include "bench/report.h"
#include "bench/threads.h"
#include "os/pool_plan.h"

namespace shoal::bench {
namespace {

struct Flags {
  GemmBenchOptions options;
  std::string target;
  bool json = false;
};

// CLI11's validators say what is wrong, or nothing.
std::string CheckTarget(const std::string& name) {
  for (const kernels::Target target : kernels::SupportedTargets()) {
    if (kernels::TargetName(target) == name) return {};
  }
  return "this CPU has no kernels called " + name;
}

}  // namespace

void SetUpGemmCommand(CLI::App& command) {
  auto flags = std::make_shared<Flags>();  // Lives as long as the callback.
  command.add_flag("--json", flags->json, "Print one JSON object");
  command.add_flag("--quick", flags->options.quick, "Four shapes, seconds instead of a minute");
  command.add_option("--threads", flags->options.threads, "Thread counts, as 1,2")
      ->delimiter(',')
      ->check(CLI::Range(std::size_t{1}, os::kPoolThreadsMax));
  command.add_option("--target", flags->target, "Our kernels: avx512, avx2, neon, ref, ...")
      ->check(CheckTarget);
  command.callback([flags] {
    if (const auto target = kernels::ParseTarget(flags->target)) flags->options.target = *target;
    Print(RunGemmBench(flags->options, MakePool), flags->json);
  });
}

}  // namespace shoal::bench
