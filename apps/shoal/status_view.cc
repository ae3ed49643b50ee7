#include "shoal/status_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "shoal/cluster_doctor.h"
#include "shoal/status_fields.h"

namespace shoal {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kColumnsLeast = 60;
constexpr std::size_t kColumnsMedium = 100;
constexpr std::size_t kColumnsWide = 120;
// Of those that the report has: today, and what it may be compared with.
constexpr std::size_t kDaysShown = 4;
// Where nobody says how many lines fit.
constexpr std::size_t kEventsShown = 10;
constexpr std::string_view kUnknown = "-";
// Every node is unknown until it has spoken: that much is always missing.
constexpr double kAllCovered = 0.995;

bool Continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80; }

// Every character counts as one column.
std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !Continues(c); }));
}

// What fits, with a sign that something is missing.
std::string Fit(std::string_view text, std::size_t columns) {
  if (Width(text) <= columns) return std::string(text);
  std::size_t end = 0;
  for (std::size_t shown = 0; end < text.size(); ++end) {
    if (!Continues(text[end]) && shown++ == columns - 1) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string Left(std::string_view text, std::size_t columns) {
  std::string fitted = Fit(text, columns);
  fitted.append(columns - Width(fitted), ' ');
  return fitted;
}

std::string Right(std::string_view text, std::size_t columns) {
  const std::string fitted = Fit(text, columns);
  return std::string(columns - Width(fitted), ' ') + fitted;
}

// Three digits or so. Less than a thousandth of anything here is hardly anything.
std::string Short(double value) {
  if (value > 0 && value < 0.001) return "<0.001";
  if (value >= 100 || value == 0) return fmt::format("{:.0f}", value);
  if (value >= 10) return fmt::format("{:.1f}", value);
  if (value >= 1) return fmt::format("{:.2f}", value);
  return fmt::format("{:.2g}", value);
}

std::string Short(const std::optional<double>& value) {
  return value ? Short(*value) : std::string(kUnknown);
}

std::string Bytes(const std::optional<double>& bytes) {
  if (!bytes) return std::string(kUnknown);
  constexpr double kGigabyte = 1e9;
  return *bytes >= kGigabyte ? fmt::format("{:.1f}G", *bytes / kGigabyte)
                             : fmt::format("{:.0f}M", *bytes / 1e6);
}

// "1 answer", "2 answers"
std::string Count(double number, std::string_view what) {
  return fmt::format("{:.0f} {}{}", number, what, number == 1 ? "" : "s");
}

// As many lines as it takes; those after the first, which keeps its own, begin with `indent`.
std::vector<std::string> Wrap(const std::string& text, std::size_t columns,
                              const std::string& indent) {
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  std::vector<std::string> lines = {text.substr(0, begin)};
  for (std::size_t at = begin; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    const bool fresh = lines.back().find_first_not_of(' ') == std::string::npos;
    if (!fresh && Width(lines.back()) + 1 + Width(word) > columns) {
      lines.push_back(indent);
      lines.back() += word;
    } else {
      lines.back() += (fresh ? "" : " ") + word;
    }
  }
  for (std::string& line : lines) line = Fit(line, columns);
  return lines;
}

std::string Layers(const Json& part) {
  const double begin = NumberAt(part, "layer_begin").value_or(0);
  const double end = NumberAt(part, "layer_end").value_or(0);
  if (begin >= end) return std::string(kUnknown);
  if (end - begin == 1) return fmt::format("{:.0f}", begin);
  return fmt::format("{:.0f}-{:.0f}", begin, end - 1);
}

std::string LayersOfNode(const Json& node) {
  const std::optional<double> replica = NumberAt(node, "replica");
  return replica ? fmt::format("{:.0f}:{}", *replica, Layers(node)) : std::string(kUnknown);
}

std::string Slowness(const Json& node) {
  const std::optional<double> throttle = NumberAt(node, "throttle");
  const std::optional<double> slowness = NumberAt(node, "slowness");
  if (!throttle && !slowness) return std::string(kUnknown);
  const double times = std::max(throttle.value_or(1), slowness.value_or(1));
  return times < 10 ? fmt::format("{:.1f}x", times) : fmt::format("{:.0f}x", times);
}

std::string Battery(const Json& node) {
  const std::optional<double> percent = NumberAt(node, "battery_percent");
  if (!percent) return std::string(kUnknown);
  return fmt::format("{:.0f}%{}", *percent, FlagAt(node, "charging").value_or(false) ? "+" : "");
}

std::string Heat(const Json& node) {
  const std::optional<double> celsius = NumberAt(node, "temperature_c");
  return celsius ? fmt::format("{:.0f}°", *celsius) : std::string(kUnknown);
}

// With a sign if it was not measured, or is made of figures that were not.
std::string Marked(const Json& object, const char* name, const char* estimated) {
  const std::optional<double> value = NumberAt(object, name);
  if (!value) return std::string(kUnknown);
  return (FlagAt(object, estimated).value_or(false) ? "~" : "") + Short(*value);
}

std::string Heard(const Json& node) {
  const std::optional<double> seconds = NumberAt(node, "heard_seconds");
  if (!seconds) return std::string(kUnknown);
  if (*seconds < 10) return fmt::format("{:.1f}s", *seconds);
  return *seconds < 600 ? fmt::format("{:.0f}s", *seconds) : fmt::format("{:.0f}m", *seconds / 60);
}

struct Column {
  const char* title;
  std::size_t width;
  bool left;
  std::string (*cell)(const Json& node);
};

// Three sets of columns: what matters most, what it took today, and all.
std::vector<Column> ColumnsFor(std::size_t columns) {
  const auto number = [](const Json& node) {
    return fmt::format("{:.0f}", NumberAt(node, "id").value_or(0));
  };
  const auto label = [](const Json& node) { return TextAt(node, "label"); };
  const auto state = [](const Json& node) { return TextAt(node, "state"); };
  const auto rows = [](const Json& node) { return Short(NumberAt(node, "rows_per_second")); };
  const auto memory = [](const Json& node) { return Bytes(NumberAt(node, "memory_free_bytes")); };
  const auto trip = [](const Json& node) { return Short(NumberAt(node, "round_trip_ms")); };
  const auto watts = [](const Json& node) { return Marked(node, "watts", "watts_estimated"); };
  const auto joules = [](const Json& node) {
    return Marked(node, "joules_per_token", "joules_per_token_estimated");
  };
  const auto hours = [](const Json& node) {
    return Marked(node, "wh_today", "wh_today_estimated");
  };
  const auto grams = [](const Json& node) {
    return Marked(node, "gco2e_today", "wh_today_estimated");
  };
  const auto cpu = [](const Json& node) {
    const std::optional<double> share = NumberAt(node, "cpu_share");
    return share ? fmt::format("{:.0f}%", 100 * *share) : std::string(kUnknown);
  };
  const bool wide = columns >= kColumnsWide;
  std::vector<Column> table = {
      {"node", 4, false, number},
      {"label", wide ? std::size_t{14} : std::size_t{12}, true, label},
      {"state", wide ? std::size_t{11} : std::size_t{9}, true, state},
      {"layers", 8, true, LayersOfNode},
      {"rows/s", 6, false, rows},
      {"slow", 5, false, Slowness},
      {"batt", 5, false, Battery},
      {"heat", 4, false, Heat},
      {"free", 5, false, memory},
  };
  if (wide) {
    table.push_back({"cpu", 4, false, cpu});
    table.push_back({"ping ms", 7, false, trip});
    table.push_back({"heard", 5, false, Heard});
  }
  table.push_back({"W", 5, false, watts});
  table.push_back({"J/tok", 7, false, joules});
  if (columns >= kColumnsMedium) {
    table.push_back({"Wh today", 8, false, hours});
    table.push_back({"g CO2e", 7, false, grams});
  }
  return table;
}

class Screen {
 public:
  Screen(const Json& report, const StatusView& view)
      : report_(report),
        view_(view),
        columns_(std::max(view.columns, kColumnsLeast)),
        findings_(Diagnose(report)) {}

  std::string Draw() {
    Title();
    Add("");
    for (const Json& replica : ListAt(report_, "replicas")) Replica(replica);
    Add("");
    Nodes();
    Add("");
    Energy();
    Audits();
    Add("");
    Findings();
    Events();
    std::string text;
    for (const std::string& line : lines_) text += line + "\n";
    return text;
  }

 private:
  enum class Tone { kPlain, kBold, kBad };
  static constexpr const char* kPlain = "\x1b[0m";
  static constexpr const char* kBold = "\x1b[1m";
  static constexpr const char* kRed = "\x1b[31m";

  void Add(const std::string& text, Tone tone = Tone::kPlain) {
    std::string line = Fit(text, columns_);
    while (line.ends_with(' ')) line.pop_back();
    if (view_.color && tone != Tone::kPlain && !line.empty()) {
      line = (tone == Tone::kBold ? kBold : kRed) + line + kPlain;
    }
    lines_.push_back(std::move(line));
  }
  void AddWrapped(const std::string& text, const std::string& indent, Tone tone = Tone::kPlain) {
    for (const std::string& line : Wrap(text, columns_, indent)) Add(line, tone);
  }
  std::string Clock(const std::optional<double>& unix_time) const {
    if (!unix_time || !view_.time_of_day) return {};
    return view_.time_of_day(static_cast<std::int64_t>(*unix_time));
  }

  void Title() {
    const Json health = ObjectAt(report_, "health");
    const std::string text = fmt::format(
        "{}, {}   {:.0f} of {} here   {} running, {:.0f} waiting", TextAt(report_, "model"),
        Count(NumberAt(report_, "layers").value_or(0), "layer"),
        NumberAt(health, "nodes").value_or(0),
        Count(static_cast<double>(ListAt(report_, "nodes").size()), "node"),
        Count(NumberAt(health, "answers_running").value_or(0), "answer"),
        NumberAt(health, "answers_waiting").value_or(0));
    const std::string clock = Clock(NumberAt(report_, "time"));
    Add(Left(text, columns_ - clock.size() - 1) + " " + clock, Tone::kBold);
  }

  void Replica(const Json& replica) {
    const double number = NumberAt(replica, "replica").value_or(0);
    const std::string waiting = TextAt(replica, "waiting");
    if (!waiting.empty()) {
      return AddWrapped(fmt::format("replica {:.0f} waits: {}", number, waiting), "  ", Tone::kBad);
    }
    std::string text = fmt::format("replica {:.0f}: {} tok/s", number,
                                   Short(NumberAt(replica, "tokens_per_second").value_or(0)));
    if (const auto predicted = NumberAt(replica, "predicted_tokens_per_second")) {
      text += fmt::format(" (predicted {} alone", Short(*predicted));
      const auto eight = NumberAt(replica, "predicted_with_eight");
      text += eight ? fmt::format(", {} with 8 answers)", Short(*eight)) : ")";
    }
    text += fmt::format(", {}: ", Count(NumberAt(replica, "answers").value_or(0), "answer"));
    const std::vector<Json> stages = ListAt(replica, "stages");
    for (std::size_t i = 0; i < stages.size(); ++i) {
      // The parts of a stage stay together.
      text += (i > 0 ? " > " : "") + LabelOf(NumberAt(stages[i], "node").value_or(0)) + "[" +
              Layers(stages[i]) + "]";
    }
    AddWrapped(text, "  ");
  }

  std::string LabelOf(double id) const {
    for (const Json& node : ListAt(report_, "nodes")) {
      if (NumberAt(node, "id") != id) continue;
      const std::string label = TextAt(node, "label");
      if (!label.empty()) return label;
    }
    return fmt::format("{:.0f}", id);
  }

  void Nodes() {
    const std::vector<Column> table = ColumnsFor(columns_);
    const auto line = [&](const auto& cell) {
      std::string text;
      for (const Column& column : table) {
        if (!text.empty()) text += ' ';
        text += column.left ? Left(cell(column), column.width) : Right(cell(column), column.width);
      }
      return text;
    };
    Add(line([](const Column& column) { return std::string(column.title); }), Tone::kBold);
    for (const Json& node : ListAt(report_, "nodes")) {
      const bool bad = std::any_of(findings_.begin(), findings_.end(),
                                   [&](const Finding& f) { return f.who == NodeName(node); });
      Add(line([&](const Column& column) { return column.cell(node); }),
          bad ? Tone::kBad : Tone::kPlain);
    }
  }

  void Energy() {
    const Json energy = ObjectAt(report_, "energy");
    const auto watts = NumberAt(energy, "watts");
    const double total = NumberAt(energy, "wh_total").value_or(0);
    if (!watts && total == 0) {
      return AddWrapped(
          "energy: unknown; no node measures its power. `shoal join --watts W` says what a device "
          "takes",
          "  ");
    }
    const std::string currency = TextAt(energy, "currency");
    std::string now = "energy: " + (watts ? Marked(energy, "watts", "watts_estimated") + " W"
                                          : std::string("no power now"));
    if (NumberAt(energy, "joules_per_token")) {
      now += ", " + Marked(energy, "joules_per_token", "joules_per_token_estimated") + " J a token";
    }
    if (NumberAt(energy, "cost_per_million_tokens")) {
      now += fmt::format(", {} {} a million tokens",
                         Marked(energy, "cost_per_million_tokens", "joules_per_token_estimated"),
                         currency);
    }
    AddWrapped(now, "  ");
    Days(energy, currency);
    AddWrapped("  " + Coverage(energy), "    ");
  }

  // The last days on which something was taken.
  void Days(const Json& energy, const std::string& currency) {
    const std::string today = TextAt(energy, "today");
    const std::vector<Json> days = ListAt(energy, "days");
    const std::size_t first = days.size() - std::min(days.size(), kDaysShown);
    for (std::size_t i = days.size(); i > first; --i) {
      const Json& day = days[i - 1];
      const std::string date = TextAt(day, "date");
      std::string text =
          fmt::format("  {} {} Wh ({} idle)", date == today ? "today" : date,
                      Marked(day, "wh", "estimated"), Marked(day, "wh_idle", "estimated"));
      if (NumberAt(day, "gco2e")) text += ", " + Marked(day, "gco2e", "estimated") + " g CO2e";
      if (NumberAt(day, "cost")) {
        text += fmt::format(", {} {}", Marked(day, "cost", "estimated"), currency);
      }
      if (NumberAt(day, "joules_per_token")) {
        text += ", " + Marked(day, "joules_per_token", "joules_per_token_estimated") + " J a token";
      }
      AddWrapped(text, "    ");
    }
  }

  // What the figures are worth, and what they leave out.
  static std::string Coverage(const Json& energy) {
    const double unknown = NumberAt(energy, "nodes_unknown").value_or(0);
    const auto covered = NumberAt(energy, "covered");
    std::string text;
    if (FlagAt(energy, "estimated").value_or(false) ||
        FlagAt(energy, "watts_estimated").value_or(false)) {
      text += "~ is estimated; ";
    }
    if (covered && *covered < kAllCovered) {
      text += fmt::format("figures cover {:.0f}% of the work; ", 100 * *covered);
    }
    if (unknown > 0) {
      text += fmt::format("{} {} not tell; ", Count(unknown, "node"), unknown == 1 ? "does" : "do");
    }
    const bool head = FlagAt(energy, "head_counted").value_or(false);
    return text + (head ? "the head is counted" : "the head is not counted");
  }

  // Nothing is said where nothing is audited.
  void Audits() {
    const Json audits = ObjectAt(report_, "audits");
    if (audits.empty()) return;
    AddWrapped(
        fmt::format("audits: {:.0f} right, {:.0f} wrong, {:.0f} void; {:.1f}% of the work was "
                    "computed again",
                    NumberAt(audits, "right").value_or(0), NumberAt(audits, "wrong").value_or(0),
                    NumberAt(audits, "void").value_or(0),
                    100 * NumberAt(audits, "share").value_or(0)),
        "  ");
  }

  void Findings() {
    if (findings_.empty()) return Add("All is well.");
    for (const Finding& finding : findings_) {
      AddWrapped("! " + ToText(finding), "  ", Tone::kBad);
    }
  }

  // As many of the last ones as there is room for.
  void Events() {
    const std::vector<Json> events = ListAt(report_, "events");
    const std::size_t used = lines_.size() + 2;
    if (events.empty() || (view_.rows != 0 && used >= view_.rows)) return;
    const std::size_t room = view_.rows == 0 ? kEventsShown : view_.rows - used;
    const std::size_t first = events.size() - std::min(events.size(), room);
    Add("");
    Add("events", Tone::kBold);
    for (std::size_t i = first; i < events.size(); ++i) {
      const std::string clock = Clock(NumberAt(events[i], "time"));
      Add((clock.empty() ? "" : clock + "  ") + TextAt(events[i], "text"));
    }
  }

  const Json& report_;
  const StatusView& view_;
  const std::size_t columns_;
  const std::vector<Finding> findings_;
  std::vector<std::string> lines_;
};

}  // namespace

std::string ShowStatus(const Json& report, const StatusView& view) {
  return Screen(report, view).Draw();
}

}  // namespace shoal
