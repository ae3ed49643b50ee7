#include "sim/week_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/executor.h"
#include "base/network.h"
#include "base/parallel.h"
#include "base/random.h"
#include "coordinator/care.h"
#include "coordinator/lines.h"
#include "kernels/revision.h"
#include "llm/model_config_text.h"
#include "pipeline/planner.h"
#include "sim/event_queue.h"
#include "sim/sim_clock.h"
#include "sim/toy_model.h"
#include "sim/week_phone.h"

namespace shoal::sim {
namespace {

using pipeline::RouteStage;

constexpr Duration kStep = std::chrono::seconds(10);
constexpr Duration kFormingStep = std::chrono::seconds(1);  // While layers travel.
constexpr Duration kJudgeInterval = std::chrono::seconds(5);
// The oracle plans so often, and whenever a phone comes or goes; heat takes longer.
constexpr Duration kOracleInterval = std::chrono::minutes(5);
// A phone that gets layers so soon after it came back gets them for that reason.
constexpr Duration kJustCome = std::chrono::minutes(2);
// What a new route costs all answers: 1.5 s was the longest pause of real processes that were
// killed (README).
constexpr double kPauseSeconds = 1.5;

// A model of 34 billion parameters with 4 bits: 7 phones of 2.8 GB could hold it.
constexpr std::size_t kLayers = 48;
constexpr std::uint64_t kLayerBytes = 400'000'000;
constexpr std::uint64_t kPhoneBytes = 2'800'000'000;
constexpr std::size_t kDim = 6144;
constexpr double kMultiplyAdds = 710e6;
// Layers come over a link of 400 Mb/s, and stay on flash.
constexpr double kLinkBytes = 50e6;

// All profiles promise more than a pipeline gives: rows are unpacked, attention takes its time.
constexpr double kSharedFactor = 1.3;
constexpr double kMeasurementError = 0.04;

class NoNetwork final : public Network {
 public:
  NodeId self() const override { return kHeadNode; }
  void Attach(NetworkEvents*) override {}
  void Connect(NodeId, const std::string&) override {}
  void Disconnect(NodeId) override {}
  Status Send(NodeId, Traffic, Frame) override { return {}; }
};

class NoExecutor final : public Executor {
 public:
  Status Submit(Job) override { return {}; }
};

class NoLayers final : public pipeline::LayerStore {
 public:
  std::shared_ptr<const pipeline::LayerBytes> Find(const std::string&) override { return nullptr; }
  std::vector<std::string> Whole() const override { return {}; }
  void Open(const wire::pb::LayerFile&, UniqueFunction<void(Result<std::uint32_t>)>) override {}
  void Append(const wire::pb::LayerFile&, std::uint32_t, std::vector<std::byte>,
              UniqueFunction<void(Status)>) override {}
};

// The phones as they are, worked by one who decides. Links and days are the same for all who do;
// heat and batteries follow from what is done with them.
class Shelf {
 public:
  struct Phone {
    NodeId id{};
    WeekPhone body;
    coordinator::NodeCare care;
    bool rests = false;
    double duty = 1;
    double load = 0;  // Of its time, at work.
  };

  explicit Shelf(const WeekOptions& options) {
    Random random(options.seed, 0x54E1F);
    for (std::size_t i = 0; i < options.phones; ++i) {
      WeekPhoneOptions phone;
      const double luck = 0.9 + 0.2 * random.Unit();
      phone.speeds = {.weight_bytes_per_second = 17e9 * luck, .operations_per_second = 80e9 * luck};
      phone.handicap = i == options.phones / 3 ? 3 : 1;
      phone.on_charger = i % 2 == 0;
      phone.hottest = 0.4 + 0.6 * random.Unit();
      phones_.push_back({.id = NodeId{i + 2},
                         .body = WeekPhone(phone, Random(options.seed, 0x9803E + i)),
                         .care = {}});
    }
  }

  std::vector<Phone>& phones() { return phones_; }
  Phone& Find(NodeId node) { return phones_[ToNumber(node) - 2]; }

  static wire::pb::Telemetry Says(const Phone& phone) {
    wire::pb::Telemetry telemetry;
    telemetry.set_battery_level(phone.body.battery());
    telemetry.set_charging(phone.body.charging());
    wire::pb::RoundTrip& trip = *telemetry.add_round_trips();
    trip.set_node(ToNumber(kHeadNode));
    trip.set_milliseconds(2e3 * phone.body.latency());
    return telemetry;
  }

  // True: it has come or gone, or begins or ends to rest.
  static bool Pass(Phone& phone, Duration span, Instant now) {
    const double hour = std::fmod(ToSeconds(now.since_origin) / 3600, 24);
    const bool was = phone.body.reachable();
    phone.body.Pass(span, hour, phone.load);
    if (phone.body.reachable()) Judge(phone, span, now);
    const coordinator::CareVerdict& verdict = phone.care.verdict();
    const bool rests = coordinator::Rests(verdict.state);
    phone.duty = verdict.duty;
    return std::exchange(phone.rests, rests) != rests || was != phone.body.reachable();
  }

