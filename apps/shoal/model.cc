// `shoal model`: what is in a file with a language model.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <cstdint>
#include <memory>
#include <string>

#include "shoal/commands.h"
#include "shoal/compute.h"
#include "shoal/model_files.h"
#include "shoal/model_report.h"

namespace shoal {
namespace {

struct InfoOptions {
  std::string file;
  std::int64_t context = 0;
  std::string phone_memory;
  bool json = false;
};

Status PrintInfo(const InfoOptions& options) {
  std::uint64_t phone_memory = kPhoneMemory;
  if (!options.phone_memory.empty()) {
    SHOAL_ASSIGN_OR_RETURN(phone_memory, ParseBytes(options.phone_memory));
  }
  SHOAL_ASSIGN_OR_RETURN(const OpenedModel model, OpenModel(options.file));
  const ModelReport report = ReportModel(model, options.context, phone_memory);
  fmt::print("{}", options.json ? ToJson(report).dump(2) + "\n" : ToText(report));
  return {};
}

}  // namespace

void AddModel(CLI::App& app) {
  CLI::App* model = app.add_subcommand("model", "What is in a file with a language model");
  model->require_subcommand(1);
  auto options = std::make_shared<InfoOptions>();  // Lives as long as the callback.
  CLI::App* info = model->add_subcommand("info", "Its sizes, and how many phones it takes");
  info->add_option("file", options->file, "GGUF, any part of several; or a folder of Hugging Face")
      ->required();
  info->add_option("--context", options->context, "Tokens whose keys and values phones keep")
      ->check(CLI::Range(1, 1 << 30));
  info->add_option("--phone-memory", options->phone_memory, "Usable on each phone, e.g. 2.8G");
  info->add_flag("--json", options->json, "Print one JSON object");
  info->callback([options] { ExitOnError(PrintInfo(*options)); });
}

}  // namespace shoal
