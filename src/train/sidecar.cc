#include "train/sidecar.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace shoal::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

Json ToJson(const std::vector<data::Cursor>& cursors) {
  Json json = Json::array();
  for (const data::Cursor& cursor : cursors) {
    json.push_back({{"epoch", cursor.epoch}, {"position", cursor.position}});
  }
  return json;
}

// Reads fields and remembers the first that is missing or of another kind.
class Fields {
 public:
  Fields(std::string_view file, std::string& problem) : file_(file), problem_(problem) {}

  const Json& At(const Json& object, const char* name) {
    if (object.is_object() && object.contains(name)) return object.at(name);
    return Fail(name, "is missing");
  }
  template <class T>
  T Number(const Json& object, const char* name) {
    const Json& field = At(object, name);
    if (std::is_integral_v<T> ? field.is_number_integer() : field.is_number()) {
      return field.get<T>();
    }
    Fail(name, "is no number");
    return {};
  }
  std::string Text(const Json& object, const char* name) {
    const Json& field = At(object, name);
    if (field.is_string()) return field.get<std::string>();
    Fail(name, "is no text");
    return {};
  }
  const Json& List(const Json& object, const char* name) {
    const Json& field = At(object, name);
    return field.is_array() ? field : Fail(name, "is no list");
  }
  std::vector<data::Cursor> Cursors(const Json& list) {
    std::vector<data::Cursor> cursors;
    for (const Json& item : list) {
      cursors.push_back({.epoch = Number<std::uint64_t>(item, "epoch"),
                         .position = Number<std::uint64_t>(item, "position")});
    }
    return cursors;
  }

 private:
  const Json& Fail(const char* name, const char* what) {
    static const Json kNothing = Json::array();
    if (problem_.empty()) problem_ = fmt::format("{}: \"{}\" {}", file_, name, what);
    return kNothing;
  }

  std::string_view file_;
  std::string& problem_;
};

}  // namespace

std::string WriteSidecar(const Sidecar& sidecar) {
  Json json = {{"version", kVersion},        {"iteration", sidecar.iteration},
               {"seed", sidecar.seed},       {"batch", sidecar.batch},
               {"workers", sidecar.workers}, {"train", ToJson(sidecar.train)}};
  json["owed"] = Json::array();
  for (const SampleRun& run : sidecar.owed) {
    json["owed"].push_back(
        {{"epoch", run.first.epoch}, {"position", run.first.position}, {"count", run.count}});
  }
  json["tests"] = Json::array();
  for (const auto& test : sidecar.tests) json["tests"].push_back(ToJson(test));
  json["convolutions"] = Json::array();
  for (const nn::ConvChoice& choice : sidecar.convolutions) {
    json["convolutions"].push_back({{"pass", choice.pass}, {"row", choice.row}});
  }
  json["losses"] = sidecar.losses;
  json["schedule"] = {{"current_step", sidecar.schedule.current_step},
                      {"best_iteration", sidecar.schedule.best_iteration},
                      {"best_loss", sidecar.schedule.best_loss}};
  if (sidecar.unit > 0) json["exact"] = {{"unit", sidecar.unit}, {"limits", sidecar.limits}};
  return json.dump(1) + "\n";
}

Result<Sidecar> ReadSidecar(std::string_view file, std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return Status(Code::kCorruption, fmt::format("{}: this is not a snapshot's JSON", file));
  }
  std::string problem;
  Fields fields(file, problem);
  Sidecar sidecar;
  if (fields.Number<int>(json, "version") != kVersion && problem.empty()) {
    problem = fmt::format("{}: written by another version of shoal", file);
  }
  sidecar.iteration = fields.Number<std::int64_t>(json, "iteration");
  sidecar.seed = fields.Number<std::uint64_t>(json, "seed");
  sidecar.batch = fields.Number<std::int64_t>(json, "batch");
  sidecar.workers = fields.Number<std::size_t>(json, "workers");
  sidecar.train = fields.Cursors(fields.List(json, "train"));
  if (json.contains("owed")) {  // Older ones have none.
    for (const Json& run : fields.List(json, "owed")) {
      sidecar.owed.push_back({.first = {.epoch = fields.Number<std::uint64_t>(run, "epoch"),
                                        .position = fields.Number<std::uint64_t>(run, "position")},
                              .count = fields.Number<std::uint64_t>(run, "count")});
    }
  }
  for (const Json& test : fields.List(json, "tests")) sidecar.tests.push_back(fields.Cursors(test));
  for (const Json& choice : fields.List(json, "convolutions")) {
    sidecar.convolutions.push_back({fields.Text(choice, "pass"), fields.Text(choice, "row")});
  }
  for (const Json& loss : fields.List(json, "losses")) {
    // A loss that was not finite is null in JSON.
    sidecar.losses.push_back(loss.is_number() ? loss.get<double>() : 0);
  }
  const Json& schedule = fields.At(json, "schedule");
  sidecar.schedule = {.current_step = fields.Number<std::int64_t>(schedule, "current_step"),
                      .best_iteration = fields.Number<std::int64_t>(schedule, "best_iteration"),
                      .best_loss = fields.Number<double>(schedule, "best_loss")};
  if (json.contains("exact")) {
    const Json& exact = json.at("exact");
    sidecar.unit = fields.Number<std::int64_t>(exact, "unit");
    for (const Json& limit : fields.List(exact, "limits")) {
      sidecar.limits.push_back(limit.is_number_integer() ? limit.get<int>() : 0);
    }
  }
  if (!problem.empty()) return Status(Code::kCorruption, std::move(problem));
  return sidecar;
}

}  // namespace shoal::train
