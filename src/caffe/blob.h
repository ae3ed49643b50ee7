// Blob: numbers with a shape, as Caffe's files keep weights, histories and means.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shoal::caffe {

struct Blob {
  // As the file has it. Files of before 2015 have four dimensions for everything: the weights of
  // an inner product are (1, 1, N, K) in them, its bias (1, 1, 1, N).
  std::vector<std::int64_t> shape;
  std::vector<float> values;  // Row-major, as many as `shape` says.
  bool operator==(const Blob&) const = default;
};

// Whether both shapes are the same but for leading ones: what Caffe lets old files get away with.
bool SameButForOnes(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b);

// "20x1x5x5", or "scalar".
std::string ShapeText(const std::vector<std::int64_t>& shape);

}  // namespace shoal::caffe
