// Winograd's convolutions as rows of the table in conv.h: 3 × 3 kernels of stride 1 with 2.25
// times (F(2×2, 3×3)) or 4 times (F(4×4, 3×3)) fewer multiplications than the definition has, for
// additions around them. They suit images of many channels.
//
// Their results are less exact than a sum of products: errors grow with the transforms' factors.
// Of numbers of equal size, F2 loses about one bit, F4 three to four (conv_winograd_test.cc holds
// them to a bound). A NaN or infinity spreads over its tile.
//
// They have the same bits on every target and for every number of workers.
//
// Memory: the transformed weights, 16/9 or 4 times the weights, and some MiB per worker.
#pragma once

#include "kernels/conv.h"

namespace shoal::kernels {

// "winograd-f2" and "winograd-f4": all passes, for kernels of 3 × 3, stride 1, no dilation, up to
// 2 pixels of padding, and groups of 4 channels or more.
extern const ConvImplementation kWinogradF2;
extern const ConvImplementation kWinogradF4;

}  // namespace shoal::kernels
