#include "bench/llm_bench.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "bench/interleave.h"
#include "bench/llm_files.h"
#include "bench/peak_bench.h"
#include "bench/peers/llama_cpp.h"
#include "bench/threads.h"
#include "llm/engine.h"
#include "llm/gguf_model.h"

namespace shoal::bench {
namespace {

std::vector<std::int32_t> RandomTokens(std::size_t count, std::size_t vocab) {
  Random random(7);
  std::vector<std::int32_t> tokens;
  for (std::size_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<std::int32_t>(random.Bits() % vocab));
  }
  return tokens;
}

// What a token makes us read and multiply: all matrices but the embedding, of which it is a row.
struct Work {
  double bytes = 0;
  double operations = 0;
};

Work WorkOf(const llm::GgufModel& model) {
  Work work;
  const bool tied = model.Find("output.weight") == nullptr;
  for (const llm::GgufTensor& tensor : model.tensors()) {
    if (tensor.shape.rank() < 2 || (tensor.name == "token_embd.weight" && !tied)) continue;
    work.bytes += static_cast<double>(tensor.bytes.size());
    work.operations += 2.0 * static_cast<double>(tensor.shape.elements());
  }
  return work;
}

// One model, one number of threads, everybody who is there.
class Race {
 public:
  Race(llm::Engine& engine, std::span<const std::unique_ptr<LlamaCpp>> peers)
      : engine_(engine), peers_(peers) {}

  // Seconds of ours and of the fastest peer.
  std::pair<double, std::optional<double>> Run(std::size_t tokens, bool one_by_one, int turns) {
    const std::vector<std::int32_t> ids = RandomTokens(tokens, engine_.vocab());
    const std::size_t step = one_by_one ? 1 : tokens;
    std::vector<Contender> contenders = {{"shoal", [&] {
                                            llm::KvSequence sequence = engine_.NewSequence();
                                            for (std::size_t at = 0; at < tokens; at += step) {
                                              const auto part = std::span(ids).subspan(at, step);
                                              SHOAL_CHECK(engine_.Feed(sequence, part, 1).ok());
                                            }
                                          }}};
    for (const auto& peer : peers_) {
      contenders.push_back({"llama.cpp", [&ids, &peer, tokens, step] {
                              peer->Clear();
                              for (std::size_t at = 0; at < tokens; at += step) {
                                (void)peer->Feed(std::span(ids).subspan(at, step));
                              }
                            }});
    }
    const std::vector<double> seconds =
        RunInterleaved(contenders, {.turns = turns, .turn = {}, .warm_up = false});
    if (peers_.empty()) return {seconds[0], std::nullopt};
    return {seconds[0], *std::min_element(seconds.begin() + 1, seconds.end())};
  }

 private:
  llm::Engine& engine_;
  std::span<const std::unique_ptr<LlamaCpp>> peers_;
};

class ModelBench {
 public:
  ModelBench(const LlmBenchOptions& options, std::string path, Report& report)
      : options_(options), path_(std::move(path)), report_(report) {
    for (const std::size_t prompt : options.prompts) context_ = std::max(context_, prompt);
    context_ = std::max(context_, options.tokens);
  }

  Status Run() {
    for (const std::string& folder : options_.llama_cpp) {
      SHOAL_ASSIGN_OR_RETURN(std::unique_ptr<LlamaCpp> peer, LoadLlamaCpp(folder, path_, context_));
      peers_.push_back(std::move(peer));
    }
    for (const std::size_t threads : options_.threads) SHOAL_RETURN_IF_ERROR(RunThreads(threads));
    peers_.clear();
    RunLoad();
    return {};
  }

 private:
  // From nothing to the first token, the file being in the system's cache.
  void RunLoad() {
    const std::size_t threads = options_.threads.back();
    const std::vector<std::int32_t> one = {1};
    std::vector<Contender> contenders = {{"shoal", [&] {
                                            const auto parallel = MakePool(threads);
                                            const auto opened = OpenModelFile(path_);
                                            SHOAL_CHECK(opened.ok());
                                            const auto engine =
                                                LoadEngine(*opened, context_, *parallel);
                                            SHOAL_CHECK(engine.ok());
                                            llm::KvSequence sequence = (*engine)->NewSequence();
                                            SHOAL_CHECK((*engine)->Feed(sequence, one, 1).ok());
                                          }}};
    for (const std::string& folder : options_.llama_cpp) {
      contenders.push_back({"llama.cpp", [&] {
                              const auto peer = LoadLlamaCpp(folder, path_, context_);
                              SHOAL_CHECK(peer.ok());
                              (*peer)->SetThreads(threads);
                              (void)(*peer)->Feed(one);
                            }});
    }
    const std::vector<double> seconds =
        RunInterleaved(contenders, {.turns = options_.turns, .turn = {}, .warm_up = false});
    Row row{.name = fmt::format("{} load to first token t={}",
                                std::filesystem::path(path_).stem().string(), threads),
            .unit = "s",
            .higher_is_better = false,
            .ours = seconds[0],
            .peers = {},
            .limit = {}};
    if (seconds.size() > 1) {
      row.peers.emplace_back("llama.cpp", *std::min_element(seconds.begin() + 1, seconds.end()));
    }
    report_.rows.push_back(std::move(row));
  }

  Status RunThreads(std::size_t threads) {
    const std::unique_ptr<Parallel> parallel = MakePool(threads);
    SHOAL_ASSIGN_OR_RETURN(const OpenedModel opened, OpenModelFile(path_));
    SHOAL_ASSIGN_OR_RETURN(const std::unique_ptr<llm::Engine> engine,
                           LoadEngine(opened, context_, *parallel));
    for (const auto& peer : peers_) peer->SetThreads(threads);
    const Work work = WorkOf(opened.model);
    const double gigabytes = ReadGigabytes(*parallel, {});
    const std::optional<double> gigaops = PeakInt8Gops(*parallel, {});
    Race race(*engine, peers_);
    for (const std::size_t prompt : options_.prompts) {
      std::optional<double> limit;
      if (gigaops) limit = *gigaops * 1e9 / work.operations;
      Add(fmt::format("prompt of {}", prompt), threads, prompt,
          race.Run(prompt, false, options_.turns), limit);
    }
    Add(fmt::format("{} tokens one by one", options_.tokens), threads, options_.tokens,
        race.Run(options_.tokens, true, options_.turns), gigabytes * 1e9 / work.bytes);
    return {};
  }

  void Add(const std::string& what, std::size_t threads, std::size_t tokens,
           const std::pair<double, std::optional<double>>& seconds, std::optional<double> limit) {
    const std::string file = std::filesystem::path(path_).stem().string();
    const auto count = static_cast<double>(tokens);
    Row row{.name = fmt::format("{} {} t={}", file, what, threads),
            .unit = "tokens/s",
            .ours = count / seconds.first,
            .peers = {},
            .limit = limit};
    if (seconds.second) row.peers.emplace_back("llama.cpp", count / *seconds.second);
    report_.rows.push_back(std::move(row));
  }

  const LlmBenchOptions& options_;
  std::string path_;
  Report& report_;
  std::size_t context_ = 0;
  std::vector<std::unique_ptr<LlamaCpp>> peers_;
};

}  // namespace

Result<Report> RunLlmBench(const LlmBenchOptions& options) {
  Report report{.bench = "llm", .rows = {}};
  for (const std::string& model : options.models) {
    SHOAL_RETURN_IF_ERROR(ModelBench(options, model, report).Run());
  }
  return report;
}

}  // namespace shoal::bench
