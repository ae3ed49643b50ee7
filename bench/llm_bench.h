// Language models: prompts (prefill) and single tokens (decode), beside llama.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/report.h"

namespace shoal::bench {

struct LlmBenchOptions {
  std::vector<std::string> models;  // GGUF files.
  std::vector<std::size_t> threads = {1, 2};
  std::vector<std::size_t> prompts = {64, 512};
  std::size_t tokens = 64;  // To decode.
  int turns = 5;
  std::vector<std::string> llama_cpp;  // Folders of its libraries; the faster counts.
};

// The limit of a row: for decoding, reading the weights once a token from memory; for prompts, the
// multiply-adds of the matrices at the fastest that instructions for 8 bits go.
Result<Report> RunLlmBench(const LlmBenchOptions& options);

}  // namespace shoal::bench
