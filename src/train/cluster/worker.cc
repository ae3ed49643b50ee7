#include "train/cluster/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "train/cluster/sample_runs.h"

namespace shoal::train {
namespace {

using Kind = wire::pb::TrainRound::Kind;

// A neighbour that cannot be reached is tried again, for so long.
constexpr Duration kDialAgain = std::chrono::milliseconds(200);
constexpr Duration kDialMax = std::chrono::seconds(2);
// Nobody is that much slower than this node, whatever its share was guessed to be.
constexpr Duration kPatience = std::chrono::seconds(60);
constexpr double kPatienceSteps = 20;
constexpr Duration kWatchInterval = std::chrono::seconds(15);
// More than a data set has, and less than would overflow anything.
constexpr std::uint64_t kRecordsMax = std::uint64_t{1} << 40U;

std::vector<std::int64_t> IndicesOf(const std::vector<Sample>& samples) {
  std::vector<std::int64_t> indices;
  indices.reserve(samples.size());
  for (const Sample& sample : samples) indices.push_back(sample.index);
  return indices;
}

void Write(const Interval& interval, wire::pb::TrainInterval& out) {
  out.set_begin(interval.begin);
  out.set_end(interval.end);
}

}  // namespace

std::uint64_t ShapeOf(Learner& learner) {
  Fingerprint shape;
  for (const Bucket& bucket : learner.buckets()) {
    shape.Add(bucket.begin);
    shape.Add(bucket.end);
  }
  shape.Add(learner.statistics());
  for (const std::span<float> part : learner.state()) shape.Add(part.size());
  return shape.value();
}

Worker::Worker(const Seams& seams, WorkerOptions options, WorkerHost& host)
    : seams_(seams),
      options_(std::move(options)),
      host_(host),
      fetcher_(seams.network, options_.head) {
  Watch();
}

Worker::~Worker() = default;

// --- The job.

void Worker::OnMessage(const wire::pb::TrainToNode& message) {
  if (message.has_offer()) return OnOffer(message.offer());
  if (message.has_round()) return OnRound(message.round());
  if (message.has_trial()) return OnTrial(message.trial());
  if (message.body_case() == wire::pb::TrainToNode::kOver) {
    Drop();
    training_.reset();
    built_ = false;
    if (options_.on_over) options_.on_over();
  }
}

void Worker::OnOffer(const wire::pb::TrainOffer& offer) {
  Drop();
  fetcher_.Start(offer.job());
  if (training_ != nullptr && training_->id == offer.job()) {
    if (built_) return TellReady(training_->status);
    if (training_->cache != nullptr) return Build();
  } else {
    training_ = std::make_shared<Training>();
    training_->id = offer.job();
    built_ = false;
  }
  fetcher_.AskForJob();
}

void Worker::OnJob(const std::string& bytes) {
  wire::pb::TrainJob& job = training_->job;
  if (!job.ParseFromString(bytes) || job.records() == 0 || job.records() > kRecordsMax) {
    return TellReady({Code::kCorruption, "the head's job cannot be read: update one of the two"});
  }
  Result<std::shared_ptr<RecordCache>> cache =
      host_.OpenCache(job.data_id(), static_cast<std::int64_t>(job.records()));
  if (!cache.ok()) return TellReady(cache.status());
  training_->cache = *std::move(cache);
  Build();
}

void Worker::Build() {
  fetcher_.SetCache(training_->cache);
  const std::int64_t first = 0;
  if (!fetcher_.Want({&first, 1}).empty()) return;  // OnFrame comes back here.
  Submit(
      0, {},
      [host = &host_](Training& training) {
        auto learner = host->MakeLearner(training.job, training.cache);
        training.status = learner.status();
        if (learner.ok()) training.learner = *std::move(learner);
      },
      [this] { OnBuilt(); });
}

void Worker::OnBuilt() {
  built_ = true;
  TellReady(training_->status);
}

void Worker::TellReady(const Status& status) {
  wire::pb::TrainToHead message;
  wire::pb::TrainReady& ready = *message.mutable_ready();
  ready.set_job(training_->id);
  if (!status.ok()) {
    Say("cannot train: " + status.ToString());
    ready.set_problem(status.ToString());
  } else {
    ready.set_samples_max(static_cast<std::uint64_t>(training_->learner->samples_max()));
    ready.set_shape(ShapeOf(*training_->learner));
    for (const Bucket& bucket : training_->learner->buckets()) {
      ready.add_buckets(bucket.end - bucket.begin);
    }
  }
  Tell(message);
}

// --- Trials.

void Worker::OnTrial(const wire::pb::TrainTrial& message) {
  const std::uint64_t epoch = message.group().epoch();
  trial_.reset();
  Result<std::unique_ptr<Trial>> trial = Trial::Start(
      message, seams_.clock, seams_.network, up_,
      [this, epoch](const Result<std::vector<double>>& seconds) { TellTried(epoch, seconds); });
  if (!trial.ok()) return TellTried(epoch, trial.status());
  trial_ = *std::move(trial);
  for (auto& [from, frame] : early_.Take(epoch)) trial_->OnFrame(from, std::move(frame));
}

void Worker::TellTried(std::uint64_t epoch, const Result<std::vector<double>>& seconds) {
  wire::pb::TrainToHead message;
  wire::pb::TrainTried& tried = *message.mutable_tried();
  tried.set_epoch(epoch);
  if (seconds.ok()) {
    tried.mutable_seconds()->Add(seconds->begin(), seconds->end());
  } else {
    tried.set_problem(seconds.status().ToString());
  }
  Tell(message);
}

// --- Rounds.

bool Worker::IsInStep(const wire::pb::TrainRound& message) const {
  if (round_ && round_->number == message.round()) {
    return message.group().epoch() > round_->epoch && message.kind() == round_->kind;
  }
  const bool receives =
      message.kind() == wire::pb::TrainRound::SYNC && message.group().members_size() > 0 &&
      message.group().members(0).node() != ToNumber(seams_.network.self()) &&
      std::any_of(message.group().members().begin(), message.group().members().end(),
                  [&](const auto& m) { return m.node() == ToNumber(seams_.network.self()); });
  if (receives) return true;
  if (!round_ || message.committed() != round_->number || !round_->told_done) return false;
  return in_step_ || (round_->kind == wire::pb::TrainRound::SYNC && round_->rank);
}

void Worker::OnRound(const wire::pb::TrainRound& message) {
  if (!built_ || training_->learner == nullptr || message.job() != training_->id) return;
  if (!IsInStep(message)) {
    if (round_ && message.group().epoch() <= round_->epoch) return;  // Old news.
    return TellTrouble(NodeId{0}, "is not in step with the others");
  }
  if (!round_ || round_->number != message.round()) {
    if (round_ && message.committed() == round_->number && round_->told_done) {
      ApplyCommitted(message);
    }
    if (!round_ && message.kind() != wire::pb::TrainRound::SYNC) return;
    round_.emplace();
    round_->number = message.round();
    round_->kind = message.kind();
    round_->step = message.step();
    round_->told = seams_.clock.Now();
    Result<std::vector<Sample>> samples = ReadSamples(message.samples(), training_->job);
    if (!samples.ok()) {
      TellTrouble(NodeId{0}, samples.status().ToString());
      return Drop();
    }
    round_->samples = *std::move(samples);
  }
  trial_.reset();
  const Status status =
      ReadGroup(message, *training_->learner, seams_.clock, seams_.network, *round_);
  if (!status.ok()) {
    TellTrouble(NodeId{0}, status.ToString());
    return Drop();  // Half of it was read.
  }
  round_->heard = seams_.clock.Now();
  JoinGroup();
  WantRecords(message);
  StartRound();
}

void Worker::Watch() {
  seams_.clock.CallAfter(kWatchInterval, [this, alive = std::weak_ptr<int>(alive_)] {
    if (alive.expired()) return;
    if (IsWaiting()) TellTrouble(seams_.network.self(), "waits for the others");
    Watch();
  });
}

bool Worker::IsWaiting() const {
  if (!round_ || round_->group == nullptr || round_->told_done) return false;
  if (jobs_ > 0 || !round_->missing.empty()) return false;
  const std::vector<Interval>& compute = round_->times.compute;
  const double own = compute.empty() ? 0 : compute.back().end;
  const double patience = std::max(ToSeconds(kPatience), kPatienceSteps * own);
  return ToSeconds(seams_.clock.Now() - round_->heard) >= patience;
}

void Worker::ApplyCommitted(const wire::pb::TrainRound& message) {
  switch (round_->kind) {
    case wire::pb::TrainRound::STEP:
      Submit(
          round_->number, {},
          [loss = message.committed_loss(), samples = round_->samples_in_all](Training& training) {
            training.learner->Apply(loss, samples);
          },
          [] {});
      break;
    case wire::pb::TrainRound::AVERAGE:
      training_->learner->WriteStatistics(round_->averages);
      break;
    default:  // SYNC
      if (!round_->rank || *round_->rank == 0) break;
      in_step_ = true;
      if (const Status status = training_->learner->Restore(message.committed_note());
          !status.ok()) {
        TellTrouble(NodeId{0}, status.ToString());
      }
  }
}

void Worker::JoinGroup() {
  // Taken in any case: what came of earlier epochs goes with it.
  std::vector<std::pair<NodeId, Frame>> waiting = early_.Take(round_->epoch);
  if (round_->group == nullptr) return;
  for (const NodeId peer : up_) round_->group->OnPeerUp(peer);
  for (auto& [from, frame] : waiting) OnSums(from, std::move(frame));
  DialGroup();
}

void Worker::WantRecords(const wire::pb::TrainRound& message) {
  if (round_->kind != wire::pb::TrainRound::STEP) return;
  if (!round_->started) round_->missing = fetcher_.Want(IndicesOf(round_->samples));
  const Result<std::vector<Sample>> next = ReadSamples(message.next(), training_->job);
  if (next.ok()) (void)fetcher_.Want(IndicesOf(*next));
}

void Worker::StartRound() {
  if (!round_) return;
  if (!round_->rank) return MaybeDone();
  if (round_->kind == wire::pb::TrainRound::STEP) {
    if (round_->started) return ReduceReady();
    if (!round_->missing.empty()) return;
    if (round_->samples.empty()) return TellTrouble(NodeId{0}, "got no samples");
    return Compute();
  }
  // The other two read and write what jobs work on.
  if (jobs_ > 0) return;
  if (round_->reductions > 0) return;
  if (round_->kind == wire::pb::TrainRound::AVERAGE) return Average();
  Sync();
}

void Worker::Compute() {
  round_->started = true;
  const std::uint64_t number = round_->number;
  round_->times.samples = static_cast<std::int64_t>(round_->samples.size());
  round_->times.load.begin = round_->SinceTold(seams_.clock.Now());
  const Learner& learner = *training_->learner;
  Submit(
      number, {},
      [step = round_->step, samples = round_->samples](Training& training) {
        training.status = training.learner->Begin(step, samples);
      },
      [this, number] {
        if (!round_ || round_->number != number) return;
        round_->times.load.end = round_->SinceTold(seams_.clock.Now());
      });
  for (std::size_t part = 0; part < learner.parts(); ++part) {
    Submit(
        number, learner.PartWork(part, round_->samples.size()),
        [part](Training& training) { training.status = training.learner->ComputePart(part); },
        [this, number, part] { OnPartDone(number, part + 1); });
  }
}

void Worker::OnPartDone(std::uint64_t number, std::size_t parts) {
  if (!round_ || round_->number != number) return;
  if (!training_->status.ok()) return TellTrouble(NodeId{0}, training_->status.ToString());
  round_->parts_done = parts;
  std::vector<Interval>& compute = round_->times.compute;
  const double begin = compute.empty() ? round_->times.load.end : compute.back().end;
  compute.push_back({begin, round_->SinceTold(seams_.clock.Now())});
  ReduceReady();
  MaybeDone();
}

void Worker::ReduceReady() {
  if (round_->group == nullptr) return;
  const std::vector<Reduction>& plan = round_->plan;
  const std::span<const float> local = training_->learner->local();
  const std::span<float> sums = training_->learner->sums();
  round_->times.buckets.resize(plan.size());
  while (round_->reductions < plan.size() &&
         plan[round_->reductions].bucket.parts <= round_->parts_done) {
    const std::size_t index = round_->reductions++;
    const Bucket& bucket = plan[index].bucket;
    round_->times.buckets[index].begin = round_->SinceTold(seams_.clock.Now());
    const std::size_t size = bucket.end - bucket.begin;
    round_->group->AllReduce(
        local.subspan(bucket.begin, size), sums.subspan(bucket.begin, size), plan[index].options,
        [this, number = round_->number, epoch = round_->epoch, index](const Status& status) {
          OnReduced(number, epoch, index, status);
        });
  }
}

void Worker::Average() {
  round_->statistics.resize(training_->learner->statistics());
  round_->averages.resize(round_->statistics.size());
  training_->learner->ReadStatistics(round_->statistics);
  round_->reductions = 1;
  round_->group->AllReduce(round_->statistics, round_->averages, round_->options,
                           [this, number = round_->number, epoch = round_->epoch](
                               const Status& status) { OnReduced(number, epoch, 0, status); });
}

void Worker::Sync() {
  for (const std::span<float> part : training_->learner->state()) {
    ++round_->reductions;
    round_->group->Broadcast(
        part, 0, [this, number = round_->number, epoch = round_->epoch](const Status& status) {
          OnReduced(number, epoch, 0, status);
        });
  }
  DialGroup();
}

void Worker::OnReduced(std::uint64_t number, std::uint64_t epoch, std::size_t index,
                       const Status& status) {
  if (!round_ || round_->number != number || round_->epoch != epoch) return;
  if (!status.ok()) {
    const std::optional<NodeId> peer = round_->group->misfit();
    return TellTrouble(peer.value_or(NodeId{0}), status.ToString(), peer.has_value());
  }
  ++round_->reductions_done;
  if (index < round_->times.buckets.size()) {
    round_->times.buckets[index].end = round_->SinceTold(seams_.clock.Now());
  }
  MaybeDone();
}

void Worker::MaybeDone() {
  if (round_->told_done) return;
  const bool step = round_->kind == wire::pb::TrainRound::STEP;
  Learner& learner = *training_->learner;
  if (round_->rank) {
    if (step && round_->parts_done < learner.parts()) return;
    const std::size_t wanted = step ? round_->plan.size() : round_->reductions;
    if (wanted == 0 || round_->reductions_done < wanted) return;
  }
  round_->told_done = true;
  round_->times.end = round_->SinceTold(seams_.clock.Now());
  wire::pb::TrainToHead message;
  wire::pb::TrainDone& done = *message.mutable_done();
  done.set_round(round_->number);
  done.set_epoch(round_->epoch);
  done.set_end(round_->times.end);
  if (step) {
    done.set_loss(learner.loss());
    Fingerprint fingerprint;
    fingerprint.AddBytes(std::as_bytes(std::span<const float>(learner.sums())));
    done.set_fingerprint(fingerprint.value());
    Write(round_->times.load, *done.mutable_load());
    for (const Interval& part : round_->times.compute) Write(part, *done.add_compute());
    for (const Interval& bucket : round_->times.buckets) Write(bucket, *done.add_buckets());
  } else if (round_->rank == 0 && round_->kind == wire::pb::TrainRound::SYNC) {
    done.set_note(learner.Note());
  }
  Tell(message);
}

// --- Neighbours.

void Worker::DialGroup() {
  // Pieces do not matter for who is a neighbour.
  std::map<collective::Algorithm, collective::AllReduceOptions> ways;
  ways.emplace(round_->options.algorithm, round_->options);
  for (const Reduction& reduction : round_->plan) {
    ways.emplace(reduction.options.algorithm, reduction.options);
  }
  round_->neighbours.clear();
  for (const auto& [algorithm, options] : ways) {
    round_->neighbours.merge(round_->group->Peers(options));
  }
  round_->dialled = seams_.clock.Now();
  for (const NodeId peer : round_->neighbours) {
    if (!up_.contains(peer)) seams_.network.Connect(peer, round_->addresses[peer]);
  }
}

bool Worker::IsNeighbour(NodeId peer) const { return round_ && round_->neighbours.contains(peer); }

void Worker::OnPeerUp(NodeId peer) {
  up_.insert(peer);
  if (round_ && round_->group != nullptr) round_->group->OnPeerUp(peer);
  if (trial_ != nullptr) trial_->OnPeerUp(peer);
}

void Worker::OnPeerDown(NodeId peer) {
  const bool was_up = up_.erase(peer) > 0;
  if (peer == options_.head) {
    if (training_ != nullptr) fetcher_.Start(training_->id);
    return Drop();
  }
  if (trial_ != nullptr) trial_->OnPeerDown(peer);
  if (!IsNeighbour(peer)) return;
  // What was on its way is lost; a link that never was can still come.
  if (was_up || seams_.clock.Now() - round_->dialled > kDialMax) {
    return TellTrouble(peer, fmt::format("has lost node {}", ToNumber(peer)));
  }
  const std::uint64_t epoch = round_->epoch;
  seams_.clock.CallAfter(kDialAgain, [this, alive = std::weak_ptr<int>(alive_), peer, epoch] {
    if (alive.expired() || !round_ || round_->epoch != epoch || up_.contains(peer)) return;
    seams_.network.Connect(peer, round_->addresses[peer]);
  });
}

void Worker::OnWritable(NodeId peer) {
  if (trial_ != nullptr) trial_->OnWritable(peer);
  if (!round_ || round_->group == nullptr) return;
  round_->heard = seams_.clock.Now();
  round_->group->OnWritable(peer);
}

bool Worker::IsForWorker(Traffic traffic, const Frame& frame) {
  switch (traffic) {
    case Traffic::kControl:
      return false;
    case Traffic::kActivations:
      return collective::FrameEpoch(frame) != 0;
    case Traffic::kBulk:
      return wire::IsItemPiece(frame);
  }
  return false;
}

void Worker::OnFrame(NodeId from, Traffic traffic, Frame frame) {
  if (traffic == Traffic::kActivations) {
    const std::uint64_t epoch = collective::FrameEpoch(frame);
    if (round_ && epoch == round_->epoch && round_->group != nullptr) {
      OnSums(from, std::move(frame));
    } else if (trial_ != nullptr && epoch == trial_->epoch()) {
      trial_->OnFrame(from, std::move(frame));
    } else if ((!round_ || epoch > round_->epoch) && (!trial_ || epoch > trial_->epoch())) {
      early_.Add(epoch, from, std::move(frame));
    }
    return;
  }
  if (from != options_.head || training_ == nullptr) return;
  const Result<wire::ItemPiece> piece = wire::DecodeItemPiece(frame);
  if (!piece.ok()) return;
  const Result<ItemFetcher::Arrival> arrival = fetcher_.OnPiece(*piece);
  if (!arrival.ok()) return TellTrouble(NodeId{0}, arrival.status().ToString());
  if (arrival->job) return OnJob(*arrival->job);
  if (!arrival->record) return;
  if (!built_) {
    if (training_->cache != nullptr && *arrival->record == 0) Build();
    return;
  }
  if (!round_ || round_->missing.erase(*arrival->record) == 0) return;
  if (round_->missing.empty()) StartRound();
}

void Worker::OnSums(NodeId from, Frame frame) {
  const bool member = round_->addresses.contains(from);
  const Status status = round_->group->OnFrame(from, std::move(frame));
  if (status.ok()) round_->heard = seams_.clock.Now();
  if (!status.ok() && member) TellTrouble(from, status.ToString(), /*nonsense=*/true);
}

// --- What all of the above need.

void Worker::Submit(std::uint64_t round, Work work, UniqueFunction<void(Training&)> run,
                    UniqueFunction<void()> done) {
  ++jobs_;
  const Status status =
      seams_.executor.Submit({.tag = {.step = round, .epoch = 0},
                              .work = work,
                              .run =
                                  [training = training_, run = std::move(run)]() mutable {
                                    if (training->status.ok()) run(*training);
                                  },
                              .done =
                                  [this, alive = std::weak_ptr<int>(alive_), training = training_,
                                   done = std::move(done)](JobTag) mutable {
                                    if (alive.expired()) return;
                                    --jobs_;
                                    if (training == training_) done();
                                    // Rounds without jobs wait for those of others.
                                    if (jobs_ == 0 && round_ && !round_->started) StartRound();
                                  }});
  if (status.ok()) return;
  --jobs_;
  TellTrouble(NodeId{0}, status.ToString());
}

void Worker::Tell(const wire::pb::TrainToHead& message) {
  wire::pb::ToHead out;
  *out.mutable_train() = message;
  (void)seams_.network.Send(options_.head, Traffic::kControl, wire::Encode(out)).ok();
}

void Worker::TellTrouble(NodeId peer, const std::string& text, bool nonsense) {
  wire::pb::TrainToHead message;
  wire::pb::TrainTrouble& trouble = *message.mutable_trouble();
  trouble.set_round(round_ ? round_->number : 0);
  trouble.set_epoch(round_ ? round_->epoch : 0);
  trouble.set_peer(ToNumber(peer));
  trouble.set_text(text);
  trouble.set_nonsense(nonsense);
  Tell(message);
}

void Worker::Drop() {
  round_.reset();
  trial_.reset();
  in_step_ = false;
  early_ = {};
}

}  // namespace shoal::train
