#include "train/cluster/chief.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "train/cluster/link_of_echoes.h"
#include "train/cluster/revision.h"
#include "train/cluster/sample_runs.h"
#include "wire/enrol.h"

namespace shoal::train {
namespace {

using Kind = wire::pb::TrainRound::Kind;

// Two nodes that keep losing each other while both are in touch with the head: after so many tries
// the one that is accused most has to stay away for a while.
constexpr std::size_t kTriesMax = 4;
constexpr Duration kBan = std::chrono::seconds(30);
// A training must not begin noticeably later for what it gains from knowing its links.
constexpr Duration kSurveyMax = std::chrono::milliseconds(800);
// An echo of one number and one of 64 KiB, which takes 50 ms each way at 10 Mb/s; thrice, for what
// disturbs one.
constexpr std::array<std::uint64_t, 6> kEchoElements = {1, 1, 1, 16 << 10U, 16 << 10U, 16 << 10U};
// More than the largest network has at the smallest size that makes sense.
constexpr int kBucketsMax = 1 << 16;
constexpr unsigned kBanDoublesMax = 4;
// Who sends nonsense is to blame more than who gets it.
constexpr std::size_t kNonsense = 3;
// For how long a SYNC may stand still, and how long a node has to say that it waits, too.
constexpr Duration kPatience = std::chrono::seconds(60);
constexpr Duration kGrace = std::chrono::seconds(5);
constexpr Duration kWatchInterval = std::chrono::seconds(15);

Interval ReadInterval(const wire::pb::TrainInterval& interval) {
  return {interval.begin(), interval.end()};
}

WorkerStep ReadTimes(NodeId node, std::size_t samples, const wire::pb::TrainDone& done) {
  WorkerStep step{.node = node,
                  .samples = static_cast<std::int64_t>(samples),
                  .load = ReadInterval(done.load()),
                  .compute = {},
                  .buckets = {},
                  .end = done.end()};
  for (const auto& part : done.compute()) step.compute.push_back(ReadInterval(part));
  for (const auto& bucket : done.buckets()) step.buckets.push_back(ReadInterval(bucket));
  return step;
}

// What a node says is shown if it can be.
std::string Shown(const std::string& text) {
  return wire::IsPlainText(text) ? text : "says something that is no text";
}

}  // namespace

Chief::Chief(const Seams& seams, ChiefOptions options, Keeper& keeper, ReadRecord read)
    : seams_(seams),
      options_(std::move(options)),
      keeper_(keeper),
      items_(seams.network, options_.job.SerializeAsString(),
             static_cast<std::int64_t>(options_.job.records()), std::move(read)),
      pool_(options_.pool),
      holders_(static_cast<std::int64_t>(options_.job.records())),
      workers_first_(options_.workers_first),
      // Sums of an earlier head's epochs may still be on their way between workers.
      epoch_(seams.random.Bits() >> 33U << 32U),
      iteration_(keeper.iteration()),
      kept_pool_(pool_),
      begin_(seams.clock.Now()) {
  seams_.network.Attach(this);
  Watch();
}

Chief::~Chief() { seams_.network.Attach(nullptr); }

// --- Who is there.

void Chief::OnPeerUp(NodeId peer) {
  if (group_ != nullptr) group_->OnPeerUp(peer);
}

void Chief::OnPeerDown(NodeId peer, const Status& why) {
  items_.Forget(peer);
  holders_.Forget(peer);
  if (over_ || crew_.Find(peer) == nullptr) return;
  Say(fmt::format("{} is gone: {}", crew_.NameOf(peer), why.message()));
  Leave(peer);
  crew_.Remove(peer);
  Next();
}

void Chief::OnFrame(NodeId from, Traffic traffic, Frame frame) {
  if (over_) return;
  switch (traffic) {
    case Traffic::kControl:
      return OnControl(from, frame);
    case Traffic::kActivations:
      if (group_ != nullptr && collective::FrameEpoch(frame) == group_->epoch()) {
        const Status status = group_->OnFrame(from, std::move(frame));
        if (status.ok()) heard_ = seams_.clock.Now();
        if (!status.ok() && round_->nodes.contains(from)) Refuse(from, status.ToString());
      }
      return;
    case Traffic::kBulk:
      return;
  }
}

void Chief::OnWritable(NodeId peer, Traffic traffic) {
  if (traffic == Traffic::kActivations && group_ != nullptr) {
    heard_ = seams_.clock.Now();
    group_->OnWritable(peer);
  }
  if (traffic != Traffic::kBulk) return;
  if (const Status status = items_.OnWritable(peer); !status.ok()) End(status);
}

void Chief::OnControl(NodeId from, const Frame& frame) {
  const Result<wire::pb::ToHead> message = wire::DecodeToHead(frame);
  if (!message.ok()) return;
  if (message->has_hello()) {
    Leave(from);
    holders_.Forget(from);
    links_.Arrive(from, message->hello().address());
    crew_.Add(from, message->hello());
    if (const std::uint32_t revision = message->hello().training(); revision != kTrainingRevision) {
      return Refuse(from, fmt::format("has a program that trains in another way ({}, here {}): "
                                      "update one of the two",
                                      revision, kTrainingRevision));
    }
    wire::pb::TrainToNode offer;
    offer.mutable_offer()->set_job(items_.id());
    Send(from, offer);
    return Next();
  }
  if (message->body_case() == wire::pb::ToHead::kPing) {
    wire::pb::ToNode pong;
    pong.set_pong(message->ping());
    (void)seams_.network.Send(from, Traffic::kControl, wire::Encode(pong)).ok();
    return;
  }
  if (crew_.Find(from) == nullptr) return;
  if (message->has_telemetry()) return crew_.OnTelemetry(from, message->telemetry());
  if (message->has_train()) OnTrain(from, message->train());
}

void Chief::OnTrain(NodeId from, const wire::pb::TrainToHead& message) {
  if (crew_.Find(from)->state == Mate::State::kUnfit) return;
  if (message.has_ready()) return OnReady(from, message.ready());
  if (message.has_done()) return OnDone(from, message.done());
  if (message.has_trouble()) return OnTrouble(from, message.trouble());
  if (message.has_tried()) return OnTried(from, message.tried());
  if (!message.has_ask()) return;
  const Status status = items_.OnAsk(from, message.ask());
  if (status.ok()) return;
  if (status.code() == Code::kInvalidArgument) return Refuse(from, std::string(status.message()));
  End(status);  // The data set cannot be read.
}

void Chief::OnReady(NodeId from, const wire::pb::TrainReady& ready) {
  Mate& mate = *crew_.Find(from);
  if (ready.job() != items_.id() || mate.state != Mate::State::kComing) return;
  if (!ready.problem().empty()) return Refuse(from, Shown(ready.problem()));
  if (ready.buckets_size() > kBucketsMax) return Refuse(from, "has too many buckets");
  if (!shape_) {
    shape_ = ready.shape();
    buckets_.assign(ready.buckets().begin(), ready.buckets().end());
  }
  if (ready.shape() != *shape_) {
    return Refuse(from, "has built another network than the others: is it another version?");
  }
  mate.state = Mate::State::kReady;
  mate.samples_max = static_cast<std::int64_t>(
      std::min<std::uint64_t>(ready.samples_max(), std::uint64_t{1} << 30U));
  Say(fmt::format("{} is ready", crew_.NameOf(from)));
  Next();
}

void Chief::Refuse(NodeId node, const std::string& why) {
  Say(fmt::format("{} {}", crew_.NameOf(node), why));
  Leave(node);
  Mate& mate = *crew_.Find(node);
  mate.state = Mate::State::kUnfit;
  mate.problem = why;
  const auto& mates = crew_.mates();
  if (options_.nobody_else && rounds_ == 0) {
    return End({Code::kInvalidArgument, fmt::format("{} {}", crew_.NameOf(node), why)});
  }
  // What nobody can do will not be done by waiting.
  if (std::all_of(mates.begin(), mates.end(),
                  [](const auto& m) { return m.second.state == Mate::State::kUnfit; }) &&
      mates.size() >= workers_first_) {
    return End({Code::kUnavailable, fmt::format("{} {}", crew_.NameOf(node), why)});
  }
  Next();
}

// --- Links.

bool Chief::BeginSurvey(std::vector<NodeId> nodes) {
  if (!options_.reduce.measure_links) return false;
  std::sort(nodes.begin(), nodes.end());
  survey_.emplace(nodes, links_);
  if (survey_->over()) {
    survey_.reset();
    return false;
  }
  survey_nodes_ = std::move(nodes);
  survey_begin_ = seams_.clock.Now();
  seams_.clock.CallAfter(kSurveyMax,
                         [this, alive = std::weak_ptr<int>(alive_), begin = survey_begin_] {
                           if (alive.expired() || !survey_ || survey_begin_ != begin) return;
                           EndSurvey();
                           Next();
                         });
  ContinueSurvey();
  return true;
}

void Chief::ContinueSurvey() {
  for (const LinkSurvey::Pair& pair : survey_->TakeFree()) {
    trials_[++epoch_] = pair;
    wire::pb::TrainToNode message;
    wire::pb::TrainTrial& trial = *message.mutable_trial();
    trial.set_kind(wire::pb::TrainTrial::ECHO);
    trial.mutable_elements()->Add(kEchoElements.begin(), kEchoElements.end());
    wire::pb::TrainGroup& group = *trial.mutable_group();
    group.set_epoch(epoch_);
    group.set_pieces_ahead(1);
    for (const NodeId node : {pair.first, pair.second}) {
      wire::pb::TrainMember& member = *group.add_members();
      member.set_node(ToNumber(node));
      member.set_address(crew_.Find(node)->address);
    }
    Send(pair.first, message);
    Send(pair.second, message);
  }
}

void Chief::OnTried(NodeId from, const wire::pb::TrainTried& tried) {
  const auto trial = trials_.find(tried.epoch());
  if (!survey_ || trial == trials_.end()) return;
  const LinkSurvey::Pair pair = trial->second;
  if (from != pair.first && from != pair.second) return;
  if (tried.problem().empty() && from != pair.first) return;  // Only the first knows the time.
  const std::vector<double> seconds(tried.seconds().begin(), tried.seconds().end());
  const auto link = LinkOfEchoes(kEchoElements, seconds);
  links_.Set(pair.first, pair.second, link.ok() ? std::optional(*link) : std::nullopt);
  trials_.erase(trial);
  survey_->Done(pair);
  Next();
}

void Chief::EndSurvey() {
  for (const LinkSurvey::Pair& pair : survey_->Rest()) {
    links_.Set(pair.first, pair.second, std::nullopt);  // Once is enough.
  }
  survey_.reset();
  trials_.clear();
  plan_.reset();
  Say(fmt::format(
      "{}, measured in {:.2f} s",
      DescribeLinks(links_, survey_nodes_, [this](NodeId node) { return crew_.NameOf(node); }),
      ToSeconds(seams_.clock.Now() - survey_begin_)));
}

// --- Rounds.

std::int64_t Chief::IterationsOfStep() const {
  const wire::pb::TrainJob& job = options_.job;
  if (job.mode() == wire::pb::TrainJob::SYNC) return 1;
  return static_cast<std::int64_t>(std::max<std::uint64_t>(job.period(), 1));
}

bool Chief::Begin() {
  const auto ready = crew_.In(Mate::State::kReady).size() + crew_.In(Mate::State::kInStep).size();
  return rounds_ > 0 || ready >= workers_first_;
}

void Chief::Next() {
  if (over_ || round_ || !Begin()) return;
  if (survey_) {
    ContinueSurvey();
    if (!survey_->over()) return;
    EndSurvey();
  }
  const std::int64_t parts = IterationsOfStep() * unit();
  auto shares =
      crew_.Deal(static_cast<std::int64_t>(options_.job.batch()) / parts, seams_.clock.Now());
  if (!shares.ok()) {
    if (shares.status().code() != Code::kUnavailable) End(shares.status());
    return;  // Nobody can work now; somebody will come.
  }
  // Who makes several updates in a step needs something for each.
  for (auto& [node, samples] : *shares) samples *= IterationsOfStep();
  std::vector<NodeId> newcomers;
  std::vector<NodeId> in_step;
  for (const auto& [node, mate] : crew_.mates()) {
    if (mate.state == Mate::State::kInStep) in_step.push_back(node);
    const auto share = shares->find(node);
    const bool works = share != shares->end() && share->second > 0;
    if (mate.state == Mate::State::kReady && works) newcomers.push_back(node);
  }
  if (in_step.empty()) {
    if (iteration_ != keeper_.iteration()) Rollback();
    if (iteration_ >= options_.stop || stopping_) return keeper_busy_ ? void() : End({});
    if (BeginSurvey(newcomers)) return;
    return BeginSync(std::nullopt, newcomers, false);
  }
  const bool last = iteration_ >= options_.stop || stopping_;
  const bool keep = iteration_ != keeper_.iteration() && (last || keeper_.WantsState(iteration_));
  if (keep && keeper_busy_) return;  // Its `done` comes back here.
  if (keep && averaged_ != iteration_) return BeginAverage();
  if (!newcomers.empty() && !last) {
    std::vector<NodeId> all = in_step;
    all.insert(all.end(), newcomers.begin(), newcomers.end());
    if (BeginSurvey(std::move(all))) return;
  }
  if (keep || (!newcomers.empty() && !last)) return BeginSync(in_step.front(), newcomers, keep);
  if (last) return keeper_busy_ ? void() : End({});
  BeginStep(*shares);
}

void Chief::Call(ChiefRound round) {
  round.number = ++rounds_;
  round.begin = seams_.clock.Now();
  round_ = std::move(round);
  Tell();
}

void Chief::BeginSync(std::optional<NodeId> donor, std::vector<NodeId> receivers, bool keeper) {
  ChiefRound round{.kind = wire::pb::TrainRound::SYNC};
  const std::vector<NodeId> in_step = crew_.In(Mate::State::kInStep);
  round.nodes.insert(in_step.begin(), in_step.end());
  round.nodes.insert(receivers.begin(), receivers.end());
  round.group.push_back(donor ? *donor : seams_.network.self());
  if (keeper) round.group.push_back(seams_.network.self());
  round.group.insert(round.group.end(), receivers.begin(), receivers.end());
  Call(std::move(round));
}

void Chief::BeginAverage() {
  ChiefRound round{.kind = wire::pb::TrainRound::AVERAGE};
  round.group = crew_.In(Mate::State::kInStep);
  round.nodes.insert(round.group.begin(), round.group.end());
  Call(std::move(round));
}

void Chief::BeginStep(const std::map<NodeId, std::int64_t>& shares) {
  ChiefRound round{.kind = wire::pb::TrainRound::STEP};
  std::vector<std::int64_t> counts;
  for (auto& [node, mate] : crew_.mates()) {
    if (mate.state != Mate::State::kInStep) continue;
    const auto share = shares.find(node);
    if (share == shares.end() || share->second == 0) {
      mate.state = Mate::State::kReady;  // It rests, and falls out of step.
      continue;
    }
    counts.push_back(share->second);
    round.nodes.insert(node);
    round.group.push_back(node);
  }
  const auto batch = static_cast<std::size_t>(options_.job.batch());
  round.samples = DealOut(pool_.Take(batch), counts, round.group);
  SamplePool ahead = pool_;
  round.next = DealOut(ahead.Take(batch), counts, round.group);
  Call(std::move(round));
}

std::map<NodeId, std::vector<Sample>> Chief::DealOut(const std::vector<Sample>& samples,
                                                     const std::vector<std::int64_t>& shares,
                                                     const std::vector<NodeId>& nodes) {
  std::map<NodeId, std::vector<Sample>> dealt;
  std::vector<std::vector<Sample>> parts =
      holders_.Deal(samples, static_cast<std::size_t>(unit()), shares, nodes);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::vector<std::int64_t> indices;
    for (const Sample& sample : parts[i]) indices.push_back(sample.index);
    holders_.Note(nodes[i], indices);
    dealt[nodes[i]] = std::move(parts[i]);
  }
  return dealt;
}

