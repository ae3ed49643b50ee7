#include "bench/blas_command.h"

#include <CLI/CLI.hpp>

#include <memory>

#include "bench/blas_bench.h"
#include "bench/report.h"
#include "bench/threads.h"
#include "os/pool_plan.h"

namespace shoal::bench {

void SetUpBlasCommand(CLI::App& command) {
  struct Flags {
    BlasBenchOptions options;
    bool json = false;
    bool no_opencl = false;
  };
  auto flags = std::make_shared<Flags>();  // Lives as long as the callback.
  command.add_flag("--json", flags->json, "Print one JSON object");
  command.add_flag("--quick", flags->options.quick, "Some layers of each network");
  command.add_flag("--no-opencl", flags->no_opencl, "Leave out CLBlast, the slowest on a CPU");
  command.add_option("--net", flags->options.net, "One network")
      ->check(CLI::IsMember(BlasBenchNets()));
  command.add_option("--threads", flags->options.threads, "Threads")
      ->check(CLI::Range(std::size_t{1}, os::kPoolThreadsMax));
  command.callback([flags] {
    flags->options.opencl = !flags->no_opencl;
    Print(RunBlasBench(flags->options, MakePool), flags->json);
  });
}

}  // namespace shoal::bench
