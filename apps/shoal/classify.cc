// `shoal classify`: what a trained network sees on images.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <vector>

#include "os/file.h"
#include "os/machine/cpu.h"
#include "os/machine/sys_root.h"
#include "os/thread_pool.h"
#include "shoal/classifier.h"
#include "shoal/commands.h"
#include "shoal/net_inputs.h"

namespace shoal {
namespace {

struct ClassifyOptions {
  ClassifierOptions classifier;
  std::string image_shape;
  std::string labels;
  std::vector<std::string> images;
  std::size_t top = 5;
  std::size_t threads = 0;
  float scale = 1;
  bool json = false;
};

constexpr std::size_t kLabelsBytesMax = std::size_t{16} << 20U;

// A line each; empty if no file was named.
Result<std::vector<std::string>> ReadLabels(const std::string& path, std::size_t classes) {
  std::vector<std::string> labels;
  if (path.empty()) return labels;
  SHOAL_ASSIGN_OR_RETURN(const std::string text, os::ReadFile(path, kLabelsBytesMax));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.pop_back();
    labels.push_back(std::move(line));
    at = end + 1;
  }
  if (labels.size() < classes) {
    return Status(Code::kInvalidArgument,
                  fmt::format("{}: {} labels for {} classes", path, labels.size(), classes));
  }
  return labels;
}

nlohmann::ordered_json ToJson(const std::string& image, const std::vector<Guess>& guesses,
                              const std::vector<std::string>& labels) {
  nlohmann::ordered_json top = nlohmann::ordered_json::array();
  for (const Guess& guess : guesses) {
    nlohmann::ordered_json entry = {{"class", guess.klass}};
    if (!labels.empty()) entry["label"] = labels[guess.klass];
    entry["probability"] = guess.probability;
    top.push_back(std::move(entry));
  }
  return {{"image", image}, {"top", std::move(top)}};
}

void Print(const std::string& image, const std::vector<Guess>& guesses,
           const std::vector<std::string>& labels) {
  fmt::print("{}\n", image);
  for (const Guess& guess : guesses) {
    fmt::print("  {:.4f}  {}\n", guess.probability,
               labels.empty() ? fmt::format("class {}", guess.klass) : labels[guess.klass]);
  }
}

Status RunClassify(ClassifyOptions options) {
  if (!options.image_shape.empty()) {
    SHOAL_ASSIGN_OR_RETURN(options.classifier.image, ParseImageShape(options.image_shape));
  }
  os::ThreadPool pool(os::PlanPool(os::ReadCpuInfo(os::SysRoot()), {.threads = options.threads}));
  pool.PinCaller();
  SHOAL_ASSIGN_OR_RETURN(const std::unique_ptr<Classifier> classifier,
                         Classifier::Make(options.classifier, pool));
  SHOAL_ASSIGN_OR_RETURN(const std::vector<std::string> labels,
                         ReadLabels(options.labels, classifier->classes()));
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const std::string& image : options.images) {
    SHOAL_ASSIGN_OR_RETURN(const std::vector<Guess> guesses,
                           classifier->Classify(image, options.top));
    if (options.json) {
      all.push_back(ToJson(image, guesses, labels));
    } else {
      Print(image, guesses, labels);
    }
  }
  // Names of files and labels may be in any encoding; JSON is in one.
  if (options.json) {
    fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  return {};
}

}  // namespace

void AddClassify(CLI::App& app) {
  auto options = std::make_shared<ClassifyOptions>();  // Lives as long as the callback.
  ClassifierOptions& classifier = options->classifier;
  CLI::App* command = app.add_subcommand("classify", "Say what is on images");
  command->add_option("images", options->images, "JPEG or PNG files")->required();
  command
      ->add_option("--net", classifier.net, "A prototxt, for deployment or training, or zoo:NAME")
      ->required();
  command->add_option("--weights", classifier.weights, "Its .caffemodel")->required();
  command->add_option("--labels", options->labels, "Names of the classes, a line each");
  CLI::Option* mean =
      command->add_option("--mean", classifier.mean_file, "A mean image to subtract");
  command->add_option("--mean-values", classifier.mean_values, "One value, or blue,green,red")
      ->delimiter(',')
      ->excludes(mean);
  CLI::Option* scale = command->add_option("--scale", options->scale, "Times this, after the mean");
  command->add_option("--resize", classifier.resize, "Pixels a side before the middle is cut out")
      ->check(CLI::Range(1, 8192));
  command
      ->add_option("--input", options->image_shape, "An image, if the file does not say: 3x32x32")
      ->type_name("CxHxW");
  command->add_option("--top", options->top, "How many guesses")->check(CLI::Range(1, 1000));
  command->add_option("--threads", options->threads, "Compute with this many threads")
      ->check(CLI::Range(std::size_t{1}, os::kPoolThreadsMax));
  command->add_flag("--rgb", classifier.red_first,
                    "Red first, for networks that learnt from CIFAR's own files");
  command->add_flag("--json", options->json, "Print one JSON array");
  command->callback([options, scale] {
    if (scale->count() > 0) options->classifier.scale = options->scale;
    ExitOnError(RunClassify(*options));
  });
}

}  // namespace shoal