void Chief::Tell() {
  ++epoch_;
  ++round_->tries;
  round_->done.clear();
  round_->waiting.clear();
  heard_ = seams_.clock.Now();
  group_.reset();
  JoinSync();
  wire::pb::TrainToNode message;
  wire::pb::TrainRound& out = *message.mutable_round();
  out.set_job(items_.id());
  out.set_round(round_->number);
  out.set_committed(committed_);
  out.set_committed_loss(committed_loss_);
  out.set_committed_note(committed_note_);
  out.set_kind(round_->kind);
  out.set_step(static_cast<std::uint64_t>(iteration_));
  WriteGroup(*out.mutable_group());
  const auto all = static_cast<double>(std::max<std::size_t>(round_->Samples(), 1));
  for (const NodeId node : round_->nodes) {
    out.clear_samples();
    out.clear_next();
    out.set_weight(1 / static_cast<double>(round_->group.size()));
    if (round_->kind == wire::pb::TrainRound::STEP) {
      out.set_weight(static_cast<double>(round_->samples[node].size()) / all);
      out.set_samples_in_all(round_->Samples());
      WriteSamples(round_->samples[node], *out.mutable_samples());
      WriteSamples(round_->next[node], *out.mutable_next());
    }
    Send(node, message);
  }
}

const ReducePlan& Chief::PlanOf(std::vector<NodeId> members) {
  std::sort(members.begin(), members.end());
  std::vector<NodeId> planned = plan_ ? plan_->members : std::vector<NodeId>();
  std::sort(planned.begin(), planned.end());
  if (plan_ && planned == members) return *plan_;
  plan_ = PlanReduction(links_, members, buckets_, options_.reduce);
  std::string line =
      DescribePlan(*plan_, buckets_, [this](NodeId node) { return crew_.NameOf(node); });
  if (options_.reduce.measure_links && members.size() > 1 && line != plan_line_) Say(line);
  plan_line_ = std::move(line);
  return *plan_;
}