  // Judges as often as NodeCare is to be: of a longer gap it would believe only a part.
  static void Judge(Phone& phone, Duration span, Instant now) {
    const wire::pb::Telemetry telemetry = Says(phone);
    for (Duration passed{0}; passed < span;) {
      passed = std::min(passed + kJudgeInterval, span);
      phone.care.OnTelemetry(telemetry, now + passed);
      phone.care.Judge(now + passed, std::nullopt);
    }
  }

  // The phones that may work, as fast as they are.
  pipeline::PlanCluster TrueCluster() const {
    pipeline::PlanCluster cluster;
    for (const Phone& phone : phones_) {
      if (!phone.body.reachable()) continue;
      pipeline::PlanNode& node = cluster.nodes.emplace_back();
      node.id = phone.id;
      node.memory_bytes = phone.rests ? 0 : kPhoneBytes;
      node.latency = phone.body.latency();
      node.speeds = phone.body.TrueSpeeds();
      node.speeds.weight_bytes_per_second *= phone.duty / kSharedFactor;
      node.speeds.operations_per_second *= phone.duty / kSharedFactor;
    }
    return cluster;
  }

  // From now on they work on this route. A stage works while the slowest one does, as long as it
  // has something to do.
  void Work(const std::vector<RouteStage>& stages) {
    for (Phone& phone : phones_) phone.load = 0;
    double slowest = 0;
    std::vector<double> times;
    for (const RouteStage& stage : stages) {
      const Phone& phone = Find(stage.node);
      times.push_back(static_cast<double>(stage.range.size()) /
                      (phone.body.TrueSpeeds().weight_bytes_per_second * phone.duty));
      slowest = std::max(slowest, times.back());
    }
    for (std::size_t i = 0; i < stages.size(); ++i) {
      Phone& phone = Find(stages[i].node);
      phone.load = phone.duty * times[i] / slowest;
    }
  }

 private:
  std::vector<Phone> phones_;
};

// Knows how fast phones are, and plans anew all the time at no cost.
class Oracle {
 public:
  Oracle(const WeekOptions& options, pipeline::PlanModel model, const pipeline::PlanWish& wish)
      : shelf_(options), model_(std::move(model)), wish_(wish) {}

  // Tokens a second.
  double Pass(Duration span, Instant now) {
    bool changed = false;
    for (Shelf::Phone& phone : shelf_.phones()) changed |= Shelf::Pass(phone, span, now);
    const pipeline::PlanCluster cluster = shelf_.TrueCluster();
    if (changed || now >= plan_at_) {
      plan_at_ = now + kOracleInterval;
      const auto plan = PlanPipelines(model_, cluster, wish_);
      stages_ = plan.ok() ? plan->replicas.front().stages : std::vector<RouteStage>();
    }
    shelf_.Work(stages_);
    const auto seconds = ObjectiveSeconds(model_, cluster, wish_, stages_);
    return seconds ? 1 / *seconds : 0;
  }

 private:
  Shelf shelf_;
  const pipeline::PlanModel model_;
  const pipeline::PlanWish wish_;
  std::vector<RouteStage> stages_;
  Instant plan_at_;
};

class Week final : private coordinator::LinesEvents {
 public:
  explicit Week(const WeekOptions& options)
      : options_(options), random_(options.seed, 0x3EE), toy_(1, 64, 1), shelf_(options) {
    plan_.id = "week";
    plan_.config = llm::SerializeConfig(toy_.config());
    for (std::size_t i = 0; i < kLayers; ++i) {
      wire::pb::LayerFile& layer = plan_.layers.emplace_back();
      layer.set_sha256("layer " + std::to_string(i));
      layer.set_bytes(kLayerBytes);
    }
    plan_.positions = 4096;
    plan_.dim = kDim;
    plan_.multiply_adds = kMultiplyAdds;
    plan_.wish = {
        .objective = pipeline::Objective::kThroughput, .users = options.users, .replicas_max = 1};
    auto head = llm::ModelHead::Load(toy_.weights(), toy_.config(), serial_);
    SHOAL_CHECK(head.ok());
    coordinator::LinesEvents& events = *this;
    lines_ = std::make_unique<coordinator::Lines>(
        coordinator::LineWorld{{clock_, network_, executor_, random_},
                               roster_,
                               plan_,
                               std::make_shared<pipeline::HeadModel>(*std::move(head), serial_),
                               {},
                               server_},
        0, events);
    oracle_.emplace(options_, plan_.Costs(), plan_.wish);
  }

