#include "nn/nearest_batch.h"

#include <gtest/gtest.h>

#include "nn/conv_support.h"

namespace shoal::nn {
namespace {

// Another row for even batches than for odd ones.
class EvenAndOdd final : public ConvChooser {
 public:
  const kernels::ConvImplementation& Choose(const kernels::ConvShape& shape,
                                            ConvDirection /*direction*/) override {
    const auto rows = kernels::ConvImplementations();
    for (const auto& row : rows) {
      const bool first = &row == rows.data();
      if (first != (shape.batch % 2 == 0)) continue;
      if (Supports(row, shape, ConvDirection::kForward, {})) return row;
    }
    return rows.front();
  }
};

kernels::ConvShape Shape(std::size_t batch, std::size_t outputs = 8) {
  return {.batch = batch,
          .height = 8,
          .width = 8,
          .channels = 8,
          .outputs = outputs,
          .kernel_h = 3,
          .kernel_w = 3,
          .pad_h = 1,
          .pad_w = 1};
}

TEST(NearestBatchTest, ANewBatchIsComputedAsTheOneThatIsKnown) {
  EvenAndOdd others;
  NearestBatch chooser(others, 1);
  const auto& even = chooser.Choose(Shape(4), ConvDirection::kForward);
  EXPECT_EQ(even.name, others.Choose(Shape(4), ConvDirection::kForward).name);
  ASSERT_NE(even.name, others.Choose(Shape(5), ConvDirection::kForward).name);
  EXPECT_EQ(chooser.asked(), 1U);
  for (const std::size_t batch : {5U, 7U, 100U, 1U, 4U}) {
    EXPECT_EQ(chooser.Choose(Shape(batch), ConvDirection::kForward).name, even.name) << batch;
  }
  EXPECT_EQ(chooser.asked(), 1U);
}

TEST(NearestBatchTest, WhatIsNewIsAsked) {
  EvenAndOdd others;
  NearestBatch chooser(others, 1);
  chooser.Choose(Shape(4), ConvDirection::kForward);
  const auto& odd = chooser.Choose(Shape(5, 16), ConvDirection::kForward);
  EXPECT_EQ(odd.name, others.Choose(Shape(5, 16), ConvDirection::kForward).name);
  chooser.Choose(Shape(4), ConvDirection::kBackwardData);
  EXPECT_EQ(chooser.asked(), 3U);
}

}  // namespace
}  // namespace shoal::nn
