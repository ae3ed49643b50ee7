#include "caffe/solver_file.h"

#include <algorithm>
#include <utility>

#include "caffe/solver_internal.h"

namespace shoal::caffe {
namespace internal {
namespace {

// Each entry may itself be a list with commas, as on Caffe's command line.
std::vector<std::string> ReadWeights(const caffe_proto::SolverParameter& proto) {
  std::vector<std::string> files;
  for (std::string_view entry : proto.weights()) {
    while (!entry.empty()) {
      const std::size_t comma = std::min(entry.find(','), entry.size());
      if (comma > 0) files.emplace_back(entry.substr(0, comma));
      entry.remove_prefix(std::min(comma + 1, entry.size()));
    }
  }
  return files;
}

}  // namespace

Status SolverText::Error(const std::string& field, const std::string& what) const {
  const auto* descriptor = proto.GetDescriptor()->FindFieldByName(field);
  SHOAL_CHECK(descriptor != nullptr);
  const int line = LineOf(&places, proto, field, descriptor->is_repeated() ? 0 : -1);
  std::string place = file;
  if (line > 0) {
    place += ':';
    place += std::to_string(line);
  }
  return Status(Code::kInvalidArgument, place + ": " + what);
}

void SolverText::Warn(const std::string& field, const std::string& what,
                      std::vector<std::string>& warnings) const {
  warnings.emplace_back(Error(field, what).message());
}

}  // namespace internal

Result<SolverFile> ParseSolver(std::string_view file, std::string_view text) {
  internal::SolverText parsed;
  parsed.file = file;
  SolverFile out;
  SHOAL_RETURN_IF_ERROR(
      internal::ParseText(file, text, parsed.proto, &parsed.places, out.warnings));
  SHOAL_ASSIGN_OR_RETURN(out.solver, internal::ReadSolver(parsed, out.warnings));
  SHOAL_RETURN_IF_ERROR(internal::ReadNets(parsed, out));
  out.weights = internal::ReadWeights(parsed.proto);
  return out;
}

}  // namespace shoal::caffe
