// LanguageModel: what commands that speak need: the model's file, its tokenizer, threads and an
// engine.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/status.h"
#include "llm/engine.h"
#include "llm/sampler.h"
#include "llm/tokenizer.h"
#include "os/thread_pool.h"
#include "shoal/model_files.h"

namespace CLI {
class App;
}

namespace shoal {

struct LanguageModelOptions {
  std::string model;
  std::string tokenizer;    // Empty: the model's.
  std::size_t threads = 0;  // 0: one for each fast core.
  std::size_t context = 0;  // 0: as many of the model's as fit into memory.
  kernels::KvType kv = kernels::KvType::kF16;
};

// --model, --tokenizer, --threads, --context, --kv.
void AddLanguageModelOptions(CLI::App& command, LanguageModelOptions& options);
// --temperature, --top-k, --top-p, --min-p, --seed and the penalties.
void AddSamplingOptions(CLI::App& command, llm::SamplingOptions& options);

class LanguageModel {
 public:
  static Result<std::unique_ptr<LanguageModel>> Load(const LanguageModelOptions& options);

  const llm::Tokenizer& tokenizer() const { return *tokenizer_; }
  llm::Engine& engine() { return *engine_; }
  os::ThreadPool& pool() { return pool_; }

 private:
  explicit LanguageModel(const os::PoolPlan& plan) : pool_(plan) {}

  os::ThreadPool pool_;
  OpenedModel model_;
  std::unique_ptr<llm::Tokenizer> tokenizer_;
  std::unique_ptr<llm::Engine> engine_;
};

}  // namespace shoal
