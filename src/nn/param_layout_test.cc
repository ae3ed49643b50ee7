#include "nn/param_layout.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace shoal::nn {
namespace {

std::vector<float> Counting(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

void ExpectRoundTrip(const ParamLayout& layout) {
  const std::vector<float> file = Counting(layout.elements());
  std::vector<float> memory(file.size()), back(file.size());
  layout.FromFile(file, memory);
  layout.ToFile(memory, back);
  EXPECT_EQ(back, file);
}

TEST(ParamLayoutTest, ConvolutionPutsOutputsLast) {
  const ParamLayout layout = ParamLayout::Convolution({4, 3, 2, 5});
  const std::vector<float> file = Counting(layout.elements());
  std::vector<float> memory(file.size());
  layout.FromFile(file, memory);
  // Output 2, channel 1, row 1, column 3.
  EXPECT_EQ(memory[((1 * 5 + 3) * 3 + 1) * 4 + 2], file[((2 * 3 + 1) * 2 + 1) * 5 + 3]);
  ExpectRoundTrip(layout);
}

TEST(ParamLayoutTest, InnerProductTakesItsInputAsItLies) {
  for (const bool transposed : {false, true}) {
    const ParamLayout layout = ParamLayout::InnerProduct(4, 3, 6, transposed);
    EXPECT_EQ(layout.shape(), transposed ? Shape({18, 4}) : Shape({4, 18}));
    const std::vector<float> file = Counting(layout.elements());
    std::vector<float> memory(file.size());
    layout.FromFile(file, memory);
    // Output 2 from channel 1 of pixel 5, which Caffe counts as input 1 · 6 + 5.
    const std::size_t in_file = transposed ? 11 * 4 + 2 : 2 * 18 + 11;
    EXPECT_EQ(memory[(5 * 3 + 1) * 4 + 2], file[in_file]);
    ExpectRoundTrip(layout);
  }
}

TEST(ParamLayoutTest, PlainIsAsInTheFile) {
  const ParamLayout layout = ParamLayout::Plain({2, 3});
  const std::vector<float> file = Counting(6);
  std::vector<float> memory(6);
  layout.FromFile(file, memory);
  EXPECT_EQ(memory, file);
}

}  // namespace
}  // namespace shoal::nn