void Chief::WriteGroup(wire::pb::TrainGroup& out) {
  const ReduceWish& wish = options_.reduce;
  out.set_epoch(epoch_);
  out.set_algorithm(
      static_cast<std::uint32_t>(wish.algorithm.value_or(collective::Algorithm::kRing)));
  out.set_piece_elements(wish.pieces.elements);
  out.set_pieces_ahead(wish.pieces.ahead);
  out.set_wire(static_cast<std::uint32_t>(wish.wire));
  if (round_->kind == wire::pb::TrainRound::STEP) {
    const ReducePlan& plan = PlanOf(round_->group);
    round_->group = plan.members;
    for (const auto& ranks : plan.switches) {
      out.add_switches()->mutable_ranks()->Add(ranks.begin(), ranks.end());
    }
    for (const ReduceWay& way : plan.ways) WriteWay(way, out);
  }
  for (const NodeId node : round_->group) {
    wire::pb::TrainMember& member = *out.add_members();
    member.set_node(ToNumber(node));
    if (const Mate* mate = crew_.Find(node)) member.set_address(mate->address);
  }
}

// The head's own part: from its keeper to the newcomers, or from a worker to its keeper.
void Chief::JoinSync() {
  const NodeId self = seams_.network.self();
  const auto place = std::find(round_->group.begin(), round_->group.end(), self);
  round_->head_done = place == round_->group.end();
  if (round_->head_done) return;
  const bool donor = place == round_->group.begin();
  group_ = std::make_unique<collective::Communicator>(
      seams_.clock, seams_.network,
      collective::Group{.epoch = epoch_,
                        .members = round_->group,
                        .rank = static_cast<std::size_t>(place - round_->group.begin())});
  for (const auto& [node, mate] : crew_.mates()) group_->OnPeerUp(node);
  const std::vector<std::span<float>> parts = donor ? keeper_.state() : keeper_.incoming();
  auto left = std::make_shared<std::size_t>(parts.size());
  for (const std::span<float> part : parts) {
    group_->Broadcast(part, 0, [this, left, epoch = epoch_](const Status& status) {
      if (!round_ || epoch != epoch_) return;
      if (!status.ok()) {
        const std::optional<NodeId> peer = group_->misfit();
        return peer && crew_.Find(*peer) != nullptr ? Refuse(*peer, status.ToString())
                                                    : End(status);
      }
      if (--*left > 0) return;
      round_->head_done = true;
      MaybeCommit();
    });
  }
}

