#include "train/cluster/net_learner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/check.h"
#include "train/batch_search.h"
#include "train/unit.h"

namespace shoal::train {
namespace {

// Random numbers of the pieces of a step differ; nobody has more of them.
constexpr std::uint64_t kPiecesMax = std::uint64_t{1} << 20U;

// Of the plateau policy before anything was applied: any loss is lower.
constexpr double kNoLoss = std::numeric_limits<float>::max();

// Where part `index` of `count` nearly equal ones begins. The smaller ones come first, so that the
// network is not built for another size more than once on the way.
std::size_t Cut(std::size_t all, std::size_t index, std::size_t count) {
  const std::size_t small = count - all % count;
  return all / count * index + (index > small ? index - small : 0);
}

std::size_t PiecesOf(std::size_t samples, std::int64_t samples_max) {
  const auto max = static_cast<std::size_t>(samples_max);
  return (samples + max - 1) / max;
}

}  // namespace

std::size_t ParamCopies(const nn::SolverDef& solver, LearnerMode mode, bool exact) {
  const bool two = solver.kind == nn::SolverKind::kAdam || solver.kind == nn::SolverKind::kAdaDelta;
  return 4 + (two ? 1 : 0) + (mode == LearnerMode::kSync ? 0 : 1) + (exact ? 1 : 0);
}

NetLearner::NetLearner(const NetLearnerSetup& setup, nn::ConvChooser& chooser, Parallel& parallel)
    : rule_(setup.rule),
      unit_(setup.unit),
      parallel_(parallel),
      chooser_(unit_ > 0 ? static_cast<nn::ConvChooser&>(first_supported_) : chooser,
               parallel.workers()),
      params_(std::make_unique<nn::ParamStore>()),
      losses_(setup.solver.average_loss) {
  if (sync()) rule_.period = 1;
}

Result<std::unique_ptr<NetLearner>> NetLearner::Make(
    NetLearnerSetup setup, std::shared_ptr<const data::RecordSource> source, const ReadFile& read,
    nn::ConvChooser& chooser, Parallel& parallel) {
  SHOAL_RETURN_IF_ERROR(CheckRule(setup.rule));
  if (setup.unit > 0) {
    if (setup.rule.mode != LearnerMode::kSync) {
      return Status(Code::kInvalidArgument, "exact sums are of synchronous training only");
    }
    SHOAL_RETURN_IF_ERROR(CheckUnit(setup.unit, setup.batch));
  }
  SHOAL_RETURN_IF_ERROR(CheckTrainable(setup.train));
  std::unique_ptr<NetLearner> learner(new NetLearner(setup, chooser, parallel));
  SHOAL_RETURN_IF_ERROR(learner->OpenModel(setup, std::move(source), read));
  SHOAL_RETURN_IF_ERROR(learner->MakePool(setup));
  SHOAL_RETURN_IF_ERROR(learner->PlanStep(setup));
  SHOAL_ASSIGN_OR_RETURN(learner->solver_,
                         nn::Solver::Make(setup.solver, *learner->params_, parallel));
  if (!learner->sync()) learner->common_.emplace(learner->plan_, *learner->params_, parallel);
  return learner;
}

Status NetLearner::OpenModel(NetLearnerSetup& setup,
                             std::shared_ptr<const data::RecordSource> source,
                             const ReadFile& read) {
  SHOAL_CHECK(source != nullptr);
  const FeedOptions options{
      .train = true, .seed = setup.seed, .source = std::move(source), .shape = setup.image};
  SHOAL_ASSIGN_OR_RETURN(model_, Model::Open(std::move(setup.train), options, read));
  return {};
}

// How many samples fit, and the first network.
Status NetLearner::MakePool(const NetLearnerSetup& setup) {
  NetPool::Options options{.seed = unit_ > 0 ? setup.seed : setup.worker_seed};
  samples_max_ = kBatchMax;
  if (setup.bytes_max > 0) {
    const std::size_t copies = ParamCopies(setup.solver, rule_.mode, unit_ > 0);
    SHOAL_ASSIGN_OR_RETURN(samples_max_, LargestBatch(*model_, setup.bytes_max, copies, parallel_));
    nn::ParamStore scratch;
    SHOAL_RETURN_IF_ERROR(
        nn::Graph::Build(model_->def(), {.input_shapes = model_->InputShapes(1)}, scratch)
            .status());
    options.bytes_max =
        setup.bytes_max - FixedBytes(*model_, scratch.elements(), copies, samples_max_);
  }
  pool_ = std::make_unique<NetPool>(*model_, options, *params_, chooser_, parallel_);
  const std::int64_t samples = setup.samples == 0 && unit_ > 0 ? unit_ : setup.samples;
  const std::int64_t wanted = std::max<std::int64_t>(model_->Batch(samples) / rule_.period, 1);
  for (;;) {
    const Result<PooledNet*> net = pool_->Get(std::min(wanted, samples_max_));
    if (net.ok()) {
      net_ = *net;
      fits_ = net_->batch;
      return {};
    }
    // The convolutions chosen want more to work in than the search assumed.
    const bool smaller = net.status().code() == Code::kResourceExhausted && samples_max_ > 1;
    if (!smaller) return net.status();
    const std::int64_t tried = std::min(wanted, samples_max_);
    samples_max_ = std::max<std::int64_t>(tried - std::max<std::int64_t>(tried / 16, 1), 1);
  }
}

Status NetLearner::PlanStep(const NetLearnerSetup& setup) {
  const nn::Graph& graph = net_->net->graph();
  plan_ = nn::PlanGradients(graph, *params_, std::max<std::size_t>(setup.bucket_bytes, 1));
  if (plan_.buckets.empty()) {
    return Status(Code::kInvalidArgument,
                  "the network has nothing to learn: no loss depends on a parameter whose lr_mult "
                  "is not 0");
  }
  for (const nn::GradientBucket& bucket : plan_.buckets) {
    // The first part is forward.
    const std::size_t parts = sync() ? bucket.stage + 2 : slices();
    buckets_.push_back({.begin = bucket.begin, .end = bucket.end, .parts = parts});
  }
  work_ = CountWork(graph, *params_, plan_, static_cast<std::size_t>(net_->batch));
  pool_->SetPlan(plan_);
  params_->OrderGradients(plan_.order);
  SHOAL_RETURN_IF_ERROR(params_->Allocate(setup.seed, /*gradients=*/true));
  SHOAL_ASSIGN_OR_RETURN(sums_, AlignedBuffer::Make(params_->gradients().size_bytes()));
  std::memset(sums_.data(), 0, sums_.size());
  if (unit_ > 0) {
    SHOAL_ASSIGN_OR_RETURN(exact_, nn::ExactSums::Make(*params_, setup.batch / unit_, parallel_));
  }
  return {};
}

std::size_t NetLearner::parts() const { return sync() ? plan_.stages.size() + 1 : slices(); }

std::span<const float> NetLearner::local() const {
  const std::span<const float> all = exact_ ? exact_->sums() : params_->gradients();
  return all.first(plan_.floats());
}

std::span<float> NetLearner::all_sums() {
  return {reinterpret_cast<float*>(sums_.data()), sums_.size() / sizeof(float)};
}

std::size_t NetLearner::CutIntoPieces() {
  pieces_.clear();
  std::size_t largest = 0;
  for (std::size_t slice = 0; slice < slices(); ++slice) {
    const std::size_t begin = Cut(samples_.size(), slice, slices());
    const std::size_t size = Cut(samples_.size(), slice + 1, slices()) - begin;
    const std::size_t count = PiecesOf(size, samples_max_);
    for (std::size_t i = 0; i < count; ++i) {
      Piece piece{.begin = begin + Cut(size, i, count),
                  .end = begin + Cut(size, i + 1, count),
                  .slice = slice};
      piece.weight = static_cast<float>(piece.size()) / static_cast<float>(size);
      pieces_.push_back(piece);
      largest = std::max(largest, piece.size());
    }
  }
  return largest;
}

void NetLearner::CutIntoUnits() {
  pieces_.clear();
  const auto unit = static_cast<std::size_t>(unit_);
  for (std::size_t begin = 0; begin < samples_.size(); begin += unit) {
    pieces_.push_back({.begin = begin, .end = begin + unit, .slice = 0, .weight = 1});
  }
}

Status NetLearner::Begin(std::uint64_t step, std::span<const Sample> samples) {
  if (samples.size() < slices() || samples.size() >= kPiecesMax) {
    return Status(Code::kInvalidArgument,
                  fmt::format("a step of {} samples in {} slices", samples.size(), slices()));
  }
  if (unit_ > 0 && samples.size() % static_cast<std::size_t>(unit_) != 0) {
    return Status(Code::kInvalidArgument,
                  fmt::format("a step of {} samples in units of {}", samples.size(), unit_));
  }
  step_ = step;
  samples_.assign(samples.begin(), samples.end());
  loss_ = 0;
  if (exact_) {
    exact_->Clear();
    CutIntoUnits();
    return Fill(0);
  }
  if (!sync()) {
    solver_->Restore(committed_.iteration, committed_.schedule);
    if (rule_.mode == LearnerMode::kLocal) common_->Give();
  }
  for (;;) {
    const auto largest = static_cast<std::int64_t>(CutIntoPieces());
    if (largest <= fits_) return Fill(0);
    const Result<PooledNet*> net = pool_->Get(largest);
    if (net.ok()) fits_ = largest;
    if (net.ok()) continue;
    const bool smaller = net.status().code() == Code::kResourceExhausted && largest > 1;
    if (!smaller) return net.status();
    samples_max_ = largest - 1;
  }
}

Status NetLearner::Fill(std::size_t piece) {
  filled_.reset();
  const Piece& p = pieces_[piece];
  SHOAL_ASSIGN_OR_RETURN(net_, pool_->Get(static_cast<std::int64_t>(p.size())));
  SHOAL_RETURN_IF_ERROR(model_->feeds()[0]->FillWith(
      *net_->net, std::span(samples_).subspan(p.begin, p.size()), parallel_));
  filled_ = piece;
  return {};
}

Status NetLearner::RunForward(std::size_t slice) {
  bool first = true;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    if (piece.slice != slice) continue;
    if (filled_ != i) SHOAL_RETURN_IF_ERROR(Fill(i));
    const std::uint64_t number =
        exact_ ? UnitNumber(samples_[piece.begin].at) : step_ * kPiecesMax + i;
    SHOAL_ASSIGN_OR_RETURN(const double loss, net_->net->Forward(number));
    loss_ += loss * static_cast<double>(piece.size()) / static_cast<double>(samples_.size());
    const bool last = i + 1 == pieces_.size() || pieces_[i + 1].slice != slice;
    if (last) break;
    net_->net->BackwardSteps(0, net_->net->backward_steps(),
                             {.accumulate = !exact_ && !first, .weight = piece.weight});
    if (exact_) exact_->Add(params_->gradients(), 0, plan_.floats());
    first = false;
  }
  return {};
}

