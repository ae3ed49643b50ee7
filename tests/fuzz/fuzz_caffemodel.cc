// Whatever a binary file holds: weights, a solver's state or a mean that survive being written and
// read again, or a Status. The same bytes as a network must do no harm either.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/check.h"
#include "caffe/mean_file.h"
#include "caffe/net_file.h"
#include "caffe/solver_state_file.h"
#include "caffe/weights_file.h"

namespace {

using shoal::caffe::Blob;

// By bits: a weight may be a NaN.
bool Same(const Blob& a, const Blob& b) {
  return a.shape == b.shape && a.values.size() == b.values.size() &&
         (a.values.empty() ||
          std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(float)) == 0);
}

void CheckWeights(std::string_view bytes) {
  const auto weights = shoal::caffe::ReadWeights("f", bytes);
  if (!weights.ok() || weights->layers.empty()) return;
  const auto again = shoal::caffe::ReadWeights("f", shoal::caffe::WriteWeights(*weights));
  SHOAL_CHECK(again.ok());
  SHOAL_CHECK_EQ(again->layers.size(), weights->layers.size());
  for (std::size_t i = 0; i < weights->layers.size(); ++i) {
    SHOAL_CHECK(again->layers[i].layer == weights->layers[i].layer);
    SHOAL_CHECK_EQ(again->layers[i].blobs.size(), weights->layers[i].blobs.size());
    for (std::size_t j = 0; j < weights->layers[i].blobs.size(); ++j) {
      SHOAL_CHECK(Same(again->layers[i].blobs[j], weights->layers[i].blobs[j]));
    }
  }
}

void CheckState(std::string_view bytes) {
  const auto state = shoal::caffe::ReadSolverState("f", bytes);
  if (!state.ok()) return;
  const auto again = shoal::caffe::ReadSolverState("f", shoal::caffe::WriteSolverState(*state));
  SHOAL_CHECK(again.ok());
  SHOAL_CHECK_EQ(again->iter, state->iter);
  SHOAL_CHECK_EQ(again->history.size(), state->history.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  CheckWeights(bytes);
  CheckState(bytes);
  if (const auto mean = shoal::caffe::ReadMean("f", bytes); mean.ok()) {
    SHOAL_CHECK(Same(*shoal::caffe::ReadMean("f", shoal::caffe::WriteMean(*mean)), *mean));
  }
  const auto file = shoal::caffe::NetFile::ParseBinary("f", bytes);
  if (file.ok()) (void)file->Build({});
  return 0;
}
