// Goal: an all-reduce in F16 is as exact as F16 can be at the size of the paper's cluster, gives
// all ranks the same bits, and survives zeros, tiny and huge numbers, infinities and NaN. Method:
// communicators in a simulated world against sums in double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>

#include "collective/members_for_test.h"
#include "collective/numbers_internal.h"

namespace shoal::collective {
namespace {

Numbers AllReduceF16(const Numbers& given, Algorithm algorithm, float scale) {
  Members members(given.size());
  const AllReduceOptions options = {.algorithm = algorithm,
                                    .pieces = {.elements = 64, .ahead = 4},
                                    .wire = WireType::kF16,
                                    .scale = scale};
  members.Dial(options);
  Numbers output = given;
  std::size_t done = 0;
  for (std::size_t rank = 0; rank < given.size(); ++rank) {
    members.at(rank).AllReduce(given[rank], output[rank], options, [&](const Status& status) {
      EXPECT_TRUE(status.ok()) << status.ToString();
      ++done;
    });
  }
  EXPECT_TRUE(members.RunUntil([&] { return done == given.size(); }));
  for (const auto& result : output) ExpectBits(result, output[0]);
  return output;
}

// Root mean square of the errors, and of the sums.
struct Errors {
  double error = 0;
  double sum = 0;
  double largest = 0;
};

Errors Compare(const Numbers& given, const std::vector<float>& output, float scale) {
  Errors errors;
  for (std::size_t i = 0; i < output.size(); ++i) {
    double sum = 0;
    for (const auto& numbers : given) sum += static_cast<double>(scale * numbers[i]);
    const double error = static_cast<double>(output[i]) - sum;
    errors.error += error * error / static_cast<double>(output.size());
    errors.sum += sum * sum / static_cast<double>(output.size());
    errors.largest = std::max(errors.largest, std::abs(error));
  }
  return {std::sqrt(errors.error), std::sqrt(errors.sum), errors.largest};
}

Numbers Gradients(std::size_t ranks, std::size_t elements, double magnitude) {
  Numbers given = RandomNumbers(ranks, elements, 5);
  for (auto& numbers : given) {
    for (float& number : numbers) number *= static_cast<float>(magnitude);
  }
  return given;
}

class F16Test : public testing::TestWithParam<Algorithm> {};

TEST_P(F16Test, AddsUpAsWellAsItCanAtThePapersSize) {
  constexpr std::size_t kRanks = 138;
  for (const double magnitude : {1.0, 1e-12, 1e12}) {
    const Numbers given = Gradients(kRanks, 4000, magnitude);
    const float scale = 1.0F / kRanks;
    const Numbers output = AllReduceF16(given, GetParam(), scale);
    const Errors errors = Compare(given, output[0], scale);
    std::printf("138 ranks, numbers around %g: relative error %.2e rms, %.2e at most\n", magnitude,
                errors.error / errors.sum, errors.largest / errors.sum);
    EXPECT_LT(errors.error / errors.sum, 2.5e-3);
    EXPECT_LT(errors.largest / errors.sum, 1.5e-2);
    EXPECT_GT(errors.error, 0.0);
  }
}

TEST_P(F16Test, ANumberThatIsNoneComesOutAsNoneEverywhere) {
  for (const std::size_t ranks : {2U, 3U, 5U, 8U}) {
    Numbers given = Gradients(ranks, 100, 1);
    given[1][17] = std::numeric_limits<float>::quiet_NaN();
    given[0][18] = std::numeric_limits<float>::infinity();
    given[0][19] = std::numeric_limits<float>::infinity();
    given[1][19] = -std::numeric_limits<float>::infinity();
    const Numbers output = AllReduceF16(given, GetParam(), 1);
    EXPECT_TRUE(std::isnan(output[0][17]));
    EXPECT_EQ(output[0][18], std::numeric_limits<float>::infinity());
    EXPECT_TRUE(std::isnan(output[0][19]));
    EXPECT_TRUE(std::isfinite(output[0][20]));
  }
}

TEST_P(F16Test, ZerosAndNothingAtAllAreSums) {
  EXPECT_EQ(AllReduceF16(Numbers(3, std::vector<float>(10)), GetParam(), 1)[2],
            std::vector<float>(10));
  AllReduceF16(Numbers(3), GetParam(), 1);
  AllReduceF16(Gradients(1, 10, 1), GetParam(), 1);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, F16Test,
                         testing::Values(Algorithm::kRing, Algorithm::kHalvingDoubling));

TEST(PowerForF16Test, BringsTheLargestSumIntoRange) {
  for (const std::size_t ranks : {1U, 2U, 138U, 4096U}) {
    for (const float largest : {1e-30F, 3e-5F, 1.0F, 65504.0F, 1e30F}) {
      const auto power = static_cast<double>(PowerForF16(largest, ranks));
      double bound = static_cast<double>(largest) * static_cast<double>(ranks);
      for (std::size_t i = 0; i < ranks; ++i) bound *= 1 + 0x1p-11;
      EXPECT_LE(bound * power, 65504.0);
      EXPECT_TRUE(2 * bound * power > 65504.0 || power == 0x1p100) << largest;
      int exponent = 0;
      EXPECT_EQ(std::frexp(power, &exponent), 0.5);
    }
  }
  EXPECT_EQ(PowerForF16(0, 5), 1.0F);
  EXPECT_EQ(PowerForF16(std::numeric_limits<float>::infinity(), 5), 1.0F);
  EXPECT_EQ(PowerForF16(std::numeric_limits<float>::quiet_NaN(), 5), 1.0F);
}

}  // namespace
}  // namespace shoal::collective
