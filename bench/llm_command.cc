#include "bench/llm_command.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bench/llm_bench.h"
#include "bench/llm_model.h"
#include "bench/report.h"
#include "os/pool_plan.h"

namespace shoal::bench {
namespace {

struct Flags {
  LlmBenchOptions options;
  std::vector<std::string> types = {"Q4_0", "Q4_K_M", "Q8_0"};
  std::string folder = (std::filesystem::temp_directory_path() / "shoal-bench").string();
  bool quick = false;
  bool json = false;
};

Result<Report> Run(Flags& flags) {
  if (flags.quick) {
    flags.options.prompts = {64};
    flags.options.tokens = 16;
  }
  if (flags.options.models.empty()) {
    std::error_code error;
    std::filesystem::create_directories(flags.folder, error);
    for (const std::string& type : flags.types) {
      SHOAL_ASSIGN_OR_RETURN(std::string path, TinyLlamaFile(flags.folder, type));
      flags.options.models.push_back(std::move(path));
    }
  }
  return RunLlmBench(flags.options);
}

}  // namespace

void SetUpLlmCommand(CLI::App& command) {
  auto flags = std::make_shared<Flags>();  // Lives as long as the callback.
  command.add_flag("--json", flags->json, "Print one JSON object");
  command.add_flag("--quick", flags->quick, "A prompt of 64 and 16 tokens only");
  command.add_option("--model", flags->options.models,
                     "GGUF files; else random weights in TinyLlama's shape are made, 3 GB");
  command.add_option("--type", flags->types, "Of the random weights")->delimiter(',');
  command.add_option("--folder", flags->folder, "Where they are kept")->capture_default_str();
  command.add_option("--threads", flags->options.threads, "Thread counts, as 1,2")
      ->delimiter(',')
      ->check(CLI::Range(std::size_t{1}, os::kPoolThreadsMax));
  command.add_option("--prompt", flags->options.prompts, "Tokens of prompts, as 64,512")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--tokens", flags->options.tokens, "To decode")->check(CLI::Range(1, 1 << 20));
  command.add_option("--turns", flags->options.turns, "Runs of each; the best counts")
      ->check(CLI::Range(1, 1000));
  command.add_option("--llama-cpp", flags->options.llama_cpp,
                     "A folder with llama.cpp's libraries, to compare with");
  command.callback([flags] {
    const Result<Report> report = Run(*flags);
    if (!report.ok()) {
      fmt::print(stderr, "bench llm: {}\n", report.status().message());
      throw CLI::RuntimeError(1);
    }
    Print(*report, flags->json);
  });
}

}  // namespace shoal::bench
