// `shoal zoo`: the networks that come with the program.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "os/file.h"
#include "shoal/commands.h"
#include "shoal/zoo_files.h"
#include "shoal/zoo_table.h"

namespace shoal {
namespace {

struct ShowOptions {
  std::string name;
  bool solver = false;
  bool aux = false;
};

struct ExportOptions {
  std::string name;
  std::string directory;
  bool force = false;
};

// The comment that a file begins with, without the sentence about who wrote it.
std::string_view About(std::string_view text) {
  std::string_view line = text.substr(0, text.find('\n'));
  const std::size_t sentence = line.find(". ");
  return sentence == std::string_view::npos ? "" : line.substr(sentence + 2);
}

Status List() {
  for (const std::string& name : ZooNames()) {
    SHOAL_ASSIGN_OR_RETURN(const ZooFile file, FindZooFile(name, "train_val.prototxt"));
    fmt::print("{:<16} {}\n", name, About(file.text));
  }
  return {};
}

Status Show(const ShowOptions& options) {
  const char* file = options.solver ? "solver.prototxt"
                     : options.aux  ? "train_val_aux.prototxt"
                                    : "train_val.prototxt";
  SHOAL_ASSIGN_OR_RETURN(const ZooFile found, FindZooFile(options.name, file));
  fmt::print("{}", found.text);
  return {};
}

// Solvers name their network by its path in our sources; here it is another.
std::string WithPaths(std::string_view text, const std::string& from, const std::string& to) {
  std::string out(text);
  for (std::size_t at = 0; (at = out.find(from, at)) != std::string::npos; at += to.size()) {
    out.replace(at, from.size(), to);
  }
  return out;
}

Status Export(const ExportOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(const std::vector<ZooFile> files, ZooFilesOf(options.name));
  std::error_code error;
  std::filesystem::create_directories(options.directory, error);
  if (error) return os::ErrnoStatus(error.value(), options.directory);
  for (const ZooFile& file : files) {
    const std::string_view name = file.path.substr(options.name.size() + 1);
    const std::string path = (std::filesystem::path(options.directory) / name).string();
    if (!options.force && std::filesystem::exists(path, error)) {
      return Status(Code::kInvalidArgument, path + " exists; --force replaces it");
    }
    const std::string text =
        WithPaths(file.text, "\"zoo/" + options.name + "/",
                  "\"" + (std::filesystem::path(options.directory) / "").string());
    SHOAL_RETURN_IF_ERROR(os::WriteFileAtomically(path, text, os::FileAccess::kEveryone));
    fmt::print("{}\n", path);
  }
  return {};
}

Status Table(bool json) {
  SHOAL_ASSIGN_OR_RETURN(const std::vector<ZooRow> rows, CountZoo());
  fmt::print("{}", json ? ToJson(rows).dump(2) + "\n" : ToText(rows));
  return {};
}

}  // namespace

void AddZoo(CLI::App& app) {
  CLI::App* zoo = app.add_subcommand("zoo", "The networks that come with the program");
  zoo->require_subcommand(1);
  zoo->add_subcommand("list", "Their names")->callback([] { ExitOnError(List()); });

  auto show = std::make_shared<ShowOptions>();  // Lives as long as the callback.
  CLI::App* show_command = zoo->add_subcommand("show", "Print a network");
  show_command->add_option("name", show->name)->required();
  CLI::Option* solver = show_command->add_flag("--solver", show->solver, "Its solver instead");
  show_command->add_flag("--aux", show->aux, "With its auxiliary classifiers")->excludes(solver);
  show_command->callback([show] { ExitOnError(Show(*show)); });

  auto out = std::make_shared<ExportOptions>();
  CLI::App* export_command = zoo->add_subcommand("export", "Write a network's files");
  export_command->add_option("name", out->name)->required();
  export_command->add_option("directory", out->directory, "Made if it is not there")->required();
  export_command->add_flag("--force", out->force, "Replace files that are there");
  export_command->callback([out] { ExitOnError(Export(*out)); });

  auto json = std::make_shared<bool>(false);
  CLI::App* table = zoo->add_subcommand("table", "Sizes, beside the paper's Table I");
  table->add_flag("--json", *json, "Print one JSON object");
  table->callback([json] { ExitOnError(Table(*json)); });
}

}  // namespace shoal