void Chief::Watch() {
  seams_.clock.CallAfter(kWatchInterval, [this, alive = std::weak_ptr<int>(alive_)] {
    if (alive.expired() || over_) return;
    if (IsWaiting()) OnWaiting(seams_.network.self());
    Watch();
  });
}

// Its own part does not go on, or somebody who works together with others has all of it and these
// have not.
bool Chief::IsWaiting() const {
  if (!round_ || seams_.clock.Now() - heard_ < kPatience) return false;
  return !round_->head_done ||
         std::any_of(round_->group.begin(), round_->group.end(), [&](NodeId node) {
           return node == seams_.network.self() || round_->done.contains(node);
         });
}

void Chief::OnWaiting(NodeId from) {
  round_->waiting.insert(from);
  seams_.clock.CallAfter(kGrace, [this, alive = std::weak_ptr<int>(alive_), epoch = epoch_] {
    if (!alive.expired() && !over_ && round_ && epoch == epoch_) LeaveSlow();
  });
}

void Chief::LeaveSlow() {
  std::vector<NodeId> slow;
  for (const NodeId node : round_->nodes) {
    if (!round_->done.contains(node) && !round_->waiting.contains(node)) slow.push_back(node);
  }
  if (slow.empty()) return Tell();  // They wait for each other: once more.
  // What one of many says may be wrong.
  const bool sure = round_->waiting.contains(seams_.network.self());
  if (!sure && 2 * slow.size() > round_->nodes.size()) return;
  for (const NodeId node : slow) Ban(node, "keeps the others waiting");
  Next();
}

