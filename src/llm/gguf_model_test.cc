#include "llm/gguf_model.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "llm/gguf_testing.h"

namespace shoal::llm {
namespace {

using Paths = std::vector<std::string>;

TEST(GgufPartPathsTest, AnyPartNamesAll) {
  const Paths all = {"d/m-00001-of-00002.gguf", "d/m-00002-of-00002.gguf"};
  EXPECT_EQ(*GgufPartPaths(all[0]), all);
  EXPECT_EQ(*GgufPartPaths(all[1]), all);
}

TEST(GgufPartPathsTest, OtherNamesAreFilesOfTheirOwn) {
  for (const char* path : {"a.gguf", "a-1-of-2.gguf", "-0000a-of-00002.gguf", ".gguf", "",
                           "a-00001-of-00002.bin", "a-00001-or-00002.gguf"}) {
    EXPECT_EQ(*GgufPartPaths(path), Paths{path});
  }
}

TEST(GgufPartPathsTest, ImpossibleNumbers) {
  EXPECT_EQ(GgufPartPaths("a-00003-of-00002.gguf").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(GgufPartPaths("a-00000-of-00002.gguf").status().code(), Code::kInvalidArgument);
}

// Part `index` of `count`, with one tensor.
std::string Part(std::uint32_t index, std::uint32_t count, std::uint32_t tensors,
                 std::string_view tensor) {
  GgufWriter writer;
  if (index == 0) writer.SetString("general.architecture", "llama");
  writer.SetUnsigned("split.no", index);
  writer.SetUnsigned("split.count", count);
  writer.SetUnsigned("split.tensors.count", tensors);
  writer.AddTensor(tensor, DType::kF32, {4});
  return WithZeroTensors(writer, 1);
}

Result<GgufModel> Make(const std::vector<std::string>& parts) {
  std::vector<GgufFile> files;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto file = GgufFile::Parse("part" + std::to_string(i), AsBytes(parts[i]));
    if (!file.ok()) return std::move(file).status();
    files.push_back(*std::move(file));
  }
  return GgufModel::Make(std::move(files));
}

TEST(GgufModelTest, FindsTensorsInAllParts) {
  const std::vector<std::string> parts = {Part(0, 2, 2, "a"), Part(1, 2, 2, "b")};
  const auto model = Make(parts);
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_EQ(model->tensors().size(), 2U);
  EXPECT_NE(model->Find("a"), nullptr);
  EXPECT_EQ((*model->Get("b"))->shape, Shape{4});
  EXPECT_EQ(model->Get("c").status().message(), "part0: has no tensor \"c\"");
  EXPECT_EQ(*model->metadata().GetString("general.architecture"), "llama");
}

TEST(GgufModelTest, PartsMustBeAllAndInOrder) {
  const std::string first = Part(0, 2, 2, "a");
  const std::string second = Part(1, 2, 2, "b");
  EXPECT_EQ(Make({first}).status().message(), "part0: is part 1 of 2; wanted part 1 of 1");
  EXPECT_EQ(Make({second, first}).status().message(), "part0: is part 2 of 2; wanted part 1 of 2");
  EXPECT_EQ(Make({first, Part(1, 2, 2, "a")}).status().message(),
            "part0: tensor \"a\" is there twice");
  EXPECT_EQ(Make({Part(0, 2, 3, "a"), second}).status().message(),
            "part0: says that its parts have 3 tensors; they have 2");
  EXPECT_FALSE(Make({}).ok());
}

}  // namespace
}  // namespace shoal::llm
