// `shoal perplexity`: how well a language model predicts a text.
#include "llm/perplexity.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "os/file.h"
#include "shoal/commands.h"
#include "shoal/language_model.h"

namespace shoal {
namespace {

struct PerplexityOptions {
  LanguageModelOptions model;
  std::string file;
  std::size_t window = 512;
  std::size_t windows = 1U << 30U;
  bool json = false;
};

constexpr std::size_t kPerplexityTextBytesMax = std::size_t{1} << 30U;

Status RunPerplexity(PerplexityOptions options) {
  SHOAL_ASSIGN_OR_RETURN(const std::string text,
                         os::ReadFile(options.file, kPerplexityTextBytesMax));
  if (options.model.context == 0) options.model.context = options.window;
  SHOAL_ASSIGN_OR_RETURN(const std::unique_ptr<LanguageModel> model,
                         LanguageModel::Load(options.model));
  const std::vector<llm::TokenId> tokens =
      model->tokenizer().Encode(text, {.special = llm::SpecialTokens::kAsText, .add_ends = true});
  const llm::Vocabulary& vocabulary = model->tokenizer().vocabulary();
  const bool show = !options.json && isatty(STDERR_FILENO) != 0;
  SHOAL_ASSIGN_OR_RETURN(
      const llm::PerplexityResult result,
      llm::MeasurePerplexity(
          model->engine(), tokens, vocabulary.add_bos ? vocabulary.bos : std::nullopt,
          options.window, options.windows, [&](const llm::PerplexityResult& so_far) {
            if (!show) return;
            fmt::print(stderr, "\r{} windows: {:.4f} ", so_far.windows, so_far.perplexity);
            std::fflush(stderr);
          }));
  if (show) fmt::print(stderr, "\n");
  if (options.json) {
    const nlohmann::ordered_json json = {{"perplexity", result.perplexity},
                                         {"error", result.error},
                                         {"windows", result.windows},
                                         {"tokens", result.predicted}};
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("perplexity {:.4f} ± {:.4f} over {} tokens in {} windows of {}\n", result.perplexity,
               result.error, result.predicted, result.windows, options.window);
  }
  return {};
}

}  // namespace

void AddPerplexity(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("perplexity", "Measure how well a language model predicts a text");
  auto options = std::make_shared<PerplexityOptions>();
  AddLanguageModelOptions(*command, options->model);
  command->add_option("--file", options->file, "The text")->required();
  command->add_option("--window", options->window, "Tokens that are seen at once")
      ->check(CLI::Range(2, 1 << 20))
      ->capture_default_str();
  command->add_option("--windows", options->windows, "At most so many")
      ->check(CLI::Range(1, 1 << 30));
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options] { ExitOnError(RunPerplexity(*options)); });
}

}  // namespace shoal
