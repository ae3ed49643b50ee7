// NetLearner: a network with its solver as a Learner. Data are records that the worker was dealt;
// which of them belong to a step, and at which place in the sequence of samples, is the chief's
// business: a cluster sees the same images as one process with the same seed does.
//
// What a step is depends on the rule:
//   kSync     the gradient of the mean loss over all samples; then one update. A step is all
//   samples
//             of an update, however many fit a device: iter_size is only what clipping counts with.
//             With exact sums, the same bits however the samples are shared out.
//   kLocal    `period` updates of its own on as many slices of the samples; then workers average
//   kElastic  what they have (common_weights.h has the formulas). Momentum stays each worker's.
//
// Of kSync: the same bits on all workers after Apply. Of kLocal and kElastic: the same common
// weights; a step that is begun again goes on from the common weights (kLocal) or from the worker's
// own (kElastic), with the momentum that the abandoned updates left.
//
// Losses that are no means cannot be shared out by samples: SoftmaxWithLoss with `normalization:
// NONE` is refused. With `ignore_label`, the mean is over samples, not over labels that count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "caffe/net_file.h"
#include "caffe/solver_state_file.h"
#include "data/record.h"
#include "data/transform.h"
#include "nn/conv_chooser.h"
#include "nn/exact_sums.h"
#include "nn/first_supported.h"
#include "nn/gradient_buckets.h"
#include "nn/nearest_batch.h"
#include "nn/param_store.h"
#include "nn/solver.h"
#include "nn/solver_def.h"
#include "tensor/aligned_buffer.h"
#include "train/cluster/common_weights.h"
#include "train/cluster/learner.h"
#include "train/cluster/net_pool.h"
#include "train/cluster/net_work.h"
#include "train/cluster/trainable.h"
#include "train/loss_window.h"
#include "train/model.h"
#include "train/sidecar.h"

namespace shoal::train {

struct NetLearnerSetup {
  nn::SolverDef solver;
  caffe::Network train;
  LearnerRule rule = {};
  std::uint64_t seed = 1;         // Of fillers and crops: the same on all workers.
  std::uint64_t worker_seed = 1;  // Of Dropout: another on each.
  std::size_t bucket_bytes = std::size_t{4} << 20U;
  // Gradients of so many samples at a time are added up exactly (nn/exact_sums.h); of kSync only.
  // 0: of all that a device has, and sums are rounded.
  std::int64_t unit = 0;
  std::int64_t batch = 0;     // Of all workers together: how many units there can be.
  std::size_t bytes_max = 0;  // For arena, parameters, gradients and histories; 0: no limit.
  // What a step is expected to have here, for which convolutions are chosen; 0: as the file says.
  std::int64_t samples = 0;
  // Of the data set's images as the network gets them (Feed::shape). Without it, record 0 is read.
  std::optional<data::ImageShape> image = {};
};

// Arrays as large as all parameters that a learner has: those, gradients, sums, and what solver and
// rule keep.
std::size_t ParamCopies(const nn::SolverDef& solver, LearnerMode mode, bool exact);

class NetLearner final : public Learner {
 public:
  // Builds the network and fills the parameters by their fillers. `read` is for a mean file;
  // `chooser` and `parallel` outlive the learner. kInvalidArgument: a network or solver that
  // cannot be trained so, with the layer; kResourceExhausted: not even one sample fits.
  static Result<std::unique_ptr<NetLearner>> Make(NetLearnerSetup setup,
                                                  std::shared_ptr<const data::RecordSource> source,
                                                  const ReadFile& read, nn::ConvChooser& chooser,
                                                  Parallel& parallel);

  std::size_t parts() const override;
  std::span<const Bucket> buckets() const override { return buckets_; }
  Status Begin(std::uint64_t step, std::span<const Sample> samples) override;
  Status ComputePart(std::size_t part) override;
  double loss() const override { return loss_; }
  std::span<const float> local() const override;
  std::span<float> sums() override { return all_sums().first(plan_.floats()); }
  bool exact() const override { return exact_.has_value(); }
  void Apply(double loss, std::int64_t samples) override;

  std::size_t statistics() const override;
  void ReadStatistics(std::span<float> out) const override;
  void WriteStatistics(std::span<const float> values) override;

