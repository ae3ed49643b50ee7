// `shoal quantize`: a model with smaller weights.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "kernels/dequantize.h"
#include "kernels/quantize.h"
#include "llm/model_config.h"
#include "llm/quantize_plan.h"
#include "os/file.h"
#include "os/machine/machine_info.h"
#include "os/pool_plan.h"
#include "os/thread_pool.h"
#include "shoal/commands.h"
#include "shoal/model_files.h"

namespace shoal {
namespace {

struct QuantizeOptions {
  std::string in;
  std::string out;
  std::string type;
  std::size_t threads = 0;
  bool force = false;
  bool json = false;
};

// Rows are converted a few megabytes at a time: whole tensors as floats need not fit into memory.
constexpr std::size_t kPieceElements = std::size_t{1} << 20U;

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::size_t BytesOf(DType dtype, std::size_t elements) {
  return elements / Info(dtype).block_elements * Info(dtype).block_bytes;
}

bool IsFinite(float x) { return std::isfinite(x); }

// Brings one tensor into its new type.
class Converter {
 public:
  Converter(const llm::PlannedTensor& planned, Parallel& parallel)
      : tensor_(*planned.tensor), dtype_(planned.dtype), parallel_(parallel) {}

  // Appends the tensor's bytes in its new type to `file`.
  Status Run(os::AtomicFile& file) {
    if (tensor_.dtype == dtype_) return file.Write(AsText(tensor_.bytes));
    const auto elements = static_cast<std::size_t>(tensor_.shape.elements());
    for (std::size_t at = 0; at < elements; at += kPieceElements) {
      SHOAL_RETURN_IF_ERROR(ConvertPiece(at, std::min(kPieceElements, elements - at)));
      SHOAL_RETURN_IF_ERROR(file.Write(AsText(converted_)));
    }
    return {};
  }

 private:
  Status ConvertPiece(std::size_t at, std::size_t count) {
    floats_.resize(count);
    converted_.resize(BytesOf(dtype_, count));
    // A multiple of every block; small enough to keep all threads busy to the end.
    constexpr std::size_t kTask = 1U << 14U;
    parallel_.Run((count + kTask - 1) / kTask, [&](std::size_t task, std::size_t) {
      const std::size_t begin = task * kTask;
      ConvertTask(at, begin, std::min(kTask, count - begin));
    });
    const auto bad = std::find_if_not(floats_.begin(), floats_.end(), IsFinite);
    if (bad == floats_.end()) return {};
    return Status(Code::kCorruption,
                  "tensor \"" + std::string(tensor_.name) + "\" is not finite at element " +
                      std::to_string(at + static_cast<std::size_t>(bad - floats_.begin())));
  }

  void ConvertTask(std::size_t piece, std::size_t begin, std::size_t count) {
    const auto floats = std::span(floats_).subspan(begin, count);
    kernels::Dequantize(
        tensor_.dtype,
        tensor_.bytes.subspan(BytesOf(tensor_.dtype, piece + begin), BytesOf(tensor_.dtype, count)),
        floats);
    if (!std::all_of(floats.begin(), floats.end(), IsFinite)) return;
    kernels::Quantize(
        dtype_, floats,
        std::span(converted_).subspan(BytesOf(dtype_, begin), BytesOf(dtype_, count)));
  }

