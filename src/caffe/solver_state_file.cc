#include "caffe/solver_state_file.h"

#include <bit>
#include <utility>

#include "caffe/blob_format_internal.h"
#include "caffe/wire_format_internal.h"

namespace shoal::caffe {
namespace {

using internal::WireReader;
using internal::WireType;

// Field numbers of SolverState.
constexpr std::uint64_t kIter = 1;
constexpr std::uint64_t kLearnedNet = 2;
constexpr std::uint64_t kHistory = 3;
constexpr std::uint64_t kCurrentStep = 4;
constexpr std::uint64_t kMinimumLoss = 5;
constexpr std::uint64_t kIterLastEvent = 6;

// An empty blob takes four bytes in a file and eighty in memory: their number is limited.
constexpr std::size_t kMostBlobs = 1 << 17;

Status Take(std::string_view file, const WireReader& reader, SolverStateFile& state) {
  const auto number = [&] { return static_cast<std::int64_t>(reader.number()); };
  if (reader.Is(kIter, WireType::kVarint)) state.iter = number();
  if (reader.Is(kCurrentStep, WireType::kVarint)) state.current_step = number();
  if (reader.Is(kIterLastEvent, WireType::kVarint)) state.iter_last_event = number();
  if (reader.Is(kLearnedNet, WireType::kBytes)) state.learned_net = reader.bytes();
  if (reader.Is(kMinimumLoss, WireType::kFixed32)) {
    state.minimum_loss = std::bit_cast<float>(static_cast<std::uint32_t>(reader.number()));
  }
  if (reader.Is(kHistory, WireType::kBytes)) {
    const std::string what = "history " + std::to_string(state.history.size());
    SHOAL_ASSIGN_OR_RETURN(Blob blob, internal::ReadBlob(file, what, reader.Nested()));
    state.history.push_back(std::move(blob));
    if (state.history.size() > kMostBlobs) {
      return Status(Code::kCorruption, std::string(file) + ": more than " +
                                           std::to_string(kMostBlobs) + " blobs of history");
    }
  }
  return Status();
}

}  // namespace

Result<SolverStateFile> ReadSolverState(std::string_view file, std::string_view bytes) {
  SHOAL_RETURN_IF_ERROR(internal::CheckBinary(file, bytes, ".solverstate"));
  SolverStateFile state;
  bool has_iter = false;
  WireReader reader(file, bytes);
  while (reader.Next()) {
    has_iter = has_iter || reader.Is(kIter, WireType::kVarint);
    SHOAL_RETURN_IF_ERROR(Take(file, reader, state));
  }
  SHOAL_RETURN_IF_ERROR(reader.status());
  if (!has_iter || state.iter < 0 || state.current_step < 0) {
    return Status(Code::kCorruption,
                  std::string(file) + ": says no iteration to go on from; not a .solverstate");
  }
  return state;
}

std::string WriteSolverState(const SolverStateFile& state) {
  std::size_t size = state.learned_net.size() + 64;  // The rest are a few numbers.
  for (const Blob& blob : state.history) {
    size += internal::BytesFieldSize(kHistory, internal::BlobSize(blob));
  }
  std::string out;
  out.reserve(size);
  internal::AppendNumber(kIter, state.iter, out);
  internal::AppendBytes(kLearnedNet, state.learned_net, out);
  for (const Blob& blob : state.history) {
    internal::AppendHeader(kHistory, internal::BlobSize(blob), out);
    internal::AppendBlob(blob, out);
  }
  internal::AppendNumber(kCurrentStep, state.current_step, out);
  if (!state.minimum_loss) return out;
  internal::AppendTag(kMinimumLoss, WireType::kFixed32, out);
  const auto bits = std::bit_cast<std::uint32_t>(*state.minimum_loss);
  for (unsigned shift = 0; shift < 32; shift += 8) out += static_cast<char>(bits >> shift & 0xFF);
  internal::AppendNumber(kIterLastEvent, state.iter_last_event, out);
  return out;
}

}  // namespace shoal::caffe