  WeekResult Run() {
    while (queue_.now() < options_.duration && result_.failure.empty()) Step();
    return result_;
  }

 private:
  Duration now() const { return queue_.now(); }
  const coordinator::Line& line() const { return *lines_->lines().front(); }

  void Step() {
    const Duration span = line().formation().forming() ? kFormingStep : kStep;
    for (Shelf::Phone& phone : shelf_.phones()) PassPhone(phone, span);
    lines_->Tick();
    if (line().formation().forming()) Load(span);
    NoteRoute();
    Price(span);
    const Duration end = now() + span;
    while (queue_.Peek() != nullptr && queue_.Peek()->at <= end) {
      const Event event = queue_.Pop();
      if (clock_.IsPending(event)) clock_.Fire(event);
    }
    queue_.AdvanceTo(end);
  }

  void PassPhone(Shelf::Phone& phone, Duration span) {
    const Instant instant = clock_.Now();
    const bool rested = phone.rests;
    Shelf::Pass(phone, span, instant);
    if (phone.load > 0) {
      result_.battery_least = std::min(result_.battery_least, phone.body.battery());
    }
    if (phone.body.reachable() != (roster_.Find(phone.id) != nullptr)) ComeOrGo(phone);
    coordinator::Member* const member = roster_.Find(phone.id);
    if (member == nullptr) return;
    member->heard = instant;
    member->telemetry = Shelf::Says(phone);
    if (phone.load > 0) {
      const double error = 1 + kMeasurementError * (2 * random_.Unit() - 1);
      roster_.Measured(phone.id, kSharedFactor * error * phone.body.slowness() / phone.duty,
                       instant);
    }
    member->resting = phone.rests;
    if (rested && !phone.rests) {
      came_[phone.id] = now();
      lines_->OnArrived();
    }
    // Every time: what was to take its layers may have gone, too.
    if (phone.rests) lines_->OnResting(phone.id, /*at_once=*/false);
  }

  void ComeOrGo(const Shelf::Phone& phone) {
    if (!phone.body.reachable()) {
      roster_.Left(phone.id);
      return lines_->OnLost(phone.id, clock_.Now(), {Code::kUnavailable, "Wi-Fi"});
    }
    came_[phone.id] = now();
    roster_.Arrived(phone.id, clock_.Now());
    coordinator::Member& member = *roster_.Find(phone.id);
    member.greeted = true;
    member.resting = phone.rests;
    member.hello.set_arithmetic(kernels::kKernelRevision);
    member.hello.set_memory_bytes(kPhoneBytes);
    for (const std::int64_t layer : flash_[phone.id].layers) {
      member.layers.insert(plan_.layers[static_cast<std::size_t>(layer)].sha256());
    }
    const pipeline::PlanSpeeds& speeds = phone.body.options().speeds;
    member.hello.mutable_profile()->set_weight_bytes_per_second(speeds.weight_bytes_per_second);
    member.hello.mutable_profile()->set_operations_per_second(speeds.operations_per_second);
    lines_->OnArrived();
  }

  // Layers that a phone has not held before travel.
  void Load(Duration span) {
    const pipeline::Route route = *line().formation().forming();
    for (const RouteStage& stage : route.stages) {
      Flash& flash = flash_[stage.node];
      if (std::exchange(flash.coming_for, route.epoch) != route.epoch) flash.coming_bytes = 0;
      double missing = 0;
      for (std::int64_t i = stage.range.first; i < stage.range.end; ++i) {
        missing += flash.layers.contains(i) ? 0 : static_cast<double>(kLayerBytes);
      }
      flash.coming_bytes += kLinkBytes * ToSeconds(span);
      wire::pb::StageState state;
      state.set_epoch(route.epoch);
      state.set_bytes(static_cast<std::uint64_t>(flash.coming_bytes));
      if (flash.coming_bytes >= missing) {
        state.set_progress(wire::pb::StageState::READY);
        for (std::int64_t i = stage.range.first; i < stage.range.end; ++i) flash.layers.insert(i);
      }
      lines_->OnState(stage.node, state);
    }
  }

  // What changed since the last route that ran.
  void NoteRoute() {
    if (!line().running() || line().replica().route().epoch == epoch_) return;
    const pipeline::Route& route = line().replica().route();
    std::map<NodeId, pipeline::LayerRange> held;
    std::int64_t done = 0;
    for (const RouteStage& stage : route.stages) {
      if (stage.range.first != done || stage.range.end <= done) result_.failure = "a layer is lost";
      done = stage.range.end;
      held[stage.node] = stage.range;
    }
    if (done != static_cast<std::int64_t>(kLayers)) result_.failure = "the last layers are lost";
    if (epoch_ != 0) {
      for (const Shelf::Phone& phone : shelf_.phones()) {
        if (Holds(held_, phone.id) == Holds(held, phone.id)) continue;
        ++result_.changes;
        if (!ByItself(phone)) NoteMove(phone.id);
      }
    }
    held_ = std::move(held);
    epoch_ = route.epoch;
    ++result_.epochs;
    pause_seconds_ = kPauseSeconds;
  }

