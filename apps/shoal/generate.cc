// `shoal generate`: a language model goes on with a text.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "llm/detokenizer.h"
#include "llm/engine.h"
#include "llm/stop_strings.h"
#include "os/loop.h"
#include "shoal/commands.h"
#include "shoal/language_model.h"

namespace shoal {
namespace {

struct GenerateOptions {
  LanguageModelOptions model;
  llm::SamplingOptions sampling;
  std::string prompt;
  std::vector<std::string> stop;
  std::size_t tokens = 256;
  std::size_t guesses = 4;
  bool special = false;
  bool json = false;
};

struct Answer {
  std::string text;
  std::string end = "length";  // Why it ended: "stop", "length" or "context".
  std::size_t prompt_tokens = 0;
  std::size_t tokens = 0;
  std::size_t guessed = 0;
  std::size_t guessed_right = 0;
  double load_s = 0;
  double first_s = 0;  // From the prompt to its first token.
  double rest_s = 0;
};

// Shows pieces as they come, unless --json.
class Output {
 public:
  explicit Output(bool quiet) : quiet_(quiet) {}
  void Write(const std::string& text) {
    text_ += text;
    if (quiet_ || text.empty()) return;
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
  const std::string& text() const { return text_; }

 private:
  bool quiet_;
  std::string text_;
};

Result<Answer> Generate(LanguageModel& model, const GenerateOptions& options,
                        const std::string& prompt, const Clock& clock) {
  const llm::Tokenizer& tokenizer = model.tokenizer();
  const std::vector<llm::TokenId> tokens = tokenizer.Encode(
      prompt,
      {.special = options.special ? llm::SpecialTokens::kParse : llm::SpecialTokens::kAsText,
       .add_ends = true});
  if (tokens.empty()) return Status(Code::kInvalidArgument, "the prompt is empty");
  llm::Generation generation(model.engine(), options.sampling, options.guesses);
  generation.Append(tokens);
  llm::Detokenizer detokenizer(tokenizer, {.continues = !prompt.empty()});
  llm::StopStrings stop(options.stop);
  Output output(options.json);
  Answer answer;
  answer.prompt_tokens = tokens.size();
  const Instant begin = clock.Now();
  Instant first = begin;
  while (answer.tokens < options.tokens) {
    const Result<llm::SampledToken> next = generation.Next();
    if (!next.ok() && answer.tokens > 0 && next.status().code() == Code::kResourceExhausted) {
      answer.end = "context";
      break;
    }
    if (!next.ok()) return next.status();
    if (answer.tokens++ == 0) first = clock.Now();
    if (tokenizer.Has(next->token) && tokenizer.EndsAnswer(next->token)) {
      answer.end = "stop";
      break;
    }
    output.Write(stop.Feed(detokenizer.Feed(next->token)));
    if (stop.stopped()) {
      answer.end = "stop";
      break;
    }
  }
  if (!stop.stopped()) output.Write(stop.Feed(detokenizer.Flush()) + stop.Flush());
  answer.first_s = ToSeconds(first - begin);
  answer.rest_s = ToSeconds(clock.Now() - first);
  answer.text = output.text();
  answer.guessed = generation.guessed();
  answer.guessed_right = generation.guessed_right();
  return answer;
}

void PrintJson(const Answer& answer) {
  const nlohmann::ordered_json json = {
      {"text", answer.text},
      {"end", answer.end},
      {"prompt_tokens", answer.prompt_tokens},
      {"tokens", answer.tokens},
      {"load_s", answer.load_s},
      {"first_token_s", answer.first_s},
      {"tokens_per_s",
       answer.rest_s > 0 ? static_cast<double>(answer.tokens - 1) / answer.rest_s : 0.0},
      {"guessed", answer.guessed},
      {"guessed_right", answer.guessed_right}};
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void PrintSpeed(const Answer& answer) {
  fmt::print(stderr, "loaded in {:.2f} s; {} tokens of prompt, the first token after {:.2f} s",
             answer.load_s, answer.prompt_tokens, answer.first_s);
  if (answer.tokens > 1 && answer.rest_s > 0) {
    fmt::print(stderr, "; {} more at {:.1f} tokens/s", answer.tokens - 1,
               static_cast<double>(answer.tokens - 1) / answer.rest_s);
  }
  if (answer.guessed > 0) {
    fmt::print(stderr, "; {} of {} guesses were right", answer.guessed_right, answer.guessed);
  }
  fmt::print(stderr, "\n");
}

Status RunGenerate(const GenerateOptions& options, bool from_stdin) {
  std::string prompt = options.prompt;
  if (from_stdin) {
    prompt.assign(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  }
  const os::Loop clock;
  const Instant begin = clock.Now();
  SHOAL_ASSIGN_OR_RETURN(const std::unique_ptr<LanguageModel> model,
                         LanguageModel::Load(options.model));
  SHOAL_RETURN_IF_ERROR(llm::CheckSamplingOptions(options.sampling, model->engine().vocab()));
  const double load_s = ToSeconds(clock.Now() - begin);
  if (!options.json) fmt::print("{}", prompt);
  SHOAL_ASSIGN_OR_RETURN(Answer answer, Generate(*model, options, prompt, clock));
  answer.load_s = load_s;
  if (options.json) {
    PrintJson(answer);
  } else {
    fmt::print("\n");
    std::fflush(stdout);
    PrintSpeed(answer);
  }
  return {};
}

}  // namespace

void AddGenerate(CLI::App& app) {
  CLI::App* command = app.add_subcommand("generate", "Let a language model go on with a text");
  auto options = std::make_shared<GenerateOptions>();
  AddLanguageModelOptions(*command, options->model);
  const CLI::Option* prompt = command->add_option(
      "--prompt", options->prompt, "The text; read from standard input if not given");
  command->add_option("--tokens", options->tokens, "At most so many")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  command->add_option("--stop", options->stop, "End before this text; can be given several times");
  command
      ->add_option("--guesses", options->guesses,
                   "Tokens to guess from the text so far and try at once: faster, same answer")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  command->add_flag("--special", options->special,
                    "Special tokens written out in the prompt are such");
  AddSamplingOptions(*command, options->sampling);
  command->add_flag("--json", options->json, "Print one JSON object at the end");
  command->callback(
      [options, prompt] { ExitOnError(RunGenerate(*options, prompt->count() == 0)); });
}

}  // namespace shoal