void Chief::Ban(NodeId node, const std::string& why) {
  Leave(node);
  Conduct& conduct = crew_.ConductOf(node);
  const Duration ban = kBan * (1U << std::min(conduct.bans++, kBanDoublesMax));
  Say(fmt::format("{} {}: it stays away for {:.0f} s", crew_.NameOf(node), why, ToSeconds(ban)));
  conduct.banned_until = seams_.clock.Now() + ban;
  seams_.clock.CallAfter(ban, [this, alive = std::weak_ptr<int>(alive_)] {
    if (!alive.expired()) Next();
  });
}

void Chief::OnDone(NodeId from, const wire::pb::TrainDone& done) {
  if (!round_ || done.round() != round_->number || done.epoch() != epoch_) return;
  if (!round_->nodes.contains(from)) return;
  round_->done[from] = done;
  heard_ = seams_.clock.Now();
  MaybeCommit();
}

void Chief::OnTrouble(NodeId from, const wire::pb::TrainTrouble& trouble) {
  const std::string text = Shown(trouble.text());
  if (trouble.peer() == 0) {
    // It could not do what it was told. If it only missed something, it gets all of it anew.
    if (text == "is not in step with the others") {
      Say(fmt::format("{} {}", crew_.NameOf(from), text));
      Leave(from);
      return Next();
    }
    return Refuse(from, text);
  }
  if (!round_ || trouble.epoch() != epoch_ || !round_->nodes.contains(from)) return;
  const NodeId peer{trouble.peer()};
  if (peer == from) return OnWaiting(from);
  if (crew_.Find(peer) == nullptr) return;  // An epoch without it has begun.
  Say(fmt::format("{} {}; once more", crew_.NameOf(from), text));
  round_->accused[peer] += trouble.nonsense() ? kNonsense : 1;
  ++round_->accused[from];
  crew_.ConductOf(peer).quarrels.insert(from);
  crew_.ConductOf(from).quarrels.insert(peer);
  if (round_->tries < kTriesMax) return Tell();
  // Who is at odds with many is to blame, not those who are with it.
  const auto blame = [&](const auto& entry) {
    return std::pair(crew_.ConductOf(entry.first).quarrels.size(), entry.second);
  };
  const auto worst =
      std::max_element(round_->accused.begin(), round_->accused.end(),
                       [&](const auto& a, const auto& b) { return blame(a) < blame(b); });
  const NodeId out = worst->first;
  round_->accused.erase(worst);
  Ban(out, "and the others cannot work together");
  Next();
}

