#include "train/cluster/chief.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "train/cluster/record_bits.h"
#include "train/cluster/revision.h"
#include "train/cluster/step_report.h"
#include "wire/enrol.h"

namespace shoal::train {
namespace {

// Everybody gets everybody's address. More than a name and a port take.
constexpr std::size_t kAddressBytesMax = 300;
// Everybody gets it in the round after a SYNC, too.
constexpr std::size_t kNoteBytesMax = std::size_t{128} << 10U;

// Updates that everybody makes in a step.
std::int64_t IterationsOfStep(const wire::pb::TrainJob& job) {
  if (job.mode() == wire::pb::TrainJob::SYNC) return 1;
  return static_cast<std::int64_t>(std::max<std::uint64_t>(job.period(), 1));
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
      crew_(options_.shape, options_.local_minute),
      dealer_(options_.pool, options_.job),
      workers_first_(options_.workers_first),
      links_(seams.clock, crew_,
             {.new_epoch = [this] { return runner_.NewEpoch(); },
              .send = [this](NodeId node, const auto& message) { Send(node, message); },
              .on_end = [this](const std::string& line) { OnLinks(line); },
              .on_late = [this] { Next(); }}),
      planner_(links_.links(), crew_, options_.reduce,
               [this](const std::string& line) { Say(line); }),
      runner_(seams, items_.id(), crew_, keeper, planner_, *this),
      iteration_(keeper.iteration()),
      begin_(seams.clock.Now()) {
  seams_.network.Attach(this);
}

Chief::~Chief() { seams_.network.Attach(nullptr); }

// --- Who is there.

void Chief::OnPeerUp(NodeId peer) { runner_.OnPeerUp(peer); }

void Chief::OnPeerDown(NodeId peer, const Status& why) {
  items_.Forget(peer);
  dealer_.Forget(peer);
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
      return runner_.OnSums(from, std::move(frame));
    case Traffic::kBulk:
      return;
  }
}

void Chief::OnWritable(NodeId peer, Traffic traffic) {
  if (traffic == Traffic::kActivations) return runner_.OnWritable(peer);
  if (traffic != Traffic::kBulk) return;
  if (const Status status = items_.OnWritable(peer); !status.ok()) End(status);
}

void Chief::OnControl(NodeId from, const Frame& frame) {
  const Result<wire::pb::ToHead> message = wire::DecodeToHead(frame);
  if (!message.ok()) return;
  if (message->has_hello()) {
    Leave(from);
    dealer_.Forget(from);
    links_.Arrive(from, message->hello().address());
    crew_.Add(from, message->hello());
    if (const std::size_t size = message->hello().address().size(); size > kAddressBytesMax) {
      return OnUnfit(from, fmt::format("says an address of {} bytes", size));
    }
    if (const std::uint32_t revision = message->hello().training(); revision != kTrainingRevision) {
      return OnUnfit(from, fmt::format("has a program that trains in another way ({}, here {}): "
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
  if (message->has_telemetry()) {
    crew_.OnTelemetry(from, message->telemetry(), seams_.clock.Now());
    return Next();  // It may be the first that can work again.
  }
  if (message->has_train()) OnTrain(from, message->train());
}

void Chief::OnTrain(NodeId from, const wire::pb::TrainToHead& message) {
  if (crew_.Find(from)->state == Mate::State::kUnfit) return;
  if (message.has_ready()) return OnReady(from, message.ready());
  if (message.has_done()) return runner_.OnDone(from, message.done());
  if (message.has_trouble()) return OnTrouble(from, message.trouble());
  if (message.has_tried()) {
    if (links_.OnTried(from, message.tried())) Next();
    return;
  }
  if (!message.has_ask()) return;
  const Status status = items_.OnAsk(from, message.ask());
  if (status.ok()) return;
  if (status.code() == Code::kInvalidArgument) return OnUnfit(from, std::string(status.message()));
  End(status);  // The data set cannot be read.
}

void Chief::OnReady(NodeId from, const wire::pb::TrainReady& ready) {
  if (ready.job() != items_.id() || crew_.Find(from)->state != Mate::State::kComing) return;
  if (!ready.problem().empty()) return OnUnfit(from, Shown(ready.problem()));
  const Status status = crew_.OnReady(from, ready);
  if (!status.ok()) return OnUnfit(from, std::string(status.message()));
  dealer_.Note(from, ReadRecordBits(ready.records()));
  Say(fmt::format("{} is ready", crew_.NameOf(from)));
  Next();
}

// --- Who leaves.

void Chief::Leave(NodeId node) {
  Mate* mate = crew_.Find(node);
  if (mate != nullptr && mate->state == Mate::State::kInStep) mate->state = Mate::State::kReady;
  links_.Leave(node);
  dealer_.GiveBack(runner_.Leave(node));
}

void Chief::OnTrouble(NodeId from, const wire::pb::TrainTrouble& trouble) {
  const std::string text = Shown(trouble.text());
  if (trouble.peer() != 0) return runner_.OnTrouble(from, trouble, text);
  // It could not do what it was told. If it only missed something, it gets all of it anew.
  if (text != "is not in step with the others") return OnUnfit(from, text);
  Say(fmt::format("{} {}", crew_.NameOf(from), text));
  Leave(from);
  Next();
}

void Chief::OnUnfit(NodeId node, const std::string& why) {
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

void Chief::OnBlamed(const std::vector<NodeId>& nodes, const std::string& why) {
  for (const NodeId node : nodes) {
    Leave(node);
    const Duration ban = crew_.Ban(node, seams_.clock.Now());
    Say(fmt::format("{} {}: it stays away for {:.0f} s", crew_.NameOf(node), why, ToSeconds(ban)));
    seams_.clock.CallAfter(ban, [this, alive = std::weak_ptr<int>(alive_)] {
      if (!alive.expired()) Next();
    });
  }
  Next();
}

// --- Which round comes next.

bool Chief::MayBegin() const {
  const auto ready = crew_.In(Mate::State::kReady).size() + crew_.In(Mate::State::kInStep).size();
  return rounds_ > 0 || ready >= workers_first_;
}

void Chief::Next() {
  if (over_ || runner_.round() != nullptr) return;
  const std::vector<NodeId> in_step = crew_.In(Mate::State::kInStep);
  if (in_step.empty()) {
    // Only the keeper has the weights. While it reads them they are not to be sent; its `done`
    // comes back here.
    if (keeper_busy_) return;
    if (iteration_ != keeper_.iteration()) Rollback();
    if (iteration_ >= options_.stop || stopping_) return End({});
  }
  if (!MayBegin()) return;
  if (links_.under_way() && links_.Continue()) return;
  const std::int64_t iterations = IterationsOfStep(options_.job);
  const std::int64_t parts = iterations * dealer_.unit();
  auto dealt =
      crew_.Deal(static_cast<std::int64_t>(options_.job.batch()) / parts, seams_.clock.Now());
  if (!dealt.ok() && dealt.status().code() != Code::kUnavailable) return End(dealt.status());
  // Nobody may be able to work now. Who is in step still has the weights, which may be wanted.
  const bool all_rest = !dealt.ok();
  const bool some_are_here = !in_step.empty() || !crew_.In(Mate::State::kReady).empty();
  if (all_rest && some_are_here && !std::exchange(told_of_rest_, true)) {
    Say("all devices rest or are left out (battery, heat, hours, conduct): training waits for one");
  }
  if (!all_rest && std::exchange(told_of_rest_, false)) Say("training goes on");
  std::map<NodeId, std::int64_t> shares;
  if (!all_rest) shares = *std::move(dealt);
  // Who makes several updates in a step needs something for each.
  for (auto& [node, samples] : shares) samples *= iterations;
  std::vector<NodeId> newcomers;
  for (const NodeId node : crew_.In(Mate::State::kReady)) {
    const auto share = shares.find(node);
    if (share != shares.end() && share->second > 0) newcomers.push_back(node);
  }
  if (in_step.empty()) {
    if (all_rest || MeasureLinks(newcomers)) return;
    return BeginSync(std::nullopt, newcomers, false);
  }
  const bool last = iteration_ >= options_.stop || stopping_;
  const bool keep = iteration_ != keeper_.iteration() && (last || keeper_.WantsState(iteration_));
  if (keep && keeper_busy_) return;  // Its `done` comes back here.
  if (keep && averaged_ != iteration_) return BeginAverage();
  if (!newcomers.empty() && !last) {
    std::vector<NodeId> all = in_step;
    all.insert(all.end(), newcomers.begin(), newcomers.end());
    if (MeasureLinks(std::move(all))) return;
  }
  if (keep || (!newcomers.empty() && !last)) return BeginSync(in_step.front(), newcomers, keep);
  if (last) return keeper_busy_ ? void() : End({});
  if (!all_rest) BeginStep(shares);
}

bool Chief::MeasureLinks(std::vector<NodeId> nodes) {
  return options_.reduce.measure_links && links_.Begin(std::move(nodes));
}

void Chief::OnLinks(const std::string& line) {
  planner_.Forget();
  Say(line);
}

void Chief::Call(ChiefRound round) {
  round.number = ++rounds_;
  round.iteration = iteration_;
  round.before = committed_;
  runner_.Call(std::move(round));
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
  SampleDealer::Step step = dealer_.Deal(counts, round.group);
  round.samples = std::move(step.samples);
  round.next = std::move(step.next);
  Call(std::move(round));
}

// --- What a round that is done means.

void Chief::OnRoundDone() {
  const ChiefRound& round = *runner_.round();
  if (const Status status = CheckNote(round); !status.ok()) {
    // The others get the weights of somebody else.
    return OnUnfit(round.group.front(), std::string(status.message()));
  }
  committed_ = {.round = round.number, .loss = 0, .note = {}};
  switch (round.kind) {
    case wire::pb::TrainRound::STEP:
      CommitStep();
      break;
    case wire::pb::TrainRound::AVERAGE:
      averaged_ = iteration_;
      break;
    default:
      CommitSync();
  }
  runner_.Close();
  Next();
}

Status Chief::CheckNote(const ChiefRound& round) const {
  if (round.kind != wire::pb::TrainRound::SYNC) return {};
  const NodeId donor = round.group.front();
  if (donor == seams_.network.self()) return {};
  const std::string& note = round.done.at(donor).note();
  if (note.size() > kNoteBytesMax) {
    return {Code::kInvalidArgument, fmt::format("says {} bytes of its weights", note.size())};
  }
  return keeper_.CheckNote(iteration_, note);
}

void Chief::CommitStep() {
  ChiefRound& round = *runner_.round();
  iteration_ += IterationsOfStep(options_.job);
  CommittedStep step = ReportStep(round, crew_,
                                  {.step = iteration_,
                                   .begin = ToSeconds(round.begin - begin_),
                                   .seconds = ToSeconds(seams_.clock.Now() - round.begin),
                                   .epoch = runner_.epoch(),
                                   .workers = {}});
  for (const auto& [node, done] : round.done) {
    const std::vector<Sample>& samples = round.samples.at(node);
    dealer_.Commit(samples);
    crew_.Find(node)->speed.Add(BusySeconds(done), static_cast<std::int64_t>(samples.size()));
  }
  committed_.loss = step.loss;
  step.samples = std::move(round.samples);
  if (const Status status = keeper_.OnStep(step); !status.ok()) End(status);
}

void Chief::CommitSync() {
  ChiefRound& round = *runner_.round();
  const NodeId donor = round.group.front();
  const NodeId self = seams_.network.self();
  committed_.note = donor == self ? keeper_.note() : round.done[donor].note();
  bool kept = false;
  for (const NodeId node : round.group) {
    if (node == self && node != donor) kept = true;
    if (Mate* mate = crew_.Find(node)) mate->state = Mate::State::kInStep;
  }
  if (!kept) return;
  keeper_busy_ = true;
  keeper_.Adopt(iteration_, committed_.note, dealer_.Keep(),
                [this, alive = std::weak_ptr<int>(alive_)](const Status& status) {
                  if (alive.expired()) return;
                  if (!status.ok()) return End(status);
                  // Not from inside of Adopt: the round is not over there.
                  seams_.clock.CallAfter(Duration(0), [this, alive] {
                    if (alive.expired()) return;
                    keeper_busy_ = false;
                    Next();
                  });
                });
}

void Chief::Rollback() {
  Say(fmt::format("nobody who has the weights is left: from iteration {} on again",
                  keeper_.iteration()));
  iteration_ = keeper_.iteration();
  dealer_.Rollback();
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
  message.set_over(committed_.round);
  for (const auto& [node, mate] : crew_.mates()) Send(node, message);
}

void Chief::Send(NodeId node, const wire::pb::TrainToNode& message) {
  wire::pb::ToNode out;
  *out.mutable_train() = message;
  // One that is gone is told of by OnPeerDown. What is too large will never leave.
  const Status sent = seams_.network.Send(node, Traffic::kControl, wire::Encode(out));
  if (sent.code() != Code::kInvalidArgument) return;
  End({Code::kResourceExhausted,
       fmt::format("{} cannot be told what to do: {}", crew_.NameOf(node), sent.message())});
}

}  // namespace shoal::train
