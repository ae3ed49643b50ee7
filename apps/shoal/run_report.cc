#include "shoal/run_report.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "os/file.h"
#include "os/machine/memory.h"
#include "os/machine/thermal.h"

namespace shoal {
namespace {

constexpr Duration kShowEvery = std::chrono::milliseconds(500);
constexpr std::size_t kLogBytesMax = std::size_t{256} << 20U;

// "2 h 05 min", "3 min 20 s", "8 s"
std::string TimeText(double seconds) {
  const auto s = static_cast<std::int64_t>(std::clamp(seconds, 0.0, 1e9));
  if (s >= 3600) return fmt::format("{} h {:02} min", s / 3600, s / 60 % 60);
  if (s >= 60) return fmt::format("{} min {:02} s", s / 60, s % 60);
  return fmt::format("{} s", s);
}

}  // namespace

RunProgress ProgressOf(const train::Trainer& trainer) {
  return {.iteration = trainer.iteration(),
          .stop = trainer.stop(),
          .display = trainer.solver_def().display,
          .images_per_step = trainer.images_per_step(),
          .loss = trainer.smoothed_loss(),
          .rate = trainer.rate()};
}

RunReport::RunReport(const RunReportOptions& options, const Clock& clock)
    : options_(options),
      clock_(clock),
      terminal_(!options.quiet && ::isatty(STDERR_FILENO) != 0),
      begin_(clock.Now()),
      paused_at_(begin_),
      shown_(begin_),
      window_begin_(begin_) {}

Status RunReport::Open(bool resumed, std::int64_t iteration) {
  first_iteration_ = iteration;
  if (resumed) {
    const Result<std::string> text = os::ReadFile(log_path(), kLogBytesMax);
    if (text.ok()) {
      SHOAL_ASSIGN_OR_RETURN(log_, train::ParseLog(log_path(), *text));
      train::CutLog(iteration, log_);
    }
    if (!log_.train.empty()) seconds_before_ = log_.train.back().seconds;
  }
  const std::filesystem::path folder = std::filesystem::path(log_path()).parent_path();
  std::error_code error;  // Told of by the write that follows.
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  SHOAL_RETURN_IF_ERROR(Rewrite());
  begin_ = paused_at_ = shown_ = window_begin_ = clock_.Now();
  return {};
}

Status RunReport::Rewrite() { return file_.Open(log_path(), train::LogText(log_)); }

Status RunReport::GoBack(std::int64_t iteration) {
  train::CutLog(iteration, log_);
  return Rewrite();
}

void RunReport::Say(const std::string& line) const {
  if (options_.quiet) return;
  ClearLine();
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

double RunReport::Elapsed() const { return seconds_before_ + ToSeconds(clock_.Now() - begin_); }

std::string RunReport::Line(const RunProgress& progress, double images_per_second) const {
  const auto left =
      static_cast<double>((progress.stop - progress.iteration) * progress.images_per_step);
  std::string line =
      fmt::format("iteration {} of {}  loss {:.6f}  lr {:g}  {:.0f} images/s", progress.iteration,
                  progress.stop, progress.loss, progress.rate, images_per_second);
  if (images_per_second > 0) line += "  " + TimeText(left / images_per_second) + " left";
  const Result<os::Thermal> thermal = os::ReadThermal(os::SysRoot());
  if (thermal.ok() && thermal->cpu_celsius.ok()) {
    line += fmt::format("  {:.0f} °C", *thermal->cpu_celsius);
  }
  return line;
}

void RunReport::ClearLine() const {
  if (terminal_) fmt::print(stderr, "\r\033[K");
}

Status RunReport::OnStep(const RunProgress& progress) {
  ++window_iterations_;
  const bool log =
      (progress.display > 0 && progress.iteration % progress.display == 0) || progress.done();
  const Instant now = clock_.Now();
  if (!log && !(terminal_ && now - shown_ >= kShowEvery)) return {};
  const double seconds = ToSeconds(now - window_begin_ - (paused_ - window_paused_));
  const double images = static_cast<double>(window_iterations_ * progress.images_per_step);
  const double images_per_second = seconds > 0 ? images / seconds : 0;
  shown_ = now;
  if (!options_.quiet && (log || terminal_)) {
    const std::string line = Line(progress, images_per_second);
    ClearLine();
    if (log) {
      fmt::print("{}\n", line);
      std::fflush(stdout);
    } else {
      fmt::print(stderr, "{}", line);
      std::fflush(stderr);
    }
  }
  if (!log) return {};
  window_begin_ = now;
  window_paused_ = paused_;
  window_iterations_ = 0;
  log_.train.push_back({.iteration = progress.iteration,
                        .loss = progress.loss,
                        .rate = progress.rate,
                        .images_per_second = images_per_second,
                        .seconds = Elapsed()});
  return file_.Append(LogLine(log_.train.back()));
}

Status RunReport::OnTest(std::int64_t iteration,
                         const std::vector<std::vector<train::NamedValue>>& results) {
  ClearLine();
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::string text;
    for (const train::NamedValue& output : results[i]) {
      text += fmt::format("  {} {:.6g}", output.name, output.value);
    }
    if (!options_.quiet) {
      fmt::print("iteration {}  test{}{}\n", iteration,
                 results.size() > 1 ? fmt::format(" {}", i) : "", text);
      std::fflush(stdout);
    }
    log_.tests.push_back(
        {.iteration = iteration, .test = i, .seconds = Elapsed(), .outputs = results[i]});
    SHOAL_RETURN_IF_ERROR(file_.Append(LogLine(log_.tests.back())));
  }
  return {};
}

void RunReport::Pause() { paused_at_ = clock_.Now(); }
void RunReport::Resume() { paused_ = paused_ + (clock_.Now() - paused_at_); }

Status RunReport::Finish(const RunProgress& progress) {
  ClearLine();
  const std::string title = std::filesystem::path(options_.prefix).filename().string();
  SHOAL_RETURN_IF_ERROR(os::WriteFileAtomically(page_path(), train::CurvesHtml(title, log_),
                                                os::FileAccess::kEveryone));
  if (options_.quiet) return {};
  const std::int64_t iterations = progress.iteration - first_iteration_;
  const double training = ToSeconds(clock_.Now() - begin_ - paused_);
  fmt::print(
      "{} iterations in {}, {:.0f} images/s", iterations, TimeText(training),
      training > 0 ? static_cast<double>(iterations * progress.images_per_step) / training : 0);
  const Result<std::uint64_t> peak = os::ReadPeakResident(os::SysRoot());
  if (peak.ok()) fmt::print(", peak memory {:.0f} MiB", static_cast<double>(*peak) / (1 << 20));
  fmt::print("\nlog: {}\ncurves: {}\n", log_path(), page_path());
  return {};
}

}  // namespace shoal