  static std::pair<std::int64_t, std::int64_t> Holds(
      const std::map<NodeId, pipeline::LayerRange>& held, NodeId node) {
    const auto found = held.find(node);
    if (found == held.end()) return {0, 0};
    return {found->second.first, found->second.end};
  }

  // Whether its layers change because it is away, rests, or has just come back and gets its first.
  bool ByItself(const Shelf::Phone& phone) {
    if (!phone.body.reachable() || phone.rests) return true;
    const auto came = came_.extract(phone.id);
    return !came.empty() && now() - came.mapped() < kJustCome;
  }

  void NoteMove(NodeId node) {
    std::deque<Duration>& moves = moves_[node];
    moves.push_back(now());
    while (now() - moves.front() > std::chrono::hours(1)) moves.pop_front();
    ++result_.moves;
    result_.moves_hour_max = std::max<std::uint64_t>(result_.moves_hour_max, moves.size());
  }

  void Price(Duration span) {
    const double best = oracle_->Pass(span, clock_.Now());
    result_.oracle_tokens += best * ToSeconds(span);
    if (!line().running()) {
      shelf_.Work({});
      if (best > 0) result_.down_hours += ToSeconds(span) / 3600;
      return;
    }
    const std::vector<RouteStage>& stages = line().replica().route().stages;
    const auto seconds = ObjectiveSeconds(plan_.Costs(), shelf_.TrueCluster(), plan_.wish, stages);
    const double paused = std::min(pause_seconds_, ToSeconds(span));
    pause_seconds_ -= paused;
    // One that begins to rest has no memory to offer, and works until others have its layers.
    if (seconds) result_.tokens += (ToSeconds(span) - paused) / *seconds;
    shelf_.Work(stages);
  }

  void OnDrawn(std::uint64_t, const llm::SampledToken&) override {}
  void OnDamaged(std::uint64_t) override {}
  void OnHomeless(const std::vector<std::uint64_t>&) override {}
  void OnLinesChanged() override {}
  void OnUnfit(NodeId node, const Status& why) override {
    result_.failure = "node " + std::to_string(ToNumber(node)) + " is unfit: " + why.ToString();
  }
  void OnNews(const std::string& text) override {
    if (!options_.news) return;
    std::array<char, 32> stamp{};
    (void)std::snprintf(stamp.data(), stamp.size(), "[%7.3f h] ", ToSeconds(now()) / 3600);
    options_.news(stamp.data() + text);
  }

  const WeekOptions options_;
  Random random_;
  const ToyModel toy_;
  Serial serial_;
  EventQueue queue_;
  SimClock clock_{queue_, 0, {}};
  NoNetwork network_;
  NoExecutor executor_;
  NoLayers store_;
  pipeline::LayerServer server_{network_, store_};
  coordinator::Roster roster_;
  coordinator::ModelPlan plan_;
  std::unique_ptr<coordinator::Lines> lines_;
  Shelf shelf_;
  std::optional<Oracle> oracle_;

  // A phone's, with the layers that it has, and what has come for the route that is being prepared.
  struct Flash {
    std::set<std::int64_t> layers;
    double coming_bytes = 0;
    std::uint64_t coming_for = 0;  // The epoch.
  };
  std::map<NodeId, Flash> flash_;
  std::map<NodeId, pipeline::LayerRange> held_;
  std::map<NodeId, std::deque<Duration>> moves_;  // In the last hour.
  std::map<NodeId, Duration> came_;               // When its link came back, or its rest was over.
  std::uint64_t epoch_ = 0;
  double pause_seconds_ = 0;
  WeekResult result_;
};

}  // namespace

std::string WeekResult::ToString() const {
  std::array<char, 320> text{};
  (void)std::snprintf(text.data(), text.size(),
                      "%.1f %% of the oracle's tokens, %.2f million; %zu routes; layers of a node "
                      "changed %zu times, %zu of them not by its own coming, going or resting, of "
                      "one node at most %zu in an hour; down for %.2f h; the emptiest battery at "
                      "work %.2f %%",
                      100 * share(), tokens * 1e-6, static_cast<std::size_t>(epochs),
                      static_cast<std::size_t>(changes), static_cast<std::size_t>(moves),
                      static_cast<std::size_t>(moves_hour_max), down_hours, 100 * battery_least);
  return text.data();
}

WeekResult RunWeek(const WeekOptions& options) { return Week(options).Run(); }

}  // namespace shoal::sim
