// `shoal data`: makes an LMDB from a data set as it was downloaded, or out of nothing, and
// tells what is in one.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "caffe/mean_file.h"
#include "data/data_set.h"
#include "data/datum.h"
#include "data/import.h"
#include "data/lmdb.h"
#include "data/lmdb_source.h"
#include "data/mean.h"
#include "data/synth.h"
#include "os/file.h"
#include "shoal/commands.h"

namespace shoal {
namespace {

using Labels = std::map<std::int32_t, std::int64_t>;

struct OutputOptions {
  bool json = false;
  bool quiet = false;
};

struct ImportCommand {
  OutputOptions output;
  data::DataSetOptions set;
  data::ImportOptions import;
  std::string split = "train";
  std::vector<std::int64_t> resize;
  bool blue_first = false;
};

struct SynthCommand {
  OutputOptions output;
  data::SynthOptions synth;
  data::ImportOptions import;
};

struct MeanCommand {
  std::string path;
  std::string out;
};

struct InfoCommand {
  OutputOptions output;
  std::string path;
};

// One line that moves, for people; nothing for files and pipes.
void ShowProgress(std::int64_t done, std::int64_t total) {
  fmt::print(stderr, "\r{} of {} images{}", done, total, done == total ? "\n" : "");
  std::fflush(stderr);
}

void SetUpProgress(const OutputOptions& output, data::ImportOptions& import) {
  if (!output.quiet && ::isatty(STDERR_FILENO) != 0) import.progress = ShowProgress;
}

nlohmann::ordered_json LabelsToJson(const Labels& labels) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [label, count] : labels) json[std::to_string(label)] = count;
  return json;
}

std::string LabelsToText(const Labels& labels) {
  if (labels.empty()) return "no labels";
  return fmt::format("{} labels from {} to {}", labels.size(), labels.begin()->first,
                     labels.rbegin()->first);
}

nlohmann::ordered_json ShapeToJson(const data::ImageShape& shape) {
  return {{"channels", shape.channels}, {"height", shape.height}, {"width", shape.width}};
}

std::string ShapeToText(const data::ImageShape& shape) {
  return fmt::format("{} x {} x {}", shape.channels, shape.height, shape.width);
}