  // Values, histories and, of kElastic, the common weights: a newcomer is a copy of its donor.
  std::vector<std::span<float>> state() override;
  std::string Note() const override { return WriteSidecar(MakeSidecar()); }
  Status Restore(const std::string& note) override;

  std::int64_t samples_max() const override { return samples_max_; }
  Work PartWork(std::size_t part, std::size_t samples) const override;

  // --- Files, as a Trainer has them; REQUIRES: no step is under way.

  // Weights to start from; on all workers, or on the one that others copy.
  Status LoadWeights(std::string_view file, std::string_view bytes);
  // The weights that workers have in common, and the state of the solver. The rest of a snapshot is
  // a sidecar to which others add where the data stand.
  Sidecar MakeSidecar() const;
  std::string WeightsBytes();
  // params() holds what WeightsBytes says instead of what this worker has, or again what it has.
  void ExchangeWeights();
  std::string StateBytes(const std::string& learned_net);
  // Load the weights first. kInvalidArgument: the state is of another network or solver.
  Status Resume(std::string_view file, const caffe::SolverStateFile& state,
                const std::optional<Sidecar>& sidecar);

  const nn::SolverDef& solver_def() const { return solver_->def(); }
  std::int64_t iteration() const { return solver_->iteration(); }
  float rate() const { return solver_->rate(); }
  double smoothed_loss() const { return losses_.mean(); }
  // For snapshots and for networks that test. REQUIRES: those want no parameters that are new.
  const nn::NetDef& net_def() const { return model_->def(); }
  nn::ParamStore& params() { return *params_; }
  nn::Solver& solver() { return *solver_; }

 private:
  // A piece of the samples that fits the device.
  struct Piece {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t slice = 0;  // Of the step: which update it is for.
    float weight = 0;       // Its share of the slice.
    std::size_t size() const { return end - begin; }
  };

  NetLearner(const NetLearnerSetup& setup, nn::ConvChooser& chooser, Parallel& parallel);
  Status OpenModel(NetLearnerSetup& setup, std::shared_ptr<const data::RecordSource> source,
                   const ReadFile& read);
  Status MakePool(const NetLearnerSetup& setup);
  Status PlanStep(const NetLearnerSetup& setup);
  bool sync() const { return rule_.mode == LearnerMode::kSync; }
  std::size_t slices() const { return static_cast<std::size_t>(rule_.period); }
  std::span<float> all_sums();
  // Returns the size of the largest.
  std::size_t CutIntoPieces();
  void CutIntoUnits();
  Status Fill(std::size_t piece);
  // All pieces of a slice forward, all but the last backward.
  Status RunForward(std::size_t slice);
  nn::BackwardOptions LastOptions() const;
  void RunBackward(std::size_t stage);
  Status RunUpdate(std::size_t slice);
  void Commit();
  Status RestoreCounts(std::int64_t iteration, const nn::LrSchedule::State& schedule);

  LearnerRule rule_;
  const std::int64_t unit_;
  Parallel& parallel_;
  nn::FirstSupported first_supported_;  // Of exact sums: the same on all devices.
  nn::NearestBatch chooser_;
  std::unique_ptr<nn::ParamStore> params_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<NetPool> pool_;
  nn::GradientPlan plan_;
  std::vector<Bucket> buckets_;
  NetWork work_;
  std::unique_ptr<nn::Solver> solver_;
  std::optional<CommonWeights> common_;  // But of kSync.
  std::optional<nn::ExactSums> exact_;
  AlignedBuffer sums_;  // As long as the gradients: the end stays zero.
  std::int64_t samples_max_ = 0;
  std::int64_t fits_ = 0;  // The largest batch that was built.
  LossWindow losses_{1};

  // Where updates of everybody stand: a step that was not applied did not happen.
  struct {
    std::int64_t iteration = 0;
    nn::LrSchedule::State schedule;
  } committed_;

  // Of the step that was begun.
  std::uint64_t step_ = 0;
  std::vector<Sample> samples_;
  std::vector<Piece> pieces_;
  std::optional<std::size_t> filled_;  // The piece whose images lie in `net_`.
  PooledNet* net_ = nullptr;
  double loss_ = 0;
};

}  // namespace shoal::train
