// `shoal bench`: the benchmarks that a user wants on a machine without the sources.
#include <CLI/CLI.hpp>

#include "bench/blas_command.h"
#include "bench/gemm_command.h"
#include "bench/llm_command.h"
#include "shoal/bench_links.h"
#include "shoal/commands.h"

namespace shoal {

void AddBench(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "Compare with the peers, in one run");
  command->require_subcommand(1);
  bench::SetUpGemmCommand(*command->add_subcommand(
      "gemm", "Matrix multiplication beside OpenBLAS and oneDNN; a ratio above 1: ours is faster"));
  bench::SetUpLlmCommand(*command->add_subcommand(
      "llm", "A language model's tokens per second, beside llama.cpp if you have it"));
  SetUpLinkBench(*command->add_subcommand(
      "link",
      "Speed and round trip between two of 2 to N connected devices, as the paper's Fig. 2"));
  SetUpAllReduceBench(*command->add_subcommand(
      "allreduce", "All-reduce, reduce and broadcast over N devices, as the paper's Fig. 3"));
  bench::SetUpBlasCommand(*command->add_subcommand(
      "blas", "All convolutions of a network by OpenBLAS, CLBlast and ours, as in the paper"));
}

}  // namespace shoal
