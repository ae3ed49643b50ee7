#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

#include "train/curves.h"

namespace shoal::train {
namespace {

using Json = nlohmann::ordered_json;

// Null, which JSON has instead of "not a number", counts as 0.
double NumberAt(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

TestRecord ReadTest(const Json& json) {
  TestRecord record{.iteration = json["iteration"].get<std::int64_t>(),
                    .test = static_cast<std::size_t>(std::max(0.0, NumberAt(json, "test"))),
                    .seconds = NumberAt(json, "seconds")};
  if (!json["outputs"].is_object()) return record;
  for (const auto& [name, value] : json["outputs"].items()) {
    if (value.is_number()) record.outputs.push_back({name, value.get<double>()});
  }
  return record;
}

}  // namespace

std::string LogLine(const TrainRecord& record) {
  const Json json = {{"iteration", record.iteration},
                     {"loss", record.loss},
                     {"lr", record.rate},
                     {"images_per_s", record.images_per_second},
                     {"seconds", record.seconds}};
  return json.dump() + "\n";
}

std::string LogLine(const TestRecord& record) {
  Json json = {{"iteration", record.iteration},
               {"test", record.test},
               {"seconds", record.seconds},
               {"outputs", Json::object()}};
  for (const NamedValue& output : record.outputs) json["outputs"][output.name] = output.value;
  return json.dump() + "\n";
}

Result<RunLog> ParseLog(std::string_view file, std::string_view text) {
  RunLog log;
  int number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) break;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line.empty()) continue;
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("iteration") ||
        !json["iteration"].is_number_integer()) {
      return Status(Code::kCorruption,
                    fmt::format("{}:{}: this is not a line of a training's log", file, number));
    }
    if (json.contains("outputs")) {
      log.tests.push_back(ReadTest(json));
    } else {
      log.train.push_back({.iteration = json["iteration"].get<std::int64_t>(),
                           .loss = NumberAt(json, "loss"),
                           .rate = NumberAt(json, "lr"),
                           .images_per_second = NumberAt(json, "images_per_s"),
                           .seconds = NumberAt(json, "seconds")});
    }
  }
  return log;
}

void CutLog(std::int64_t iteration, RunLog& log) {
  std::erase_if(log.train, [&](const TrainRecord& r) { return r.iteration > iteration; });
  std::erase_if(log.tests, [&](const TestRecord& r) { return r.iteration > iteration; });
}

std::string LogText(const RunLog& log) {
  std::string text;
  std::size_t test = 0;
  for (const TrainRecord& record : log.train) {
    for (; test < log.tests.size() && log.tests[test].iteration < record.iteration; ++test) {
      text += LogLine(log.tests[test]);
    }
    text += LogLine(record);
  }
  for (; test < log.tests.size(); ++test) text += LogLine(log.tests[test]);
  return text;
}

}  // namespace shoal::train
