#include "shoal/solver_files.h"

#include <fmt/format.h>

#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>
#include <variant>

#include "caffe/solver_file.h"
#include "os/file.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

// Weights of the largest networks have half a gigabyte; what has more is not meant.
constexpr std::size_t kFileBytesMax = std::size_t{4} << 30U;

constexpr std::string_view kStateSuffix = ".solverstate";

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

Result<caffe::Network> BuildNetwork(const caffe::NetFile& file, const caffe::BuildOptions& options,
                                    const FileFinder& finder, std::vector<std::string>& warnings) {
  SHOAL_ASSIGN_OR_RETURN(caffe::Network network, file.Build(options));
  warnings.insert(warnings.end(), file.warnings().begin(), file.warnings().end());
  warnings.insert(warnings.end(), network.warnings.begin(), network.warnings.end());
  finder.Resolve(network);
  return network;
}

Result<caffe::Network> BuildChoice(const caffe::NetChoice& choice, caffe::GlobalStats global_stats,
                                   const FileFinder& finder, std::vector<std::string>& warnings) {
  const caffe::BuildOptions options{
      .phase = choice.phase, .state = choice.state, .global_stats = global_stats};
  if (choice.written) return BuildNetwork(*choice.written, options, finder, warnings);
  SHOAL_ASSIGN_OR_RETURN(const std::string text, finder.Read(choice.path));
  SHOAL_ASSIGN_OR_RETURN(const caffe::NetFile file, caffe::NetFile::Parse(choice.path, text));
  return BuildNetwork(file, options, finder, warnings);
}

void UseNet(const std::string& net, caffe::NetChoice& choice) {
  choice.path = net;
  choice.written.reset();
}

}  // namespace

FileFinder::FileFinder(std::string_view file) {
  std::error_code error;
  folder_ = fs::absolute(fs::path(file), error).parent_path().string();
}

std::string FileFinder::Find(const std::string& path) const {
  if (path.empty() || fs::path(path).is_absolute() || Exists(path)) return path;
  for (fs::path folder = folder_; !folder.empty(); folder = folder.parent_path()) {
    if (Exists(folder / path)) return (folder / path).string();
    if (folder == folder.root_path()) break;
  }
  return path;
}

Result<std::string> FileFinder::Read(const std::string& path) const {
  const std::string found = Find(path);
  if (!Exists(found) && !fs::path(path).is_absolute()) {
    return Status(Code::kNotFound,
                  fmt::format("no such file: {} (neither from the working directory nor from {} "
                              "and the folders above it)",
                              path, folder_));
  }
  return ReadWhole(found);
}

void FileFinder::Resolve(caffe::Network& network) const {
  for (data::SourceDef& source : network.sources) {
    if (auto* lmdb = std::get_if<data::LmdbDef>(&source.from)) lmdb->path = Find(lmdb->path);
    if (auto* list = std::get_if<data::ImageListDef>(&source.from)) list->path = Find(list->path);
    source.transform.mean_file = Find(source.transform.mean_file);
  }
}

Result<SolverFiles> ReadSolverFiles(const std::string& solver, const std::string& net,
                                    bool keep_statistics, const FileFinder& finder) {
  SHOAL_ASSIGN_OR_RETURN(const std::string text, ReadWhole(solver));
  SHOAL_ASSIGN_OR_RETURN(caffe::SolverFile file, caffe::ParseSolver(solver, text));
  if (!net.empty()) {
    UseNet(net, file.train);
    for (caffe::NetChoice& test : file.tests) UseNet(net, test);
  }
  for (std::string& weights : file.weights) weights = finder.Find(weights);
  SolverFiles files{.setup = {.solver = file.solver, .train = {}, .tests = {}},
                    .weights = file.weights,
                    .warnings = file.warnings};
  const bool keep = keep_statistics || !file.weights.empty();
  SHOAL_ASSIGN_OR_RETURN(
      files.setup.train,
      BuildChoice(file.train, keep ? caffe::GlobalStats::kKeep : caffe::GlobalStats::kRefuse,
                  finder, files.warnings));
  std::vector<std::string> again;  // The same file says the same things of every phase.
  for (const caffe::NetChoice& test : file.tests) {
    SHOAL_ASSIGN_OR_RETURN(caffe::Network network,
                           BuildChoice(test, caffe::GlobalStats::kKeep, finder, again));
    files.setup.tests.push_back(std::move(network));
  }
  return files;
}

Result<caffe::Network> ReadNetwork(const std::string& path, nn::Phase phase,
                                   const FileFinder& finder, std::vector<std::string>& warnings) {
  const caffe::NetChoice choice{.path = path, .written = {}, .phase = phase, .state = {}};
  return BuildChoice(choice, caffe::GlobalStats::kKeep, finder, warnings);
}

Result<SnapshotFiles> ReadSnapshot(const std::string& state_path) {
  if (!state_path.ends_with(kStateSuffix)) {
    return Status(Code::kInvalidArgument,
                  fmt::format("{}: a run is resumed from its .solverstate; to start from weights "
                              "alone, give --weights",
                              state_path));
  }
  SnapshotFiles files{.state_path = state_path, .weights_path = {}, .state = {}, .sidecar = {}};
  SHOAL_ASSIGN_OR_RETURN(const std::string bytes, ReadWhole(state_path));
  SHOAL_ASSIGN_OR_RETURN(files.state, caffe::ReadSolverState(state_path, bytes));
  const std::string stem = state_path.substr(0, state_path.size() - kStateSuffix.size());
  const std::string moved =
      (fs::path(state_path).parent_path() / fs::path(files.state.learned_net).filename()).string();
  files.weights_path = stem + ".caffemodel";
  if (!Exists(files.weights_path)) files.weights_path = moved;
  if (!Exists(files.weights_path)) files.weights_path = files.state.learned_net;
  const std::string sidecar_path = stem + ".shoal.json";
  if (!Exists(sidecar_path)) return files;
  SHOAL_ASSIGN_OR_RETURN(const std::string text, ReadWhole(sidecar_path));
  SHOAL_ASSIGN_OR_RETURN(files.sidecar, train::ReadSidecar(sidecar_path, text));
  return files;
}

Result<std::string> ReadWhole(const std::string& path) { return os::ReadFile(path, kFileBytesMax); }

}  // namespace shoal
