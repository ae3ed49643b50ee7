#include "caffe/mean_file.h"

#include <span>

#include "caffe/blob_format_internal.h"
#include "caffe/wire_format_internal.h"

namespace shoal::caffe {

Result<Blob> ReadMean(std::string_view file, std::string_view bytes) {
  SHOAL_RETURN_IF_ERROR(internal::CheckBinary(file, bytes, "mean file"));
  SHOAL_ASSIGN_OR_RETURN(
      Blob mean, internal::ReadBlob(file, "the mean image", internal::WireReader(file, bytes)));
  if (mean.shape.size() == 4 && mean.shape[0] == 1) mean.shape.erase(mean.shape.begin());
  if (mean.shape.size() != 3 || mean.values.empty()) {
    return Status(Code::kCorruption, std::string(file) + ": not one image (channels, height, " +
                                         "width) but " + ShapeText(mean.shape));
  }
  return mean;
}

std::string WriteMean(const Blob& mean) {
  SHOAL_CHECK_EQ(mean.shape.size(), 3U);
  constexpr std::uint64_t kNum = 1;
  constexpr std::uint64_t kData = 5;
  std::string out;
  internal::AppendNumber(kNum, 1, out);
  for (std::uint64_t i = 0; i < 3; ++i) {
    internal::AppendNumber(kNum + 1 + i, mean.shape[static_cast<std::size_t>(i)], out);
  }
  const auto bytes = std::as_bytes(std::span(mean.values));
  internal::AppendBytes(
      kData, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), out);
  return out;
}

}  // namespace shoal::caffe
