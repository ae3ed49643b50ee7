// FirstSupported: chooses without measuring, and so the same on every device: for tests, and where
// starting at once matters more than speed. Portable rows only.
#pragma once

#include "nn/conv_chooser.h"

namespace shoal::nn {

class FirstSupported final : public ConvChooser {
 public:
  // "depthwise" where there is one channel a group and the row has the pass, else the first row
  // of the table, which has all.
  const kernels::ConvImplementation& Choose(const kernels::ConvShape& shape,
                                            ConvDirection direction) override;
};

}  // namespace shoal::nn
