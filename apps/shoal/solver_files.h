// What `shoal train` and `shoal test` read: a solver with its networks, weights, snapshots, and
// where the paths in them lead.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "caffe/net_file.h"
#include "caffe/solver_state_file.h"
#include "train/feed.h"
#include "train/sidecar.h"
#include "train/trainer.h"

namespace shoal {

// Paths in a file are meant from the working directory, as Caffe has it. Where nothing is, the
// folder of the file is tried, and the folders above it: "zoo/lenet/train_val.prototxt" in
// /x/zoo/lenet/solver.prototxt is found from everywhere.
class FileFinder {
 public:
  explicit FileFinder(std::string_view file);

  // The first of these places where there is something; `path` itself if there is none.
  std::string Find(const std::string& path) const;
  // The bytes of what Find finds. kNotFound: the message says where it was looked for.
  Result<std::string> Read(const std::string& path) const;
  train::ReadFile reader() const {
    return [this](const std::string& path) { return Read(path); };
  }
  // Makes the paths of the data sets ones that can be opened.
  void Resolve(caffe::Network& network) const;

 private:
  std::string folder_;  // Absolute.
};

struct SolverFiles {
  train::TrainerSetup setup;
  std::vector<std::string> weights;  // That the solver starts from; found.
  std::vector<std::string> warnings;
};

// `net` is used instead of the networks that the solver names, if not empty. `keep_statistics`:
// weights will be loaded, so that frozen statistics of normalisations make sense.
Result<SolverFiles> ReadSolverFiles(const std::string& solver, const std::string& net,
                                    bool keep_statistics, const FileFinder& finder);

// One phase of a network file.
Result<caffe::Network> ReadNetwork(const std::string& path, nn::Phase phase,
                                   const FileFinder& finder, std::vector<std::string>& warnings);

// A snapshot: "x_iter_100.solverstate", with what lies beside it.
struct SnapshotFiles {
  std::string state_path;
  std::string weights_path;  // Beside the state, else where the state says it was.
  caffe::SolverStateFile state;
  std::optional<train::Sidecar> sidecar;  // None: it is Caffe's.
};
Result<SnapshotFiles> ReadSnapshot(const std::string& state_path);

// The bytes of any file that a run reads.
Result<std::string> ReadWhole(const std::string& path);

}  // namespace shoal
