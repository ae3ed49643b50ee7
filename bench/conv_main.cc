#include <CLI/CLI.hpp>

#include "bench/conv_bench.h"
#include "bench/threads.h"
#include "os/pool_plan.h"

int main(int argc, char** argv) {
  CLI::App app{"Our convolutions beside oneDNN's, interleaved in one run.", "conv"};
  shoal::bench::ConvBenchOptions options;
  bool json = false;
  bool no_peers = false;
  app.add_flag("--json", json, "Print one JSON object");
  app.add_flag("--quick", options.quick, "Some shapes: a minute instead of ten");
  app.add_flag("--no-peers", no_peers, "Ours alone");
  app.add_option("--filter", options.filter, "Only cases whose name contains this");
  app.add_option("--threads", options.threads, "Thread counts, as 1,2")
      ->delimiter(',')
      ->check(CLI::Range(std::size_t{1}, shoal::os::kPoolThreadsMax));
  CLI11_PARSE(app, argc, argv);
  options.peers = !no_peers;
  shoal::bench::Print(shoal::bench::RunConvBench(options, shoal::bench::MakePool), json);
  return 0;
}
