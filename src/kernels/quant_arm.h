// QuantTile with ARM's 8-bit dot products, which Highway 1.0.3 has no target for. Called only where
// the CPU has them.
#pragma once

#include "kernels/quant_tile.h"

namespace shoal::kernels {

void DotprodQuantTile(PackedForm form, const QuantTile& tile);

}  // namespace shoal::kernels
