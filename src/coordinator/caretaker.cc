#include "coordinator/caretaker.h"

#include <algorithm>
#include <utility>

#include "wire/enrol.h"

namespace shoal::coordinator {
namespace {

// Some of them are enough, now and then.
constexpr int kDoubtsMax = 8;
constexpr std::size_t kDoubtBytesMax = 200;
constexpr Duration kTellAgainAfter = std::chrono::minutes(10);
constexpr std::size_t kSensorsRemembered = 32;

constexpr std::size_t kNamedMax = 3;

}  // namespace

std::vector<std::string> PlainDoubts(const wire::pb::Telemetry& telemetry) {
  std::vector<std::string> doubts;
  for (int i = 0; i < std::min(telemetry.doubts_size(), kDoubtsMax); ++i) {
    const std::string& doubt = telemetry.doubts(i);
    if (doubt.size() <= kDoubtBytesMax && wire::IsPlainText(doubt)) doubts.push_back(doubt);
  }
  return doubts;
}

Caretaker::Caretaker(std::function<int()> local_minute, const std::map<NodeId, WorkRules>& rules)
    : local_minute_(std::move(local_minute)) {
  for (const auto& [node, own] : rules) SetRules(node, own);
}

void Caretaker::OnHello(NodeId id, const wire::pb::NodeHello& hello) {
  Node& node = nodes_[id];
  node.care.SetWishes(hello.wishes());
  node.name = "node " + std::to_string(ToNumber(id));
  if (!hello.name().empty() && hello.name().size() <= wire::kDeviceNameBytesMax &&
      wire::IsPlainText(hello.name())) {
    node.name += " (" + hello.name() + ")";
  }
}

void Caretaker::OnTelemetry(NodeId id, const wire::pb::Telemetry& telemetry, Instant now) {
  Node& node = nodes_[id];
  node.care.OnTelemetry(telemetry, now);
  NoteDoubts(node, telemetry, now);
}

// All that began together is one line.
void Caretaker::NoteDoubts(Node& node, const wire::pb::Telemetry& telemetry, Instant now) {
  if (telemetry.doubts().empty()) return node.doubts.clear();
  std::set<std::string> doubts;
  std::string line;
  for (const std::string& doubt : PlainDoubts(telemetry)) {
    const std::string sensor = doubt.substr(0, doubt.find(':'));
    doubts.insert(sensor);
    if (node.doubts.contains(sensor)) continue;
    const auto told = node.told_at.find(sensor);
    if (told != node.told_at.end() ? now - told->second < kTellAgainAfter
                                   : node.told_at.size() >= kSensorsRemembered) {
      continue;
    }
    node.told_at[sensor] = now;
    line += (line.empty() ? "" : "; ") + doubt;
  }
  node.doubts = std::move(doubts);
  if (!line.empty()) node.news.push_back(node.name + " has a sensor out of order: " + line);
}

std::vector<std::string> Caretaker::Look(NodeId id, Instant now) {
  Node& node = nodes_[id];
  const std::optional<int> minute = local_minute_ ? std::optional(local_minute_()) : std::nullopt;
  const std::string change = node.care.Judge(now, minute);
  if (!change.empty()) node.news.push_back(node.name + " " + change);
  return std::exchange(node.news, {});
}

std::string Caretaker::WhyWaiting(const std::string& why, const Roster& roster) const {
  std::size_t here = 0;
  std::size_t resting = 0;
  std::string who;
  for (const auto& [id, member] : roster.members()) {
    here += member.greeted ? 1 : 0;
    if (!member.resting) continue;
    if (++resting > kNamedMax) continue;
    const Node& node = nodes_.at(id);
    who += (who.empty() ? "" : "; ") + node.name + ": " + node.care.verdict().why;
  }
  if (why.empty() || resting == 0) return why;
  if (resting > kNamedMax) who += "; and " + std::to_string(resting - kNamedMax) + " more";
  return resting == here ? "all phones rest: " + who : why + "; resting: " + who;
}

}  // namespace shoal::coordinator
