#include <CLI/CLI.hpp>

#include "bench/llm_command.h"

int main(int argc, char** argv) {
  CLI::App app{"Language models on one device, beside llama.cpp.", "llm"};
  shoal::bench::SetUpLlmCommand(app);
  CLI11_PARSE(app, argc, argv);
  return 0;
}
