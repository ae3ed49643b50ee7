// Whatever a text file holds: a network for both phases and a solver, or one line that says why
// not.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "caffe/net_file.h"
#include "caffe/solver_file.h"

namespace {

void CheckError(const shoal::Status& status) {
  SHOAL_CHECK(status.code() == shoal::Code::kInvalidArgument);
  SHOAL_CHECK(status.message().starts_with("f"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = shoal::caffe::NetFile::Parse("f", text);
  if (!file.ok()) CheckError(file.status());
  for (const auto phase : {shoal::nn::Phase::kTrain, shoal::nn::Phase::kTest}) {
    if (!file.ok()) break;
    const auto network = file->Build({.phase = phase});
    if (!network.ok()) CheckError(network.status());
  }
  const auto solver = shoal::caffe::ParseSolver("f", text);
  if (!solver.ok()) CheckError(solver.status());
  return 0;
}
