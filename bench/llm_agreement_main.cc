// Whether we and llama.cpp say the same with the same file: perplexity of a text, and, for models
// in floats, the most likely continuations of twenty prompts.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/llm_files.h"
#include "bench/peers/llama_cpp.h"
#include "bench/threads.h"
#include "llm/engine.h"
#include "llm/gguf_vocabulary.h"
#include "llm/perplexity.h"
#include "llm/tokenizer.h"
#include "os/file.h"

namespace shoal::bench {
namespace {

struct Flags {
  std::vector<std::string> models;
  std::string llama_cpp;
  std::string text;
  std::vector<std::string> types;
  std::string folder = std::filesystem::temp_directory_path().string();
  std::size_t window = 256;
  std::size_t windows = 8;
  std::size_t tokens = 64;
  std::size_t threads = 2;
  bool greedy = false;
};

constexpr const char* kPrompts[] = {"Once upon a time",
                                    "The little dog",
                                    "Lily and Ben",
                                    "One day, a girl named Sue",
                                    "There was a big tree",
                                    "Tom had a red ball",
                                    "In the forest",
                                    "The sun was hot",
                                    "Mom said",
                                    "It was raining",
                                    "A cat and a mouse",
                                    "The boy wanted to",
                                    "She found a box",
                                    "On the farm",
                                    "They were very happy",
                                    "He was sad because",
                                    "The bird could not fly",
                                    "At the park",
                                    "Every night",
                                    "\"Can I have it?\""};

// What llama.cpp calls the mixtures, by number.
struct FileType {
  const char* name;
  std::int32_t number;
};
constexpr FileType kFileTypes[] = {
    {"F16", 1},   {"Q4_0", 2},    {"Q4_1", 3},    {"Q8_0", 7},    {"Q5_0", 8},    {"Q5_1", 9},
    {"Q2_K", 10}, {"Q3_K_S", 11}, {"Q3_K_M", 12}, {"Q4_K_S", 14}, {"Q4_K_M", 15}, {"Q5_K_M", 17},
    {"Q6_K", 18}, {"IQ4_NL", 25}, {"IQ3_S", 26},  {"IQ4_XS", 30}, {"BF16", 32}};

std::int32_t Largest(std::span<const float> logits) {
  return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// Where two lists part; their length if nowhere.
std::size_t EqualFor(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                  a.begin());
}

// The next most likely tokens by `predict`, and how far the second was behind the first at each.
struct Continuation {
  std::vector<std::int32_t> tokens;
  std::vector<float> margins;
};
Result<Continuation> Continue(const llm::Predict& predict, std::span<const std::int32_t> prompt,
                              std::size_t count) {
  Continuation out;
  std::vector<std::int32_t> next(prompt.begin(), prompt.end());
  for (std::size_t i = 0; i < count; ++i) {
    SHOAL_ASSIGN_OR_RETURN(const std::span<const float> logits, predict(next, i == 0, 1));
    const std::int32_t best = Largest(logits);
    float second = logits[best == 0 ? 1 : 0];
    for (std::size_t t = 0; t < logits.size(); ++t) {
      if (static_cast<std::int32_t>(t) != best) second = std::max(second, logits[t]);
    }
    out.margins.push_back(logits[static_cast<std::size_t>(best)] - second);
    out.tokens.push_back(best);
    next = {best};
  }
  return out;
}

class Agreement {
 public:
  Agreement(const Flags& flags, Parallel& parallel) : flags_(flags), parallel_(parallel) {}

  Status Run(const std::string& path) {
    SHOAL_ASSIGN_OR_RETURN(const OpenedModel opened, OpenModelFile(path));
    SHOAL_ASSIGN_OR_RETURN(llm::Vocabulary vocabulary,
                           llm::ReadGgufVocabulary(opened.model.metadata()));
    SHOAL_ASSIGN_OR_RETURN(const llm::Tokenizer tokenizer,
                           llm::Tokenizer::Create(std::move(vocabulary)));
    const std::size_t context = std::max(flags_.window, flags_.tokens + 32);
    SHOAL_ASSIGN_OR_RETURN(const std::unique_ptr<llm::Engine> engine,
                           LoadEngine(opened, context, parallel_));
    SHOAL_ASSIGN_OR_RETURN(const std::unique_ptr<LlamaCpp> peer,
                           LoadLlamaCpp(flags_.llama_cpp, path, context));
    peer->SetThreads(flags_.threads);
    llm::KvSequence sequence = engine->NewSequence();
    const llm::Predict ours = [&](std::span<const std::int32_t> tokens, bool first,
                                  std::size_t wanted) {
      if (first) sequence.Shrink(0);
      return engine->Feed(sequence, tokens, wanted);
    };
    const llm::Predict theirs = [&](std::span<const std::int32_t> tokens, bool first,
                                    std::size_t wanted) -> Result<std::span<const float>> {
      if (first) peer->Clear();
      if (wanted <= 1) return peer->Feed(tokens);
      return peer->FeedAll(tokens);
    };
    const std::string name = std::filesystem::path(path).filename().string();
    if (!flags_.text.empty()) SHOAL_RETURN_IF_ERROR(Perplexity(name, tokenizer, ours, theirs));
    if (flags_.greedy) SHOAL_RETURN_IF_ERROR(Greedy(name, tokenizer, ours, theirs));
    return {};
  }

