// Curves: what a run wrote into its log, and a page that shows it: loss and accuracy over the
// iterations, as SVG inside HTML that needs nothing else. Pure; thread-safe.
//
// A log has one JSON object a line:
//   {"iteration":100,"loss":1.62,"lr":0.001,"images_per_s":1040.2,"seconds":9.8}
//   {"iteration":500,"test":0,"seconds":51.3,"outputs":{"accuracy":0.57,"loss":1.21}}
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "train/model.h"

namespace shoal::train {

struct TrainRecord {
  std::int64_t iteration = 0;
  double loss = 0;  // Smoothed.
  double rate = 0;
  double images_per_second = 0;
  double seconds = 0;  // Since the start.
};

struct TestRecord {
  std::int64_t iteration = 0;
  std::size_t test = 0;  // Which test net.
  double seconds = 0;
  std::vector<NamedValue> outputs = {};
};

struct RunLog {
  std::vector<TrainRecord> train = {};
  std::vector<TestRecord> tests = {};
};

// One line, with its end.
std::string LogLine(const TrainRecord& record);
std::string LogLine(const TestRecord& record);

// kCorruption: names `file` and the line. A last line that was cut off is left out.
Result<RunLog> ParseLog(std::string_view file, std::string_view text);
// Without what came after `iteration`: a run that is resumed writes that again.
void CutLog(std::int64_t iteration, RunLog& log);
std::string LogText(const RunLog& log);

std::string CurvesHtml(std::string_view title, const RunLog& log);

}  // namespace shoal::train
