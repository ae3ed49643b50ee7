// `shoal bench`: the benchmarks that a user wants on a machine without the sources.
#include "bench/blas_command.h"
#include "bench/gemm_command.h"
#include "bench/llm_command.h"
#include "shoal/commands.h"

namespace shoal {

void AddBench(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "Compare with the peers, in one run");
  command->require_subcommand(1);
  bench::SetUpGemmCommand(*command->add_subcommand(
      "gemm", "Matrix multiplication beside OpenBLAS and oneDNN; a ratio above 1: ours is faster"));
  bench::SetUpLlmCommand(*command->add_subcommand(
      "llm", "A language model's tokens per second, beside llama.cpp if you have it"));
  bench::SetUpBlasCommand(*command->add_subcommand(
      "blas", "All convolutions of a network by OpenBLAS, CLBlast and ours, as in the paper"));
}

}  // namespace shoal
