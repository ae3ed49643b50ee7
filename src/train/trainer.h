// Trainer: a solver at work: steps, tests, snapshots, and going on from one. Has no clock, no
// files and no opinion on when to test or save: the program's loop does (ShouldTest and
// ShouldSnapshot say what the solver file asks for).
//
// A run that is stopped by a snapshot and resumed computes the same bits as one that is not, on
// the same number of workers; with exact sums on any number. Belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "caffe/net_file.h"
#include "caffe/solver_state_file.h"
#include "nn/conv_chooser.h"
#include "nn/exact_sums.h"
#include "nn/param_store.h"
#include "nn/solver.h"
#include "nn/solver_def.h"
#include "train/loss_window.h"
#include "train/model.h"
#include "train/sidecar.h"

namespace shoal::train {

struct TrainerSetup {
  nn::SolverDef solver;
  caffe::Network train;
  std::vector<caffe::Network> tests = {};  // As many as solver.test_iter.
};

struct TrainerOptions {
  std::uint64_t seed = 1;
  std::int64_t batch = 0;      // Of the train net; 0: as it says.
  bool largest_batch = false;  // That fits bytes_max, which must then be given.
  std::size_t bytes_max = 0;   // For everything the run keeps in memory; 0: no limit.
  int loader_threads = 1;
  std::int64_t stop = 0;  // The iteration to end at; 0: the solver's max_iter.
  // Gradients of so many images at a time are added up exactly (nn/exact_sums.h), and nothing is
  // chosen by measuring: the same bits as on a cluster with the same unit. 0: as fast as it can.
  std::int64_t unit = 0;
};

class Trainer {
 public:
  // Opens data, builds all networks and fills the parameters by their fillers. `chooser` is used
  // in here only; `parallel` outlives the trainer.
  static Result<std::unique_ptr<Trainer>> Create(TrainerSetup setup, const TrainerOptions& options,
                                                 const ReadFile& read, nn::ConvChooser& chooser,
                                                 Parallel& parallel);

  // Weights to start from: those of layers with the same name. `file` is a name for messages.
  // kInvalidArgument: no layer has the name of one of ours, or one does not fit.
  Status LoadWeights(std::string_view file, std::string_view bytes);

  // Starts the threads that load data, if they do not run yet; Step and Test do it otherwise. (A
  // program that pins the thread that computes calls it before: threads inherit that.)
  Status StartLoading();
  // One update: iter_size batches forward and backward. A failure is the data's: it names the
  // layer and the record.
  Status Step();
  // One pass over the test data of each test net, with the parameters as they are; the averages of
  // their results.
  Result<std::vector<std::vector<NamedValue>>> Test();

  // What the solver asks for, before the first Step and after each.
  bool ShouldTest() const;
  bool ShouldSnapshot() const;
  std::int64_t stop() const { return options_.stop > 0 ? options_.stop : def_.max_iter; }
  bool done() const { return iteration() >= stop(); }

  const nn::SolverDef& solver_def() const { return solver_->def(); }
  std::int64_t iteration() const { return solver_->iteration(); }
  float rate() const { return solver_->rate(); }
  double loss() const { return losses_.last(); }
  // The average over the last average_loss iterations.
  double smoothed_loss() const { return losses_.mean(); }
  std::int64_t batch() const { return train_->batch() * units_; }
  std::int64_t unit() const { return options_.unit; }
  std::int64_t images_per_step() const { return batch() * solver_def().iter_size; }

  Model& train_model() { return *train_; }
  const std::vector<std::unique_ptr<Model>>& test_models() const { return tests_; }
  nn::ParamStore& params() { return *params_; }

  // --- Snapshots: the bytes of three files.
  std::string WeightsBytes();
  // `learned_net`: the path of the weights.
  std::string StateBytes(const std::string& learned_net);
  Sidecar MakeSidecar(std::vector<nn::ConvChoice> convolutions) const;

  // Goes on where the files were written. Load the weights first. Without a sidecar (a snapshot
  // of Caffe) the data stand where so many iterations leave them. kInvalidArgument: the state is
  // of another network or solver.
  Status Resume(std::string_view file, const caffe::SolverStateFile& state,
                const std::optional<Sidecar>& sidecar);

 private:
  Trainer(const TrainerOptions& options, Parallel& parallel)
      : options_(options), parallel_(parallel), params_(std::make_unique<nn::ParamStore>()) {}

  Status OpenModels(TrainerSetup& setup, const ReadFile& read);
  // Makes the network's batches units of options_.unit images.
  Status CutIntoUnits();
  Status BuildModels(nn::ConvChooser& chooser);
  Status BuildTrain(std::size_t bytes_max, nn::ConvChooser& chooser);

  // Times that the network runs for an update.
  std::int64_t Runs() const { return def_.iter_size * units_; }

  TrainerOptions options_;
  Parallel& parallel_;
  nn::SolverDef def_;
  std::unique_ptr<nn::ParamStore> params_;
  std::unique_ptr<Model> train_;
  std::vector<std::unique_ptr<Model>> tests_;
  std::unique_ptr<nn::Solver> solver_;
  std::int64_t units_ = 1;  // Of a batch.
  std::optional<nn::ExactSums> exact_;
  LossWindow losses_{1};  // Of average_loss iterations.
  bool feeding_ = false;  // Loaders run: from the first Step or Test on.
  std::optional<Sidecar> start_;
};

}  // namespace shoal::train