void Chief::Leave(NodeId node) {
  Mate* mate = crew_.Find(node);
  if (mate != nullptr && mate->state == Mate::State::kInStep) mate->state = Mate::State::kReady;
  if (survey_) survey_->Leave(node);
  if (!round_ || !round_->nodes.contains(node)) return;
  round_->nodes.erase(node);
  round_->done.erase(node);
  const auto place = std::find(round_->group.begin(), round_->group.end(), node);
  const bool donor = round_->kind == wire::pb::TrainRound::SYNC && place == round_->group.begin();
  if (place != round_->group.end()) round_->group.erase(place);
  if (const auto samples = round_->samples.find(node); samples != round_->samples.end()) {
    pool_.GiveBack(samples->second);
    round_->samples.erase(samples);
  }
  if (donor) {
    const std::vector<NodeId> in_step = crew_.In(Mate::State::kInStep);
    if (in_step.empty()) {
      round_->nodes.clear();  // Nobody has the weights: from the keeper's on.
    } else {
      round_->group.insert(round_->group.begin(), in_step.front());
    }
  }
  if (!round_->nodes.empty()) return Tell();
  group_.reset();
  round_.reset();
}

bool Chief::Agree() {
  if (round_->kind != wire::pb::TrainRound::STEP) return true;
  std::map<std::uint64_t, std::size_t> votes;
  for (const auto& [node, done] : round_->done) ++votes[done.fingerprint()];
  if (votes.size() == 1) return true;
  const auto right = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const std::uint64_t fingerprint = right->first;
  for (const auto& [node, done] : std::map(round_->done)) {
    if (done.fingerprint() == fingerprint) continue;
    Refuse(node, "has added up something else than the others: its memory may be faulty");
  }
  return false;
}

