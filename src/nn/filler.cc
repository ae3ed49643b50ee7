#include "nn/filler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/random.h"

namespace shoal::nn {
namespace {

// The n of Xavier's and MSRA's rules.
double Fan(const Filler& filler, const Shape& shape) {
  const auto count = static_cast<double>(shape.elements());
  const double first = shape.rank() > 0 ? static_cast<double>(shape[0]) : 1;
  const double second = shape.rank() > 1 ? static_cast<double>(shape[1]) : 1;
  const double fan_in = count / std::max(first, 1.0);
  const double fan_out = count / std::max(second, 1.0);
  switch (filler.variance) {
    case Filler::Variance::kFanIn:
      return fan_in;
    case Filler::Variance::kFanOut:
      return fan_out;
    case Filler::Variance::kAverage:
      return (fan_in + fan_out) / 2;
  }
  return fan_in;
}

void FillUniform(double min, double max, Random& random, std::span<float> out) {
  for (float& value : out) value = static_cast<float>(min + (max - min) * random.Unit());
}

void FillNormal(double mean, double deviation, Random& random, std::span<float> out) {
  for (float& value : out) value = static_cast<float>(mean + deviation * random.Normal());
}

Status FillGaussian(const Filler& filler, const Shape& shape, Random& random,
                    std::span<float> out) {
  if (filler.std < 0) return Status(Code::kInvalidArgument, "gaussian filler: std is negative");
  FillNormal(filler.mean, filler.std, random, out);
  if (filler.sparse < 0) return {};
  // On average `sparse` inputs of every output are not zero.
  const double outputs = shape.rank() > 0 ? static_cast<double>(shape[0]) : 1;
  const double keep = static_cast<double>(filler.sparse) / std::max(outputs, 1.0);
  for (float& value : out) {
    if (!random.Chance(keep)) value = 0;
  }
  return {};
}

void FillUnitBall(const Shape& shape, Random& random, std::span<float> out) {
  FillUniform(0, 1, random, out);
  const auto rows = static_cast<std::size_t>(shape.rank() > 0 ? shape[0] : 1);
  if (rows == 0) return;
  const std::size_t row_size = out.size() / rows;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::span<float> row = out.subspan(r * row_size, row_size);
    double sum = 0;
    for (const float value : row) sum += value;
    for (float& value : row) value = static_cast<float>(value / sum);
  }
}

// Weights with which a deconvolution interpolates.
Status FillBilinear(const Shape& shape, std::span<float> out) {
  if (shape.rank() != 4 || shape[2] != shape[3]) {
    return Status(Code::kInvalidArgument, "bilinear filler: needs square kernels of rank 4");
  }
  const std::int64_t side = shape[2];
  const auto f = static_cast<double>((side + 1) / 2);
  const double c = (2 * f - 1 - static_cast<double>((side + 1) / 2 % 2)) / (2 * f);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto x = static_cast<double>(static_cast<std::int64_t>(i) % side);
    const auto y = static_cast<double>(static_cast<std::int64_t>(i) / side % side);
    out[i] = static_cast<float>((1 - std::abs(x / f - c)) * (1 - std::abs(y / f - c)));
  }
  return {};
}

}  // namespace

Status Fill(const Filler& filler, const Shape& shape, std::uint64_t seed, std::uint64_t stream,
            std::span<float> out) {
  Random random(seed, stream);
  switch (filler.kind) {
    case Filler::Kind::kConstant:
      std::fill(out.begin(), out.end(), filler.value);
      return {};
    case Filler::Kind::kUniform:
      FillUniform(filler.min, filler.max, random, out);
      return {};
    case Filler::Kind::kGaussian:
      return FillGaussian(filler, shape, random, out);
    case Filler::Kind::kXavier: {
      const double limit = std::sqrt(3 / std::max(Fan(filler, shape), 1.0));
      FillUniform(-limit, limit, random, out);
      return {};
    }
    case Filler::Kind::kMsra:
      FillNormal(0, std::sqrt(2 / std::max(Fan(filler, shape), 1.0)), random, out);
      return {};
    case Filler::Kind::kPositiveUnitball:
      FillUnitBall(shape, random, out);
      return {};
    case Filler::Kind::kBilinear:
      return FillBilinear(shape, out);
  }
  return {};
}

}  // namespace shoal::nn