nn::BackwardOptions NetLearner::LastOptions() const {
  const Piece& piece = pieces_[*filled_];
  return {.accumulate = piece.weight != 1, .weight = piece.weight};
}

void NetLearner::RunBackward(std::size_t stage) {
  const std::size_t first = stage == 0 ? 0 : net_->stages[stage - 1];
  net_->net->BackwardSteps(first, net_->stages[stage], LastOptions());
  if (!exact_) return;
  for (const nn::GradientBucket& bucket : plan_.buckets) {
    if (bucket.stage == stage) exact_->Add(params_->gradients(), bucket.begin, bucket.end);
  }
}

Status NetLearner::RunUpdate(std::size_t slice) {
  SHOAL_RETURN_IF_ERROR(RunForward(slice));
  net_->net->BackwardSteps(0, net_->net->backward_steps(), LastOptions());
  // All workers must fall to a lower rate together: what they know in common is the last loss.
  solver_->Update(losses_.empty() ? kNoLoss : losses_.last(), params_->gradients(), 1);
  if (slice + 1 == slices()) common_->WriteDrift();
  return {};
}

Status NetLearner::ComputePart(std::size_t part) {
  SHOAL_CHECK_LT(part, parts());
  if (!sync()) return RunUpdate(part);
  if (part == 0) return RunForward(0);
  RunBackward(part - 1);
  return {};
}

