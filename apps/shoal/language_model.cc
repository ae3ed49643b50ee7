#include "shoal/language_model.h"

#include <CLI/CLI.hpp>

#include <string>
#include <utility>

#include "os/machine/cpu.h"
#include "os/machine/memory.h"
#include "os/machine/sys_root.h"
#include "shoal/memory_plan.h"
#include "shoal/tokenizer_files.h"

namespace shoal {
namespace {

// What to run with. A machine that does not tell what is free is tried.
Result<std::size_t> ContextOf(const OpenedModel& model, const LanguageModelOptions& options) {
  const Result<std::uint64_t> free_bytes = os::ReadMemoryInfo(os::SysRoot()).bytes_available;
  const auto head_dim = static_cast<std::size_t>(model.config.head_dim);
  // Heads that cannot be kept so are refused by the engine.
  if (!free_bytes.ok() || !kernels::CanKeep(options.kv, head_dim)) return options.context;
  const MemoryNeeds needs = NeedsOf(model.weights, model.config, options.kv);
  Result<std::size_t> context = PlanContext(needs, options.context, *free_bytes);
  if (!context.ok()) return std::move(context).status().Annotate(options.model);
  return context;
}

}  // namespace

void AddLanguageModelOptions(CLI::App& command, LanguageModelOptions& options) {
  command.add_option("--model", options.model, "A GGUF file, or a folder of Hugging Face")
      ->required();
  command.add_option("--tokenizer", options.tokenizer,
                     "What has the tokenizer, if the model has none: a GGUF file, tokenizer.json, "
                     "tokenizer.model or a folder");
  command.add_option("--threads", options.threads, "Compute with this many threads")
      ->check(CLI::Range(1, 256));
  command
      .add_option("--context", options.context,
                  "Tokens to keep in mind; as many of the model's "
                  "own as fit unless given")
      ->check(CLI::Range(1, 1 << 24));
  command
      .add_option_function<std::string>(
          "--kv",
          [&options](const std::string& name) {
            options.kv = name == "q8_0" ? kernels::KvType::kQ8_0 : kernels::KvType::kF16;
          },
          "How keys and values are kept: f16, or q8_0 in half the memory")
      ->check(CLI::IsMember({"f16", "q8_0"}));
}

void AddSamplingOptions(CLI::App& command, llm::SamplingOptions& options) {
  command.add_option("--temperature", options.temperature, "0: always the most likely token")
      ->capture_default_str();
  command.add_option("--top-k", options.top_k, "Choose among so many; 0: all")
      ->capture_default_str();
  command
      .add_option("--top-p", options.top_p, "Choose among the likeliest that together have this")
      ->capture_default_str();
  command.add_option("--min-p", options.min_p, "… and are this times as likely as the first")
      ->capture_default_str();
  command.add_option("--repetition-penalty", options.repetition_penalty, "1: none")
      ->capture_default_str();
  command.add_option("--presence-penalty", options.presence_penalty, "0: none")
      ->capture_default_str();
  command.add_option("--frequency-penalty", options.frequency_penalty, "0: none")
      ->capture_default_str();
  command.add_option("--seed", options.seed, "Another seed: another answer")->capture_default_str();
}

Result<std::unique_ptr<LanguageModel>> LanguageModel::Load(const LanguageModelOptions& options) {
  std::unique_ptr<LanguageModel> loaded(new LanguageModel(
      os::PlanPool(os::ReadCpuInfo(os::SysRoot()), {.threads = options.threads})));
  loaded->pool_.PinCaller();
  SHOAL_ASSIGN_OR_RETURN(loaded->model_, OpenModel(options.model));
  SHOAL_ASSIGN_OR_RETURN(const std::size_t context, ContextOf(loaded->model_, options));
  SHOAL_ASSIGN_OR_RETURN(
      llm::Tokenizer tokenizer,
      OpenTokenizer(options.tokenizer.empty() ? options.model : options.tokenizer));
  loaded->tokenizer_ = std::make_unique<llm::Tokenizer>(std::move(tokenizer));
  SHOAL_ASSIGN_OR_RETURN(loaded->engine_,
                         llm::Engine::Load(loaded->model_.weights, loaded->model_.config,
                                           {.context = context, .kv = options.kv}, loaded->pool_));
  // Every token that a text becomes must have a row of the embedding.
  const std::size_t tokens = loaded->tokenizer().vocabulary().tokens.size();
  if (tokens > loaded->engine().vocab()) {
    return Status(Code::kCorruption, options.model + ": the vocabulary has " +
                                         std::to_string(tokens) + " tokens, the embedding " +
                                         std::to_string(loaded->engine().vocab()) + " rows");
  }
  return loaded;
}

}  // namespace shoal