void PrintReport(const std::string& path, const data::ImportReport& report,
                 const OutputOptions& output) {
  if (output.json) {
    nlohmann::ordered_json json = {{"path", path}, {"records", report.records}};
    if (report.shape) json["shape"] = ShapeToJson(*report.shape);
    json["bytes"] = report.bytes;
    json["labels"] = LabelsToJson(report.labels);
    json["channel_means"] = report.channel_means;
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("{}: {} images of {}, {}, {:.1f} MB\n", path, report.records,
             report.shape ? ShapeToText(*report.shape) : std::string("several sizes"),
             LabelsToText(report.labels), static_cast<double>(report.bytes) / 1e6);
  std::string means;
  for (const float mean : report.channel_means) means += fmt::format(" {:.3f}", mean);
  if (!means.empty()) fmt::print("mean of the channels:{}\n", means);
}

Status RunImport(ImportCommand command) {
  command.set.test = command.split == "test";
  if (command.blue_first) command.set.cifar_order = data::CifarOrder::kBlueFirst;
  if (!command.resize.empty()) {
    command.import.new_height = command.resize[0];
    command.import.new_width = command.resize[1];
  }
  SHOAL_ASSIGN_OR_RETURN(const auto source, data::OpenDataSet(command.set));
  SetUpProgress(command.output, command.import);
  SHOAL_ASSIGN_OR_RETURN(const data::ImportReport report, data::Import(*source, command.import));
  PrintReport(command.import.path, report, command.output);
  return {};
}

Status RunSynth(SynthCommand command) {
  SHOAL_ASSIGN_OR_RETURN(const data::SynthSource source, data::SynthSource::Create(command.synth));
  SetUpProgress(command.output, command.import);
  SHOAL_ASSIGN_OR_RETURN(const data::ImportReport report, data::Import(source, command.import));
  PrintReport(command.import.path, report, command.output);
  return {};
}

Status RunInfo(const InfoCommand& command) {
  SHOAL_ASSIGN_OR_RETURN(const data::LmdbSource source, data::LmdbSource::Open(command.path));
  Labels labels;
  std::int64_t compressed = 0;
  std::int64_t bytes = 0;
  for (std::int64_t i = 0; i < source.size(); ++i) {
    const auto value = source.reader().Value(i);
    auto info = data::InspectDatum(value);
    if (!info.ok()) {
      return std::move(info).status().Annotate(fmt::format("{}: record {}", command.path, i));
    }
    ++labels[info->label];
    compressed += info->encoded ? 1 : 0;
    bytes += static_cast<std::int64_t>(value.size());
  }
  data::Record first;
  SHOAL_RETURN_IF_ERROR(source.Read(0, first));
  const data::ImageShape shape{first.height, first.width, first.channels};
  SHOAL_ASSIGN_OR_RETURN(const std::string key, source.reader().Key(0));
  if (command.output.json) {
    const nlohmann::ordered_json json = {
        {"path", command.path},          {"records", source.size()}, {"first_key", key},
        {"first", ShapeToJson(shape)},   {"compressed", compressed}, {"bytes", bytes},
        {"labels", LabelsToJson(labels)}};
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return {};
  }
  fmt::print("{}: {} records, {} of them compressed, {:.1f} MB, {}\nthe first, \"{}\", is {}\n",
             command.path, source.size(), compressed, static_cast<double>(bytes) / 1e6,
             LabelsToText(labels), key, ShapeToText(shape));
  return {};
}

void AddOutput(CLI::App& command, OutputOptions& output) {
  command.add_flag("--json", output.json, "Print one JSON object");
  command.add_flag("--quiet", output.quiet, "No progress line");
}

void AddStore(CLI::App& command, data::ImportOptions& import) {
  static const std::map<std::string, data::Store> kStores = {{"raw", data::Store::kRaw},
                                                             {"jpeg", data::Store::kJpeg},
                                                             {"png", data::Store::kPng},
                                                             {"file", data::Store::kAsFile}};
  command.add_option("--out", import.path, "The database to make, a new directory")->required();
  command.add_option("--store", import.store, "raw pixels, jpeg, png, or the image file as it is")
      ->transform(CLI::CheckedTransformer(kStores));
  command.add_option("--quality", import.quality, "Of --store jpeg")->check(CLI::Range(1, 100));
}

void AddImport(CLI::App& parent) {
  static const std::map<std::string, data::DataSetFormat> kFormats = {
      {"auto", data::DataSetFormat::kAuto},         {"cifar10", data::DataSetFormat::kCifar10},
      {"cifar100", data::DataSetFormat::kCifar100}, {"mnist", data::DataSetFormat::kMnist},
      {"folder", data::DataSetFormat::kFolder},     {"list", data::DataSetFormat::kList},
      {"lmdb", data::DataSetFormat::kLmdb}};
  auto options = std::make_shared<ImportCommand>();  // Lives as long as the callback.
  CLI::App* command = parent.add_subcommand("import", "Make a database (LMDB) from a data set");
  command
      ->add_option("input", options->set.paths,
                   "A directory as downloaded (CIFAR, MNIST), a directory of classes, a list of "
                   "\"path label\" lines, or a database")
      ->required();
  AddOutput(*command, options->output);
  AddStore(*command, options->import);
  command->add_option("--format", options->set.format, "What the input is")
      ->transform(CLI::CheckedTransformer(kFormats));
  command->add_option("--split", options->split, "Which part of CIFAR or MNIST: train or test")
      ->check(CLI::IsMember({"train", "test"}));
  command->add_option("--root", options->set.root_folder, "In front of every path of a list");
  command->add_option("--resize", options->resize, "Height and width")
      ->expected(2)
      ->check(CLI::PositiveNumber);
  command->add_flag("--gray", options->set.gray, "Image files as one channel");
  command->add_flag("--bgr", options->blue_first,
                    "CIFAR with blue first, as photographs; Caffe's databases have red first");
  command->add_flag("--shuffle", options->import.shuffle, "In another order, by the seed");
  command->add_option("--seed", options->import.seed, "Of --shuffle");
  command->callback([options] { ExitOnError(RunImport(*options)); });
}

void AddSynth(CLI::App& parent) {
  auto options = std::make_shared<SynthCommand>();
  CLI::App* command = parent.add_subcommand(
      "synth", "Make a small image set that can be learnt, the same on every machine");
  AddOutput(*command, options->output);
  AddStore(*command, options->import);
  command->add_option("--count", options->synth.count, "How many images");
  command->add_option("--size", options->synth.size, "Pixels of a side");
  command->add_option("--channels", options->synth.channels, "1 or 3");
  command->add_option("--classes", options->synth.classes, "2 to 10");
  command->add_option("--noise", options->synth.noise, "0 to 255");
  command->add_option("--seed", options->synth.seed, "Another seed: other images");
  command->callback([options] { ExitOnError(RunSynth(*options)); });
}

Status RunMean(const MeanCommand& command) {
  SHOAL_ASSIGN_OR_RETURN(const data::LmdbSource source, data::LmdbSource::Open(command.path));
  data::MeanAccumulator accumulator;
  data::Record record;
  for (std::int64_t i = 0; i < source.size(); ++i) {
    SHOAL_RETURN_IF_ERROR(source.Read(i, record));
    accumulator.Add(record);
  }
  const std::optional<data::MeanImage> mean = accumulator.Image();
  if (!mean) {
    return Status(Code::kInvalidArgument,
                  command.path + ": images of several sizes have no mean image");
  }
  const auto pixels = static_cast<std::size_t>(mean->height * mean->width);
  const auto channels = static_cast<std::size_t>(mean->channels);
  caffe::Blob planes{.shape = {mean->channels, mean->height, mean->width},
                     .values = std::vector<float>(pixels * channels)};
  for (std::size_t p = 0; p < pixels; ++p) {
    for (std::size_t c = 0; c < channels; ++c) {
      planes.values[c * pixels + p] = mean->values[p * channels + c];
    }
  }
  SHOAL_RETURN_IF_ERROR(
      os::WriteFileAtomically(command.out, caffe::WriteMean(planes), os::FileAccess::kEveryone));
  fmt::print("{}: the mean of {} images of {}\n", command.out, accumulator.count(),
             ShapeToText({mean->height, mean->width, mean->channels}));
  return {};
}

void AddMean(CLI::App& parent) {
  auto options = std::make_shared<MeanCommand>();
  CLI::App* command = parent.add_subcommand("mean", "Write the mean image of a database");
  command->add_option("path", options->path, "The database")->required();
  command->add_option("out", options->out, "A mean file, as Caffe has it")->required();
  command->callback([options] { ExitOnError(RunMean(*options)); });
}

void AddInfo(CLI::App& parent) {
  auto options = std::make_shared<InfoCommand>();
  CLI::App* command = parent.add_subcommand("info", "What is in a database");
  command->add_option("path", options->path, "The database")->required();
  AddOutput(*command, options->output);
  command->callback([options] { ExitOnError(RunInfo(*options)); });
}

}  // namespace

void AddData(CLI::App& app) {
  CLI::App* command = app.add_subcommand("data", "Data sets into databases to train from");
  command->require_subcommand(1);
  AddImport(*command);
  AddSynth(*command);
  AddInfo(*command);
  AddMean(*command);
}

}  // namespace shoal
