#include "data/transform.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "data/data_testing.h"

namespace shoal::data {
namespace {

float Element(const Record& record, std::int64_t y, std::int64_t x, std::int64_t c) {
  const auto at = static_cast<std::size_t>((y * record.width + x) * record.channels + c);
  return record.floats.empty() ? record.bytes[at] : record.floats[at];
}

struct Window {
  std::int64_t top, left, side;
  bool mirror;
};

// Caffe's definition, element by element.
std::vector<float> Expected(const Record& record, const Window& window, const MeanImage* mean,
                            const std::vector<float>& values, float scale) {
  std::vector<float> out;
  for (std::int64_t y = 0; y < window.side; ++y) {
    for (std::int64_t x = 0; x < window.side; ++x) {
      const std::int64_t from = window.left + (window.mirror ? window.side - 1 - x : x);
      for (std::int64_t c = 0; c < record.channels; ++c) {
        float m = 0;
        if (!values.empty()) m = values[values.size() == 1 ? 0 : static_cast<std::size_t>(c)];
        if (mean != nullptr) {
          m = mean->values[static_cast<std::size_t>(
              ((window.top + y) * record.width + from) * record.channels + c)];
        }
        out.push_back((Element(record, window.top + y, from, c) - m) * scale);
      }
    }
  }
  return out;
}

std::vector<float> Apply(const Transform& transform, const Record& record, Cursor at) {
  const ImageShape shape = *transform.OutputShape(record);
  std::vector<float> out(static_cast<std::size_t>(shape.height * shape.width * shape.channels));
  transform.Apply(record, at, out.data(), shape.channels);
  return out;
}

MeanImage TestMean(std::int64_t channels, std::int64_t side) {
  MeanImage mean{.channels = channels, .height = side, .width = side, .values = {}};
  for (std::int64_t i = 0; i < channels * side * side; ++i) {
    mean.values.push_back(static_cast<float>(i % 97) / 3);
  }
  return mean;
}

TEST(Transform, MeanAndScaleWithoutCrop) {
  for (const std::int64_t channels : {1, 3, 5}) {
    const Record record = TestRecord(channels, 21, 21, 1);
    const TransformDef def{.scale = 0.25F, .mean_values = {12.5F}};
    const auto transform = Transform::Create(def, std::nullopt, true, 1);
    EXPECT_EQ(Apply(*transform, record, {}),
              Expected(record, {0, 0, 21, false}, nullptr, {12.5F}, 0.25F));
  }
}

TEST(Transform, AMeanForEachChannel) {
  for (const std::int64_t channels : {2, 3, 5, 50}) {
    const Record record = TestRecord(channels, 19, 19, 2);
    std::vector<float> means;
    for (std::int64_t c = 0; c < channels; ++c) means.push_back(100 + static_cast<float>(c));
    const auto transform =
        Transform::Create({.scale = 2, .mean_values = means}, std::nullopt, true, 1);
    EXPECT_EQ(Apply(*transform, record, {}),
              Expected(record, {0, 0, 19, false}, nullptr, means, 2));
  }
}

TEST(Transform, TestingTakesTheMiddle) {
  const Record record = TestRecord(3, 33, 33, 0);
  const auto transform = Transform::Create({.crop = 30}, std::nullopt, false, 9);
  EXPECT_EQ(Apply(*transform, record, {1, 2}), Expected(record, {1, 1, 30, false}, nullptr, {}, 1));
}

TEST(Transform, TrainingCropsAndMirrorsEverywhereWithTheMeanOfThePlace) {
  const Record record = TestRecord(3, 20, 20, 4);
  const MeanImage mean = TestMean(3, 20);
  const auto transform =
      Transform::Create({.scale = 0.5F, .mirror = true, .crop = 17}, mean, true, 5);
  std::set<int> seen;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const std::vector<float> out = Apply(*transform, record, {i % 3, i});
    for (int candidate = 0; candidate < 32; ++candidate) {
      const Window window{candidate / 8, candidate / 2 % 4, 17, candidate % 2 == 1};
      if (out == Expected(record, window, &mean, {}, 0.5F)) seen.insert(candidate);
    }
  }
  EXPECT_EQ(seen.size(), 32U);
}

TEST(Transform, MirrorsWhileTestingToo) {
  const Record record = TestRecord(1, 8, 8, 0);
  const auto transform = Transform::Create({.mirror = true}, std::nullopt, false, 5);
  std::set<std::vector<float>> seen;
  for (std::uint64_t i = 0; i < 40; ++i) seen.insert(Apply(*transform, record, {0, i}));
  EXPECT_EQ(seen.size(), 2U);
}

TEST(Transform, ChoicesFollowFromSeedAndPlaceAlone) {
  const Record record = TestRecord(3, 40, 40, 0);
  const TransformDef def{.mirror = true, .crop = 8};
  const auto a = Transform::Create(def, std::nullopt, true, 5);
  const auto b = Transform::Create(def, std::nullopt, true, 5);
  const auto other = Transform::Create(def, std::nullopt, true, 6);
  const std::vector<float> out = Apply(*a, record, {3, 4});
  Apply(*b, record, {1, 1});
  EXPECT_EQ(Apply(*b, record, {3, 4}), out);
  EXPECT_NE(Apply(*a, record, {3, 5}), out);
  EXPECT_NE(Apply(*a, record, {4, 4}), out);
  EXPECT_NE(Apply(*other, record, {3, 4}), out);
}

TEST(Transform, WritesPixelsApart) {
  const Record record = TestRecord(3, 6, 6, 0);
  const auto transform =
      Transform::Create({.mirror = true, .mean_values = {1, 2, 3}}, std::nullopt, true, 5);
  for (std::uint64_t i = 0; i < 4; ++i) {
    const std::vector<float> dense = Apply(*transform, record, {0, i});
    std::vector<float> out(6 * 6 * 4, -1);
    transform->Apply(record, {0, i}, out.data(), 4);
    for (std::size_t p = 0; p < 36; ++p) {
      for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(out[4 * p + c], dense[3 * p + c]);
      EXPECT_EQ(out[4 * p + 3], -1);
    }
  }
}

TEST(Transform, TakesFloats) {
  Record record = TestRecord(1, 2, 2, 0);
  record.bytes.clear();
  record.floats = {0.5F, 1.5F, 2.5F, 3.5F};
  const auto transform = Transform::Create({.scale = 2, .mean_values = {1}}, std::nullopt, true, 5);
  EXPECT_EQ(Apply(*transform, record, {}), (std::vector<float>{-1, 1, 3, 5}));
}

TEST(Transform, MeanFilesHavePlanes) {
  const MeanImage mean = MeanImageFromPlanes(2, 1, 2, {1, 2, 3, 4});
  EXPECT_EQ(mean.values, (std::vector<float>{1, 3, 2, 4}));
}

TEST(Transform, SaysWhatDoesNotFit) {
  const Record record = TestRecord(3, 8, 9, 0);
  const auto error = [&](const TransformDef& def, std::optional<MeanImage> mean) {
    const auto transform = Transform::Create(def, std::move(mean), true, 1);
    return Message(transform.ok() ? transform->OutputShape(record).status() : transform.status());
  };
  EXPECT_EQ(error({.crop = 9}, std::nullopt),
            "crop_size 9 does not fit into an image of 3 x 8 x 9");
  EXPECT_EQ(error({.mean_values = {1, 2}}, std::nullopt),
            "2 values of mean_value for an image of 3 x 8 x 9");
  EXPECT_EQ(error({}, TestMean(3, 8)), "a mean image of 3 x 8 x 8 for an image of 3 x 8 x 9");
  EXPECT_EQ(error({.mean_values = {1}}, TestMean(3, 8)), "both mean_file and mean_value are given");
  EXPECT_EQ(error({.crop = -1}, std::nullopt), "crop_size is negative");
  EXPECT_FALSE(Transform::Create({}, MeanImage{1, 1, 1, {}}, true, 1).ok());
}

}  // namespace
}  // namespace shoal::data
