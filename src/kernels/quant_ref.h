// QuantTile in plain C++: what the others are tested against.
#pragma once

#include "kernels/quant_tile.h"

namespace shoal::kernels {

void RefQuantTile(PackedForm form, const QuantTile& tile);

}  // namespace shoal::kernels
