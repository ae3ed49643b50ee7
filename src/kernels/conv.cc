#include "kernels/conv.h"

#include <cstddef>
#include <string>
#include <vector>

#include "base/check.h"
#include "kernels/conv_blas.h"
#include "kernels/conv_depthwise.h"
#include "kernels/conv_implicit_gemm.h"
#include "kernels/conv_onednn.h"
#include "kernels/conv_opencl.h"
#include "kernels/conv_winograd.h"

namespace shoal::kernels {
namespace {

// Rows keep their addresses when one is added.
constexpr std::size_t kRowsMax = 16;

std::vector<ConvImplementation> FirstRows() {
  std::vector<ConvImplementation> rows = {
      {"implicit-gemm", true, &MakeImplicitGemmForward, &MakeImplicitGemmBackwardData,
       &MakeImplicitGemmBackwardWeights},
      {"depthwise", true, &MakeDepthwiseForward, &MakeDepthwiseBackwardData,
       &MakeDepthwiseBackwardWeights},
      kWinogradF2,
      kWinogradF4,
  };
  rows.reserve(kRowsMax);
  for (const ConvImplementation& row : OneDnnConvRows()) rows.push_back(row);
  return rows;
}

std::vector<ConvImplementation>& Rows() {
  static std::vector<ConvImplementation> rows = FirstRows();
  return rows;
}

Result<ConvImplementation> LoadRow(std::string_view name) {
  if (name == kBlasConvName) return LoadBlasConv();
  if (name == kOpenClConvName) return LoadOpenClConv();
  return Status(Code::kNotFound, "no convolution is called '" + std::string(name) + "'");
}

}  // namespace

std::span<const ConvImplementation> ConvImplementations() { return Rows(); }

Status EnableConvImplementation(std::string_view name) {
  for (const ConvImplementation& row : Rows()) {
    if (row.name == name) return {};
  }
  SHOAL_ASSIGN_OR_RETURN(const ConvImplementation row, LoadRow(name));
  SHOAL_CHECK(Rows().size() < kRowsMax);
  Rows().push_back(row);
  return {};
}

}  // namespace shoal::kernels
