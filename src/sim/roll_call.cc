#include "sim/roll_call.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "sim/world.h"

namespace shoal::sim {
namespace {

constexpr NodeId kCaller{1};
// How often the roll is compared with the truth.
constexpr Duration kCheckInterval = std::chrono::seconds(1);
// A frame that left before the death may still be on its way (jitter), and the caller's
// clock may be slow: a second more than theory asks.
constexpr Duration kPresentAfterDeathMax =
    LinkModel{}.silence_limit + kHeartbeatDeadline + std::chrono::seconds(1);

std::string InSeconds(Duration span) {
  return ShortestNumber(std::round(ToMilliseconds(span)) / 1e3) + " s";
}

// Knows the truth (the World) and the roll, and compares them.
class Checker final : public RollCallObserver {
 public:
  explicit Checker(std::uint32_t nodes) : present_(nodes + std::size_t{1}) {}

  void OnRollOpened() override {
    std::fill(present_.begin(), present_.end(), false);
    present_count_ = 0;
  }
  void OnPresence(NodeId id, bool present) override {
    present_[ToNumber(id)] = present;
    present_count_ += present ? 1 : -1;
  }
  void OnBrokenPromise(NodeId who, const std::string& what) override {
    if (failure_.empty()) failure_ = "node " + std::to_string(ToNumber(who)) + ": " + what;
  }

  void Compare(const World& world) {
    const Duration now = world.now();
    const World::Wakefulness caller = world.WakefulnessOf(kCaller);
    if (!caller.awake) return;  // It counts nobody.
    for (std::size_t number = 2; number < present_.size(); ++number) {
      if (!present_[number]) continue;
      const World::Wakefulness member = world.WakefulnessOf(NodeId{number});
      const Duration noticeable = now - std::max(member.since, caller.since);
      if (member.awake || noticeable <= kPresentAfterDeathMax) continue;
      OnBrokenPromise(kCaller, "node " + std::to_string(number) + " is on the roll " +
                                   InSeconds(noticeable) + " after it died");
    }
  }

  bool EverybodyIsPresent() const { return present_count_ + 2 == std::ssize(present_); }
  std::int64_t present_count() const { return present_count_; }
  const std::string& failure() const { return failure_; }

 private:
  std::vector<bool> present_;  // By node number; 0 and the caller's are unused.
  std::int64_t present_count_ = 0;
  std::string failure_;
};

void Populate(World& world, std::uint32_t nodes, Checker& checker) {
  world.AddNode(kCaller, [&checker](const Surroundings& around) {
    return std::make_unique<RollCaller>(around, checker);
  });
  for (std::uint64_t number = 2; number <= nodes; ++number) {
    world.AddNode(NodeId{number}, [&checker](const Surroundings& around) {
      return std::make_unique<RollMember>(around, kCaller, "sim:1", checker);
    });
  }
}

void Judge(const World& world, const Checker& checker, RollCallResult& result) {
  using Verdict = RollCallResult::Verdict;
  if (!checker.failure().empty()) {
    result.verdict = Verdict::kUnsafe;
    result.failure = checker.failure();
  } else if (!checker.EverybodyIsPresent()) {
    result.verdict = Verdict::kNotLive;
    const auto members = static_cast<std::int64_t>(world.nodes().size()) - 1;
    result.failure = std::to_string(members - checker.present_count()) + " of " +
                     std::to_string(members) + " members are not on the roll " +
                     InSeconds(kEverybodyBackLimit) + " after the healing";
  }
  world.Say(NodeId{0}, result.failure.empty() ? "everybody is on the roll" : result.failure);
}

void Fill(const World& world, RollCallResult& result) {
  result.trace_hash = world.trace_hash();
  result.events = world.events();
  result.frames = world.count(Happening::kFrame);
  result.crashes = world.count(Happening::kCrash);
  result.restarts = world.count(Happening::kStart) - world.nodes().size();
  result.hangs = world.count(Happening::kFreeze);
  result.partitions = world.count(Happening::kPartition);
  result.virtual_seconds = ToSeconds(world.now());
}

Status Validate(const RollCallOptions& options) {
  if (options.nodes < 2 || options.nodes > kRollCallNodesMax) {
    return {Code::kInvalidArgument, "a roll call has 2 to 100,000 nodes"};
  }
  if (options.duration < Duration(0) || options.duration > kRollCallDurationMax) {
    return {Code::kInvalidArgument, "a roll call lasts up to a year"};
  }
  return {};
}

}  // namespace

Result<RollCallResult> RunRollCall(const RollCallOptions& options, const Trace::Line& transcript) {
  SHOAL_RETURN_IF_ERROR(Validate(options));
  Checker checker(options.nodes);
  World world({.seed = options.seed, .faults = options.faults, .link = {}});
  world.SetTranscript(transcript);
  Populate(world, options.nodes, checker);

  while (world.now() < options.duration && checker.failure().empty()) {
    world.RunFor(std::min(kCheckInterval, options.duration - world.now()));
    checker.Compare(world);
  }
  world.Heal();
  const Duration healed_at = world.now();
  (void)world.RunUntil(
      [&checker] { return checker.EverybodyIsPresent() || !checker.failure().empty(); },
      kEverybodyBackLimit);

  RollCallResult result;
  result.seconds_to_heal = ToSeconds(world.now() - healed_at);
  Judge(world, checker, result);
  Fill(world, result);
  return result;
}

std::string ReplayLine(const RollCallOptions& options) {
  return "shoal sim --seed " + std::to_string(options.seed) + " --nodes " +
         std::to_string(options.nodes) + " --seconds " +
         ShortestNumber(ToSeconds(options.duration)) + FaultFlags(options.faults);
}

}  // namespace shoal::sim
