#include "nn/nearest_batch.h"

#include "nn/conv_support.h"
#include "nn/conv_tuner.h"

namespace shoal::nn {

const kernels::ConvImplementation* NearestBatch::Nearest(const Batches& known, std::size_t batch) {
  const kernels::ConvImplementation* nearest = nullptr;
  std::size_t distance = 0;
  for (const auto& [other, row] : known) {
    if (!row.chosen) continue;
    const std::size_t to = other < batch ? batch - other : other - batch;
    if (nearest != nullptr && to >= distance) continue;
    nearest = row.row;
    distance = to;
  }
  return nearest;
}

const kernels::ConvImplementation& NearestBatch::Choose(const kernels::ConvShape& shape,
                                                        ConvDirection direction) {
  kernels::ConvShape any = shape;
  any.batch = 0;
  Batches& known = known_[PassName(any, direction)];
  if (const auto it = known.find(shape.batch); it != known.end()) return *it->second.row;
  const kernels::ConvImplementation* row = Nearest(known, shape.batch);
  if (row != nullptr && Supports(*row, shape, direction, {.workers = workers_})) {
    known[shape.batch] = {.row = row, .chosen = false};
    return *row;
  }
  ++asked_;
  row = &chooser_.Choose(shape, direction);
  known[shape.batch] = {.row = row, .chosen = true};
  return *row;
}

}  // namespace shoal::nn