 private:
  Status Perplexity(const std::string& name, const llm::Tokenizer& tokenizer,
                    const llm::Predict& ours, const llm::Predict& theirs) {
    // Enough for all windows, whatever the tokenizer.
    SHOAL_ASSIGN_OR_RETURN(std::string text, os::ReadFile(flags_.text, std::size_t{1} << 30U));
    text.resize(std::min(text.size(), flags_.window * (flags_.windows + 1) * 16));
    const std::vector<llm::TokenId> tokens =
        tokenizer.Encode(text, {.special = llm::SpecialTokens::kAsText, .add_ends = true});
    const llm::Vocabulary& vocabulary = tokenizer.vocabulary();
    const auto begin = vocabulary.add_bos ? vocabulary.bos : std::nullopt;
    SHOAL_ASSIGN_OR_RETURN(
        const llm::PerplexityResult a,
        llm::MeasurePerplexity(ours, tokens, begin, flags_.window, flags_.windows, nullptr));
    SHOAL_ASSIGN_OR_RETURN(
        const llm::PerplexityResult b,
        llm::MeasurePerplexity(theirs, tokens, begin, flags_.window, flags_.windows, nullptr));
    fmt::print("{}: perplexity {:.4f}, llama.cpp {:.4f}: {:+.3f} %  ({} tokens)\n", name,
               a.perplexity, b.perplexity, 100 * (a.perplexity / b.perplexity - 1), a.predicted);
    std::fflush(stdout);
    return {};
  }

  Status Greedy(const std::string& name, const llm::Tokenizer& tokenizer, const llm::Predict& ours,
                const llm::Predict& theirs) {
    std::size_t equal = 0;
    for (const char* prompt : kPrompts) {
      const std::vector<llm::TokenId> tokens = tokenizer.Encode(prompt, {.add_ends = true});
      SHOAL_ASSIGN_OR_RETURN(const Continuation a, Continue(ours, tokens, flags_.tokens));
      SHOAL_ASSIGN_OR_RETURN(const Continuation b, Continue(theirs, tokens, flags_.tokens));
      const std::size_t same = EqualFor(a.tokens, b.tokens);
      if (same == flags_.tokens) {
        ++equal;
        continue;
      }
      fmt::print("  \"{}\": parts at token {}, where our first is {:.2g} above our second\n",
                 prompt, same, a.margins[same]);
    }
    fmt::print("{}: {} of {} continuations of {} tokens are llama.cpp's\n", name, equal,
               std::size(kPrompts), flags_.tokens);
    std::fflush(stdout);
    return {};
  }

  const Flags& flags_;
  Parallel& parallel_;
};

// The file itself, and made from it by llama.cpp one of each wanted type.
Status RunAll(const Flags& flags) {
  const std::unique_ptr<Parallel> parallel = MakePool(flags.threads);
  Agreement agreement(flags, *parallel);
  for (const std::string& model : flags.models) {
    if (flags.types.empty()) SHOAL_RETURN_IF_ERROR(agreement.Run(model));
    for (const std::string& type : flags.types) {
      const auto* const found =
          std::find_if(std::begin(kFileTypes), std::end(kFileTypes),
                       [&](const FileType& known) { return known.name == type; });
      if (found == std::end(kFileTypes)) return Status(Code::kInvalidArgument, "no type " + type);
      const std::string stem = std::filesystem::path(model).stem().string();
      const std::string path = flags.folder + "/" + stem + "-as-" + type + ".gguf";
      SHOAL_RETURN_IF_ERROR(QuantizeByLlamaCpp(flags.llama_cpp, model, path, found->number));
      const Status status = agreement.Run(path);
      std::filesystem::remove(path);
      SHOAL_RETURN_IF_ERROR(status);
    }
  }
  return {};
}

}  // namespace
}  // namespace shoal::bench

int main(int argc, char** argv) {
  CLI::App app{"Whether we and llama.cpp say the same with the same file.", "llm_agreement"};
  shoal::bench::Flags flags;
  app.add_option("--model", flags.models, "GGUF files")->required();
  app.add_option("--llama-cpp", flags.llama_cpp, "A folder with llama.cpp's libraries")->required();
  app.add_option("--text", flags.text, "Compare perplexity on this file");
  app.add_flag("--greedy", flags.greedy, "Compare continuations of twenty prompts");
  app.add_option("--type", flags.types, "Have llama.cpp make files of these types first")
      ->delimiter(',');
  app.add_option("--folder", flags.folder, "Where")->capture_default_str();
  app.add_option("--window", flags.window)->check(CLI::Range(2, 1 << 20))->capture_default_str();
  app.add_option("--windows", flags.windows)->check(CLI::Range(1, 1 << 20))->capture_default_str();
  app.add_option("--tokens", flags.tokens)->check(CLI::Range(1, 1 << 20))->capture_default_str();
  app.add_option("--threads", flags.threads)->check(CLI::Range(1, 64))->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const shoal::Status status = shoal::bench::RunAll(flags);
  if (status.ok()) return 0;
  fmt::print(stderr, "llm_agreement: {}\n", status.message());
  return 1;
}
