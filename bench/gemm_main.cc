#include <CLI/CLI.hpp>

#include "bench/gemm_command.h"

int main(int argc, char** argv) {
  CLI::App app{"Our GEMM beside OpenBLAS and oneDNN, interleaved in one run.", "gemm"};
  shoal::bench::SetUpGemmCommand(app);
  CLI11_PARSE(app, argc, argv);
  return 0;
}
