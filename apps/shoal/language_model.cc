#include "shoal/language_model.h"

#include <utility>

#include "llm/gguf_vocabulary.h"
#include "os/machine/cpu.h"
#include "os/machine/sys_root.h"

namespace shoal {

void AddLanguageModelOptions(CLI::App& command, LanguageModelOptions& options) {
  command.add_option("--model", options.model, "A GGUF file")->required();
  command.add_option("--threads", options.threads, "Compute with this many threads")
      ->check(CLI::Range(1, 256));
  command
      .add_option("--context", options.context,
                  "Tokens to keep in mind; the model's own limit "
                  "unless given")
      ->check(CLI::Range(1, 1 << 24));
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
  SHOAL_ASSIGN_OR_RETURN(loaded->mapped_, OpenModel(options.model));
  SHOAL_ASSIGN_OR_RETURN(llm::Vocabulary vocabulary,
                         llm::ReadGgufVocabulary(loaded->file().metadata()));
  Result<llm::Tokenizer> tokenizer = llm::Tokenizer::Create(std::move(vocabulary));
  if (!tokenizer.ok()) return std::move(tokenizer).status().Annotate(options.model);
  loaded->tokenizer_ = std::make_unique<llm::Tokenizer>(*std::move(tokenizer));
  SHOAL_ASSIGN_OR_RETURN(
      loaded->engine_,
      llm::Engine::Load(loaded->file(), {.context = options.context}, loaded->pool_));
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
