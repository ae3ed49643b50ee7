#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>

#include "bench/llm_model.h"
#include "bench/pipeline_bench.h"

int main(int argc, char** argv) {
  CLI::App app{"What a pipeline of one stage costs, and TLS in it.", "pipeline"};
  bool json = false;
  shoal::bench::PipelineBenchOptions options;
  app.add_flag("--json", json, "Print one JSON object");
  app.add_option("--model", options.model, "GGUF; else random weights in TinyLlama's shape");
  app.add_option("--turns", options.turns, "Runs of each; the best counts")
      ->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  shoal::Status status;
  if (options.model.empty()) {
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / "shoal-bench";
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    auto made = shoal::bench::TinyLlamaFile(folder.string(), "Q4_0");
    status = made.status();
    if (made.ok()) options.model = *made;
  }
  if (status.ok()) {
    const auto report = shoal::bench::RunPipelineBench(options);
    status = report.status();
    if (report.ok()) shoal::bench::Print(*report, json);
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "pipeline: %s\n", status.ToString().c_str());
  return 1;
}
