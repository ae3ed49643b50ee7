#include "train/cluster/worker.h"

#include <fmt/format.h>

#include <utility>

#include "train/cluster/sample_runs.h"

namespace shoal::train {
namespace {

constexpr Duration kWatchInterval = std::chrono::seconds(15);
// In one round. Flash that loses more than that is broken.
constexpr std::size_t kLossesMax = 8;
// Parts that wait at a time: enough to compute while the loop is busy, however many there are.
constexpr std::size_t kPartsAhead = 16;

}  // namespace

Worker::Worker(const Seams& seams, WorkerOptions options, WorkerHost& host)
    : seams_(seams),
      options_(std::move(options)),
      job_(seams, options_.head, host,
           {.tell = [this](const auto& message) { Tell(message); },
            .say = [this](const std::string& line) { Say(line); },
            .on_trouble = [this](const Status& why) { TellTrouble(NodeId{0}, why.ToString()); },
            // Rounds without jobs wait for those of others.
            .on_idle =
                [this] {
                  if (round_ && round_->jobs == nullptr) StartRound();
                }}),
      neighbours_(seams.clock, seams.network) {
  Watch();
}

Worker::~Worker() = default;

void Worker::OnMessage(const wire::pb::TrainToNode& message) {
  if (message.has_offer()) {
    Drop();
    return job_.OnOffer(message.offer());
  }
  if (message.has_round()) return OnRound(message.round());
  if (message.has_trial()) return OnTrial(message.trial());
  if (message.body_case() == wire::pb::TrainToNode::kOver) {
    Drop();
    job_.End();
    if (options_.on_over) options_.on_over();
  }
}

// --- Trials.

void Worker::OnTrial(const wire::pb::TrainTrial& message) {
  const std::uint64_t epoch = message.group().epoch();
  trial_.reset();
  Result<std::unique_ptr<Trial>> trial = Trial::Start(
      message, seams_.clock, seams_.network, neighbours_.up(),
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

void Worker::OnRound(const wire::pb::TrainRound& message) {
  if (!job_.IsReady(message.job())) return;
  if (!CanFollow(message, round_, in_step_, seams_.network.self())) {
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
    Result<std::vector<Sample>> samples = ReadSamples(message.samples(), job_.job());
    if (!samples.ok()) {
      TellTrouble(NodeId{0}, samples.status().ToString());
      return Drop();
    }
    round_->samples = *std::move(samples);
  }
  trial_.reset();
  const Status status = ReadGroup(message, job_.learner(), seams_.clock, seams_.network, *round_);
  if (!status.ok()) {
    TellTrouble(NodeId{0}, status.ToString());
    return Drop();  // Half of it was read.
  }
  round_->heard = seams_.clock.Now();
  JoinGroup();
  StartRound();
  Prefetch(message);
}

void Worker::Watch() {
  seams_.clock.CallAfter(kWatchInterval, [this, alive = std::weak_ptr<int>(alive_)] {
    if (alive.expired()) return;
    if (round_ && job_.idle() && round_->StandsStill(seams_.clock.Now())) {
      TellTrouble(seams_.network.self(), "waits for the others");
    }
    Watch();
  });
}

void Worker::ApplyCommitted(const wire::pb::TrainRound& message) {
  switch (round_->kind) {
    case wire::pb::TrainRound::STEP:
      job_.Submit(
          round_->number, {},
          [loss = message.committed_loss(), samples = round_->samples_in_all](Learner& learner) {
            learner.Apply(loss, samples);
            return Status();
          },
          [](const Status&) {});
      break;
    case wire::pb::TrainRound::AVERAGE:
      job_.learner().WriteStatistics(round_->averages);
      break;
    default:  // SYNC
      if (!round_->rank || *round_->rank == 0) break;
      in_step_ = true;
      if (const Status status = job_.learner().Restore(message.committed_note()); !status.ok()) {
        TellTrouble(NodeId{0}, status.ToString());
      }
  }
}

void Worker::JoinGroup() {
  neighbours_.Clear();
  // Taken in any case: what came of earlier epochs goes with it.
  std::vector<std::pair<NodeId, Frame>> waiting = early_.Take(round_->epoch);
  if (round_->group == nullptr) return;
  for (const NodeId peer : neighbours_.up()) round_->group->OnPeerUp(peer);
  for (auto& [from, frame] : waiting) OnSums(from, std::move(frame));
  DialGroup();
}

void Worker::Prefetch(const wire::pb::TrainRound& message) {
  if (message.kind() != wire::pb::TrainRound::STEP) return;
  const Result<std::vector<Sample>> next = ReadSamples(message.next(), job_.job());
  if (next.ok()) job_.Prefetch(*next);
}

void Worker::StartRound() {
  if (!round_) return;
  if (!round_->rank) return MaybeDone();
  if (round_->kind == wire::pb::TrainRound::STEP) {
    if (round_->jobs != nullptr) return ReduceReady();
    if (round_->samples.empty()) return TellTrouble(NodeId{0}, "got no samples");
    // Also when all have come: what was here at first may be gone by then.
    round_->missing = job_.Need(round_->samples);
    if (round_->missing.empty()) Compute();
    return;
  }
  // The other two read and write what jobs work on.
  if (!job_.idle()) return;
  if (round_->reductions > 0) return;
  if (round_->kind == wire::pb::TrainRound::AVERAGE) return Average();
  Sync();
}

void Worker::Compute() {
  round_->jobs = std::make_shared<WorkerRound::Jobs>();
  round_->times.samples = static_cast<std::int64_t>(round_->samples.size());
  round_->times.load.begin = round_->SinceTold(seams_.clock.Now());
  round_->parts_submitted = 0;
  Submit(
      {},
      [step = round_->step, samples = round_->samples](Learner& running) {
        return running.Begin(step, samples);
      },
      [this] { round_->times.load.end = round_->SinceTold(seams_.clock.Now()); });
  for (std::size_t i = 0; i < kPartsAhead; ++i) SubmitPart();
}

void Worker::SubmitPart() {
  const Learner& learner = job_.learner();
  if (round_->parts_submitted == learner.parts()) return;
  const std::size_t part = round_->parts_submitted++;
  Submit(
      learner.PartWork(part, round_->samples.size()),
      [part](Learner& running) { return running.ComputePart(part); }, [this] { OnPartDone(); });
}

void Worker::Submit(Work work, UniqueFunction<Status(Learner&)> run, UniqueFunction<void()> done) {
  job_.Submit(
      round_->number, work,
      [jobs = round_->jobs, run = std::move(run)](Learner& learner) mutable {
        if (jobs->status.ok() && !jobs->dropped) jobs->status = run(learner);
        return jobs->status;
      },
      [this, jobs = round_->jobs, done = std::move(done)](const Status& status) mutable {
        if (!round_ || round_->jobs != jobs) return;
        if (!status.ok()) return OnJobFailed(status);
        done();
      });
}

void Worker::OnJobFailed(const Status& why) {
  // A record that was here when the step began: it is sent once more, and the step begins anew.
  const bool again = why.code() == Code::kNotFound && round_->reductions == 0;
  if (!again || ++round_->losses > kLossesMax) {
    TellTrouble(NodeId{0}, why.ToString());
    return Drop();
  }
  round_->jobs.reset();
  round_->parts_done = 0;
  round_->times.compute.clear();
  StartRound();
}

void Worker::OnPartDone() {
  round_->NotePart(job_.learner().parts(), seams_.clock.Now());
  SubmitPart();
  ReduceReady();
  MaybeDone();
}

void Worker::ReduceReady() {
  if (round_->group == nullptr) return;
  const std::vector<Reduction>& plan = round_->plan;
  const std::span<const float> local = job_.learner().local();
  const std::span<float> sums = job_.learner().sums();
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
  round_->statistics.resize(job_.learner().statistics());
  round_->averages.resize(round_->statistics.size());
  job_.learner().ReadStatistics(round_->statistics);
  round_->reductions = 1;
  round_->group->AllReduce(round_->statistics, round_->averages, round_->options,
                           [this, number = round_->number, epoch = round_->epoch](
                               const Status& status) { OnReduced(number, epoch, 0, status); });
}

void Worker::Sync() {
  for (const std::span<float> part : job_.learner().state()) {
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
  if (round_->told_done || !round_->IsWhole(job_.learner().parts())) return;
  round_->told_done = true;
  round_->times.end = round_->SinceTold(seams_.clock.Now());
  wire::pb::TrainToHead message;
  WriteDone(*round_, job_.learner(), *message.mutable_done());
  Tell(message);
}

// --- Neighbours.

void Worker::DialGroup() {
  neighbours_.Dial(round_->epoch, round_->GroupPeers(), round_->addresses);
}

void Worker::OnPeerUp(NodeId peer) {
  neighbours_.OnPeerUp(peer);
  if (round_ && round_->group != nullptr) round_->group->OnPeerUp(peer);
  if (trial_ != nullptr) trial_->OnPeerUp(peer);
}

void Worker::OnPeerDown(NodeId peer) {
  if (trial_ != nullptr && peer != options_.head) trial_->OnPeerDown(peer);
  const bool lost = neighbours_.OnPeerDown(peer);
  if (peer == options_.head) {
    job_.OnHeadDown();
    return Drop();
  }
  if (lost) TellTrouble(peer, fmt::format("has lost node {}", ToNumber(peer)));
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
  if (from != options_.head) return;
  const std::optional<std::int64_t> record = job_.OnPiece(frame);
  if (!record || !round_ || round_->missing.erase(*record) == 0) return;
  if (round_->missing.empty()) StartRound();
}

void Worker::OnSums(NodeId from, Frame frame) {
  const bool member = round_->addresses.contains(from);
  const Status status = round_->group->OnFrame(from, std::move(frame));
  if (status.ok()) round_->heard = seams_.clock.Now();
  if (!status.ok() && member) TellTrouble(from, status.ToString(), /*nonsense=*/true);
}

// --- What all of the above need.

void Worker::Tell(const wire::pb::TrainToHead& message) {
  wire::pb::ToHead out;
  *out.mutable_train() = message;
  const Status sent = seams_.network.Send(options_.head, Traffic::kControl, wire::Encode(out));
  const bool too_large = sent.code() == Code::kInvalidArgument;
  if (too_large && !message.has_trouble()) TellTrouble(NodeId{0}, sent.ToString());
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

void Worker::GiveUp() {
  if (!round_) return;
  TellTrouble(NodeId{0}, "is not in step with the others");
  Drop();
}

void Worker::Drop() {
  if (round_ && round_->jobs != nullptr) round_->jobs->dropped = true;
  round_.reset();
  trial_.reset();
  in_step_ = false;
  early_ = {};
  neighbours_.Clear();
}

}  // namespace shoal::train