  const llm::GgufTensor& tensor_;
  DType dtype_;
  Parallel& parallel_;
  std::vector<float> floats_;
  std::vector<std::byte> converted_;
};

Status CheckPaths(const QuantizeOptions& options) {
  std::error_code error;
  if (std::filesystem::equivalent(options.in, options.out, error)) {
    return Status(Code::kInvalidArgument, options.out + ": is the input");
  }
  if (!options.force && std::filesystem::exists(options.out, error)) {
    return Status(Code::kInvalidArgument, options.out + " exists; --force replaces it");
  }
  return {};
}

// Overwrites one line of a terminal; says nothing into a file.
void ShowProgress(std::uint64_t done, std::uint64_t all, std::string_view tensor) {
  if (::isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "\r{:3}%  {:<40.40}", 100 * done / std::max<std::uint64_t>(all, 1), tensor);
  if (done == all) fmt::print(stderr, "\r{:50}\r", "");
}

Status WriteQuantized(const QuantizeOptions& options, const llm::GgufWriter& header,
                      const std::vector<llm::PlannedTensor>& plan, Parallel& parallel) {
  std::uint64_t all = 0;
  for (const llm::PlannedTensor& planned : plan) all += planned.tensor->bytes.size();
  std::uint64_t done = 0;
  SHOAL_ASSIGN_OR_RETURN(os::AtomicFile file,
                         os::AtomicFile::Create(options.out, os::FileAccess::kEveryone));
  SHOAL_RETURN_IF_ERROR(file.Write(header.Header()));
  for (std::size_t i = 0; i < plan.size(); ++i) {
    ShowProgress(done, all, plan[i].tensor->name);
    SHOAL_RETURN_IF_ERROR(Converter(plan[i], parallel).Run(file).Annotate(options.in));
    SHOAL_RETURN_IF_ERROR(file.Write(std::string(header.Padding(i), '\0')));
    done += plan[i].tensor->bytes.size();
  }
  ShowProgress(all, all, "");
  return file.Commit();
}

void WarnIfQuantizedBefore(const std::vector<llm::PlannedTensor>& plan) {
  const auto again = [](const llm::PlannedTensor& planned) {
    return planned.dtype != planned.tensor->dtype && IsQuantized(planned.tensor->dtype);
  };
  if (std::none_of(plan.begin(), plan.end(), again)) return;
  fmt::print(stderr,
             "shoal: the input is quantised already: from F16 or F32 the result would be better\n");
}

void PrintResult(const QuantizeOptions& options, const llm::Mixture& mixture,
                 const std::vector<llm::PlannedTensor>& plan, const llm::GgufWriter& header) {
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    before += plan[i].tensor->bytes.size();
    after += header.TensorBytes(i);
  }
  if (options.json) {
    const nlohmann::ordered_json json = {
        {"file", options.out}, {"type", mixture.name}, {"bytes_before", before}, {"bytes", after}};
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("{}: {} as {}, weights {:.1f} -> {:.1f} MiB\n", options.out, options.in, mixture.name,
             static_cast<double>(before) / 0x1p20, static_cast<double>(after) / 0x1p20);
}

Status Quantize(const QuantizeOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(const llm::Mixture mixture, llm::FindMixture(options.type));
  SHOAL_ASSIGN_OR_RETURN(const MappedModel mapped, OpenGguf(options.in));
  SHOAL_RETURN_IF_ERROR(CheckPaths(options));
  SHOAL_ASSIGN_OR_RETURN(const llm::ModelConfig config, ReadModelConfig(mapped.model));
  SHOAL_ASSIGN_OR_RETURN(const auto plan, PlanQuantization(mapped.model, config, mixture));
  WarnIfQuantizedBefore(plan);
  const llm::GgufWriter header = QuantizedHeader(mapped.model, mixture, plan);
  os::ThreadPool pool(
      os::PlanPool(os::ReadMachineInfo(os::SysRoot()).cpu, {.threads = options.threads}));
  SHOAL_RETURN_IF_ERROR(WriteQuantized(options, header, plan, pool));
  PrintResult(options, mixture, plan, header);
  return {};
}

}  // namespace

void AddQuantize(CLI::App& app) {
  auto options = std::make_shared<QuantizeOptions>();  // Lives as long as the callback.
  CLI::App* quantize = app.add_subcommand("quantize", "Make a language model's weights smaller");
  quantize->add_option("in", options->in, "GGUF; any part of several")->required();
  quantize->add_option("out", options->out, "Where the smaller model goes, one file")->required();
  quantize->add_option("type", options->type, "Q8_0, Q6_K, Q5_K_M, Q4_K_M, Q4_0, ...")->required();
  quantize->add_option("--threads", options->threads, "Compute with this many threads")
      ->check(CLI::Range(std::size_t{1}, os::kPoolThreadsMax));
  quantize->add_flag("--force", options->force, "Replace a file that is there");
  quantize->add_flag("--json", options->json, "Print one JSON object");
  quantize->callback([options] { ExitOnError(Quantize(*options)); });
}

}  // namespace shoal