void Chief::MaybeCommit() {
  if (!round_->head_done || round_->done.size() < round_->nodes.size()) return;
  if (!Agree()) return;
  Commit();
}

void Chief::Commit() {
  committed_ = round_->number;
  committed_loss_ = 0;
  committed_note_.clear();
  switch (round_->kind) {
    case wire::pb::TrainRound::STEP:
      CommitStep();
      break;
    case wire::pb::TrainRound::AVERAGE:
      averaged_ = iteration_;
      break;
    default:
      CommitSync();
  }
  round_.reset();
  group_.reset();
  Next();
}

void Chief::CommitStep() {
  iteration_ += IterationsOfStep();
  CommittedStep step{.iteration = iteration_, .loss = 0, .samples = {}, .times = {}};
  const Instant now = seams_.clock.Now();
  step.times = {.step = iteration_,
                .begin = ToSeconds(round_->begin - begin_),
                .seconds = ToSeconds(now - round_->begin),
                .epoch = epoch_,
                .workers = {}};
  const auto all = static_cast<double>(round_->Samples());
  for (const auto& [node, done] : round_->done) {
    const std::vector<Sample>& samples = round_->samples[node];
    step.loss += done.loss() * static_cast<double>(samples.size()) / all;
    pool_.Commit(samples);
    WorkerStep& times = step.times.workers.emplace_back(ReadTimes(node, samples.size(), done));
    const Mate& mate = *crew_.Find(node);
    // It also takes power while it waits for the others.
    if (mate.watts) times.joules = *mate.watts * step.times.seconds;
    times.joules_estimated = mate.watts_estimated;
    double busy = done.load().end() - done.load().begin();
    for (const auto& part : done.compute()) busy += part.end() - part.begin();
    crew_.Find(node)->speed.Add(busy, static_cast<std::int64_t>(samples.size()));
  }
  committed_loss_ = step.loss;
  step.samples = std::move(round_->samples);
  if (const Status status = keeper_.OnStep(step); !status.ok()) End(status);
}

void Chief::CommitSync() {
  const NodeId donor = round_->group.front();
  const NodeId self = seams_.network.self();
  committed_note_ = donor == self ? keeper_.note() : round_->done[donor].note();
  bool kept = false;
  for (const NodeId node : round_->group) {
    if (node == self && node != donor) kept = true;
    if (Mate* mate = crew_.Find(node)) mate->state = Mate::State::kInStep;
  }
  if (!kept) return;
  keeper_busy_ = true;
  kept_pool_ = pool_;
  keeper_.Adopt(iteration_, committed_note_, pool_.state(),
                [this, alive = std::weak_ptr<int>(alive_)](const Status& status) {
                  if (alive.expired()) return;
                  keeper_busy_ = false;
                  if (!status.ok()) return End(status);
                  // Not from inside of Adopt: the round is not over there.
                  seams_.clock.CallAfter(Duration(0), [this, alive] {
                    if (!alive.expired()) Next();
                  });
                });
}

void Chief::Rollback() {
  Say(fmt::format("nobody who has the weights is left: from iteration {} on again",
                  keeper_.iteration()));
  iteration_ = keeper_.iteration();
  pool_ = kept_pool_;
  averaged_ = -1;
  keeper_.OnRollback();
}

// --- The end.

void Chief::Expect(std::size_t workers) {
  workers = std::max<std::size_t>(workers, 1);
  if (std::exchange(workers_first_, workers) != workers) Next();
}

void Chief::Stop() {
  stopping_ = true;
  Next();
}

void Chief::End(const Status& status) {
  if (over_) return;
  over_ = true;
  status_ = status;
  wire::pb::TrainToNode message;
  message.set_over(committed_);
  for (const auto& [node, mate] : crew_.mates()) Send(node, message);
}

void Chief::Send(NodeId node, const wire::pb::TrainToNode& message) {
  wire::pb::ToNode out;
  *out.mutable_train() = message;
  // One that is gone is told of by OnPeerDown.
  (void)seams_.network.Send(node, Traffic::kControl, wire::Encode(out)).ok();
}

}  // namespace shoal::train
