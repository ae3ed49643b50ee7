// NearestBatch: chooses for a convolution what was chosen for the same one with another batch. A
// worker whose share of a batch changes builds its network anew between two steps, and nothing may
// be measured then; which row is the fastest seldom depends on the batch.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "nn/conv_chooser.h"

namespace shoal::nn {

// One thread. Asks `chooser` about what it has not seen with any batch, and where the row known
// does not support the new batch.
class NearestBatch final : public ConvChooser {
 public:
  // `workers`: of the Parallel that passes run on. `chooser` outlives this.
  NearestBatch(ConvChooser& chooser, std::size_t workers) : chooser_(chooser), workers_(workers) {}

  const kernels::ConvImplementation& Choose(const kernels::ConvShape& shape,
                                            ConvDirection direction) override;

  std::size_t asked() const { return asked_; }  // How often `chooser` was.

 private:
  struct Row {
    const kernels::ConvImplementation* row;
    bool chosen;  // By the other chooser for this very batch.
  };
  using Batches = std::map<std::size_t, Row>;

  static const kernels::ConvImplementation* Nearest(const Batches& known, std::size_t batch);

  ConvChooser& chooser_;
  std::size_t workers_;
  std::map<std::string, Batches> known_;  // By the name of the pass without a batch.
  std::size_t asked_ = 0;
};

}  // namespace shoal::nn
