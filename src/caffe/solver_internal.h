// The two halves of ParseSolver.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "caffe.pb.h"
#include "caffe/proto_text_internal.h"
#include "caffe/solver_file.h"

namespace shoal::caffe::internal {

struct SolverText {
  std::string file;
  caffe_proto::SolverParameter proto;
  ParseInfoTree places;

  // "solver.prototxt:3: what", with the line of `field` if it is there.
  Status Error(const std::string& field, const std::string& what) const;
  void Warn(const std::string& field, const std::string& what,
            std::vector<std::string>& warnings) const;
};

// Numbers and policies; checked.
Result<nn::SolverDef> ReadSolver(const SolverText& text, std::vector<std::string>& warnings);

// Which networks: fills `train` and `tests`.
Status ReadNets(const SolverText& text, SolverFile& out);

}  // namespace shoal::caffe::internal