void NetLearner::Apply(double loss, std::int64_t samples) {
  switch (rule_.mode) {
    case LearnerMode::kSync:
      solver_->Update(loss, all_sums(), exact_ ? std::max<std::int64_t>(samples / unit_, 1) : 1);
      if (exact_) exact_->Follow(all_sums());
      break;
    case LearnerMode::kLocal:
      common_->ApplyLocal(sums());
      break;
    case LearnerMode::kElastic:
      common_->ApplyElastic(sums(), rule_.alpha, rule_.beta);
      break;
  }
  losses_.Add(loss);
  Commit();
}

void NetLearner::Commit() {
  committed_.iteration = solver_->iteration();
  committed_.schedule = solver_->schedule_state();
}

Work NetLearner::PartWork(std::size_t part, std::size_t samples) const {
  const auto add = [](Work a, const Work& b) {
    return Work{a.operations + b.operations, a.bytes_moved + b.bytes_moved};
  };
  const PartCost backward = work_.AllBackward();
  if (!sync()) {
    const std::size_t slice = Cut(samples, part + 1, slices()) - Cut(samples, part, slices());
    return add(work_.forward.For(slice), backward.For(slice));
  }
  // Backward of all pieces but the last is in the first part.
  const std::int64_t largest = unit_ > 0 ? unit_ : samples_max_;
  const std::size_t pieces = std::max<std::size_t>(PiecesOf(samples, largest), 1);
  const std::size_t before = Cut(samples, pieces - 1, pieces);
  if (part > 0) return work_.backward[part - 1].For(samples - before);
  return add(work_.forward.For(samples), before > 0 ? backward.For(before) : Work{});
}

}  // namespace shoal::train
