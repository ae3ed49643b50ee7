#include "coordinator/energy.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace shoal::coordinator {
namespace {

constexpr double kJoulesPerKwh = 3.6e6;

bool Believable(const Power& power) {
  return std::isfinite(power.watts) && power.watts >= 0 && power.watts <= EnergyLedger::kWattsMax;
}

void Add(Consumption& to, const Consumption& more) {
  to.joules += more.joules;
  to.idle += more.idle;
  to.estimated = to.estimated || more.estimated;
  to.used_estimated = to.used_estimated || more.used_estimated;
  to.tokens += more.tokens;
  to.work += more.work;
  to.work_covered += more.work_covered;
}

void Add(pipeline::AnswerEnergy& to, double joules, bool estimated) {
  to.joules += joules;
  to.estimated = to.estimated || (estimated && joules > 0);
}

std::optional<double> PerKwh(const std::optional<double>& rate, double joules) {
  if (!rate) return std::nullopt;
  return *rate * joules / kJoulesPerKwh;
}

}  // namespace

std::optional<double> Consumption::PerToken() const {
  if (joules <= idle || tokens == 0) return std::nullopt;
  return (joules - idle) / static_cast<double>(tokens);
}

std::optional<double> Tariff::Grams(double joules) const { return PerKwh(grams_per_kwh, joules); }
std::optional<double> Tariff::Price(double joules) const { return PerKwh(price_per_kwh, joules); }

// Until the next reading nobody knows the energy, but the shares of it can be kept.
void EnergyLedger::CountTime(Node& node, Instant at) {
  const double passed = ToSeconds(at - node.counted);
  node.counted = at;
  if (node.rows_sum == 0 || passed <= 0) return;
  for (const auto& [answer, rows] : node.rows) {
    node.seconds[answer] += passed * static_cast<double>(rows) / static_cast<double>(node.rows_sum);
  }
}

void EnergyLedger::OnPower(NodeId id, std::optional<Power> power, Instant at, std::int64_t day) {
  Node& node = nodes_[id];
  if (power && !Believable(*power)) power.reset();
  CountTime(node, at);
  const Duration passed = at - node.read;
  if (node.power && power && passed > Duration{0} && passed <= kGapMax) {
    const double seconds = ToSeconds(passed);
    Settle(node,
           {.watts = (node.power->watts + power->watts) / 2,
            .estimated = node.power->estimated || power->estimated},
           seconds, day);
  }
  node.seconds.clear();
  node.power = power;
  node.read = at;
}

void EnergyLedger::Settle(Node& node, const Power& power, double seconds, std::int64_t day) {
  const double joules = power.watts * seconds;
  double used = 0;
  for (const auto& [number, share] : node.seconds) {
    const double part = power.watts * share;
    used += part;
    const auto answer = answers_.find(number);
    if (answer != answers_.end()) Add(answer->second.energy, part, power.estimated);
  }
  Count(node,
        {.joules = joules,
         .idle = std::max(0.0, joules - used),
         .estimated = power.estimated,
         .used_estimated = power.estimated && used > 0},
        day);
}

void EnergyLedger::Count(Node& node, const Consumption& more, std::int64_t day) {
  Add(node.total, more);
  Add(node.days[day], more);
  if (node.days.size() > kDaysKept) node.days.erase(node.days.begin());
}

void EnergyLedger::Open(std::uint64_t answer, const pipeline::AnswerEnergy& before) {
  const bool opened = answers_.emplace(answer, Answer{before, {}}).second;
  SHOAL_CHECK(opened);
}

// What is not settled yet counts with the power that was told last.
pipeline::AnswerEnergy EnergyLedger::Of(std::uint64_t answer, Instant now) const {
  const Answer& account = answers_.at(answer);
  pipeline::AnswerEnergy energy = account.energy;
  for (const NodeId id : account.nodes) {
    const Node& node = nodes_.at(id);
    if (!node.power || now - node.read > kGapMax) continue;
    Add(energy, node.power->watts * SecondsOf(answer, node, now), node.power->estimated);
  }
  return energy;
}

double EnergyLedger::SecondsOf(std::uint64_t answer, const Node& node, Instant now) {
  const auto counted = node.seconds.find(answer);
  const double seconds = counted == node.seconds.end() ? 0 : counted->second;
  const auto rows = node.rows.find(answer);
  if (rows == node.rows.end()) return seconds;
  return seconds + ToSeconds(now - node.counted) * static_cast<double>(rows->second) /
                       static_cast<double>(node.rows_sum);
}

void EnergyLedger::OnSent(NodeId id, std::span<const pipeline::SequenceRows> rows, Instant at) {
  Node& node = nodes_[id];
  CountTime(node, at);
  for (const pipeline::SequenceRows& run : rows) {
    node.rows[run.sequence] += run.rows;
    node.rows_sum += run.rows;
    const auto answer = answers_.find(run.sequence);
    if (answer != answers_.end()) answer->second.nodes.insert(id);
  }
}

void EnergyLedger::OnBack(NodeId id, std::span<const pipeline::SequenceRows> rows,
                          std::size_t layers, Instant at, std::int64_t day) {
  Node& node = nodes_[id];
  CountTime(node, at);
  const bool known = node.power && at - node.read <= kGapMax;
  for (const pipeline::SequenceRows& run : rows) {
    const auto found = node.rows.find(run.sequence);
    SHOAL_CHECK(found != node.rows.end() && found->second >= run.rows);
    found->second -= run.rows;
    if (found->second == 0) node.rows.erase(found);
    node.rows_sum -= run.rows;
    const double work = static_cast<double>(run.rows * layers);
    Count(node, {.work = work, .work_covered = known ? work : 0}, day);
    const auto answer = answers_.find(run.sequence);
    if (answer == answers_.end()) continue;
    pipeline::AnswerEnergy& energy = answer->second.energy;
    energy.work += work;
    energy.work_covered += known ? work : 0;
  }
}

void EnergyLedger::OnToken(std::uint64_t answer, std::int64_t day) {
  ++tokens_;
  ++tokens_of_days_[day];
  if (tokens_of_days_.size() > kDaysKept) tokens_of_days_.erase(tokens_of_days_.begin());
  for (const NodeId id : answers_.at(answer).nodes) {
    Node& node = nodes_.at(id);
    if (node.power) Count(node, {.tokens = 1}, day);
  }
}

NodeEnergy EnergyLedger::OfNode(NodeId id, std::int64_t today) const {
  NodeEnergy energy;
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) return energy;
  const Node& node = found->second;
  energy.power = node.power;
  if (const auto day = node.days.find(today); day != node.days.end()) energy.today = day->second;
  energy.total = node.total;
  return energy;
}

Consumption EnergyLedger::OfAll() const {
  Consumption sum;
  for (const auto& [id, node] : nodes_) Add(sum, node.total);
  sum.tokens = tokens_;
  return sum;
}

std::map<std::int64_t, Consumption> EnergyLedger::Days() const {
  std::map<std::int64_t, Consumption> days;
  for (const auto& [id, node] : nodes_) {
    for (const auto& [day, more] : node.days) Add(days[day], more);
  }
  while (days.size() > kDaysKept) days.erase(days.begin());
  for (auto& [day, sum] : days) {
    const auto tokens = tokens_of_days_.find(day);
    sum.tokens = tokens == tokens_of_days_.end() ? 0 : tokens->second;
  }
  return days;
}

}  // namespace shoal::coordinator
