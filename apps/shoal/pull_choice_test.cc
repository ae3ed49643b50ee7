#include "shoal/pull_choice.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

RemoteFile File(const std::string& path, std::uint64_t size = 1) {
  return {.path = path, .size = size, .sha256 = {}};
}

std::vector<std::string> PathsOf(const Choice& choice) {
  std::vector<std::string> paths;
  for (const RemoteFile& file : choice.files) paths.push_back(file.path);
  return paths;
}

RepositoryId Id(const std::string& file) { return {.owner = "o", .name = "n", .file = file}; }

const std::vector<RemoteFile> kQuants = {File("README.md"),
                                         File("m-Q4_K_S.gguf", 3),
                                         File("m-Q4_K_M.gguf", 4),
                                         File("m-IQ4_XS.gguf", 2),
                                         File("m-q8_0.gguf", 8),
                                         File("mmproj-q8_0.gguf", 1),
                                         File("BF16/m-BF16-00002-of-00002.gguf", 9),
                                         File("BF16/m-BF16-00001-of-00002.gguf", 9)};

TEST(PullChoiceTest, AQuantisationSelectsItsFile) {
  EXPECT_EQ(PathsOf(*ChooseFiles(Id("Q4_K_M"), kQuants)),
            std::vector<std::string>{"m-Q4_K_M.gguf"});
  EXPECT_EQ(PathsOf(*ChooseFiles(Id("q4_k_s"), kQuants)),
            std::vector<std::string>{"m-Q4_K_S.gguf"});
  EXPECT_EQ(PathsOf(*ChooseFiles(Id("Q8_0"), kQuants)), std::vector<std::string>{"m-q8_0.gguf"});
  EXPECT_EQ(ChooseFiles(Id("Q8_0"), kQuants)->folder, "");
  EXPECT_EQ(ChooseFiles(Id("Q4_K"), kQuants).status().code(), Code::kNotFound);
  EXPECT_EQ(ChooseFiles(Id("Q4_XS"), kQuants).status().code(), Code::kNotFound);
  EXPECT_EQ(PathsOf(*ChooseFiles(Id("Q4_0"), {File("a.Q4_0.gguf"), File("a.Q4_1.gguf")})),
            std::vector<std::string>{"a.Q4_0.gguf"});
}

TEST(PullChoiceTest, PartsComeTogether) {
  const std::vector<std::string> parts = {"BF16/m-BF16-00001-of-00002.gguf",
                                          "BF16/m-BF16-00002-of-00002.gguf"};
  for (const char* file :
       {"bf16", "BF16/m-BF16-00002-of-00002.gguf", "m-BF16-00001-of-00002.gguf"}) {
    const auto choice = ChooseFiles(Id(file), kQuants);
    ASSERT_TRUE(choice.ok()) << choice.status().ToString();
    EXPECT_EQ(PathsOf(*choice), parts);
    EXPECT_EQ(choice->folder, "m-BF16");
  }
}

TEST(PullChoiceTest, AnyFileCanBeNamed) {
  EXPECT_EQ(PathsOf(*ChooseFiles(Id("README.md"), kQuants)), std::vector<std::string>{"README.md"});
  EXPECT_EQ(PathsOf(*ChooseFiles(Id("mmproj-q8_0.gguf"), kQuants)),
            std::vector<std::string>{"mmproj-q8_0.gguf"});
}

TEST(PullChoiceTest, SeveralAreListedWithASuggestion) {
  const auto choice = ChooseFiles(Id(""), kQuants);
  EXPECT_EQ(choice.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(choice.status().message(),
            "o/n has several models; choose one:\n"
            "     2 bytes  m-IQ4_XS.gguf\n"
            "     3 bytes  m-Q4_K_S.gguf\n"
            "     4 bytes  m-Q4_K_M.gguf\n"
            "     8 bytes  m-q8_0.gguf\n"
            "    18 bytes  BF16/m-BF16-00001-of-00002.gguf  (2 parts)\n"
            "for example: shoal pull o/n:Q4_K_M");
  // A quantisation that two models have.
  const auto two = ChooseFiles(Id("Q4_0"), {File("a-Q4_0.gguf"), File("b-Q4_0.gguf")});
  EXPECT_TRUE(two.status().message().ends_with("for example: shoal pull o/n:a-Q4_0.gguf"))
      << two.status().message();
}

TEST(PullChoiceTest, TheOnlyModelIsTaken) {
  EXPECT_EQ(
      PathsOf(*ChooseFiles(Id(""), {File("README.md"), File("m.GGUF"), File("x.safetensors")})),
      std::vector<std::string>{"m.GGUF"});
}

TEST(PullChoiceTest, SafetensorsComeWithWhatBelongsToThem) {
  const auto choice = ChooseFiles(
      Id(""), {File("README.md"), File("config.json"), File("tokenizer.json"), File("model.bin"),
               File("model-00001-of-00002.safetensors"), File("model-00002-of-00002.safetensors"),
               File("model.safetensors.index.json"), File("consolidated.safetensors"),
               File("onnx/model.safetensors"), File("onnx/config.json")});
  ASSERT_TRUE(choice.ok()) << choice.status().ToString();
  EXPECT_EQ(choice->folder, "n");
  EXPECT_EQ(PathsOf(*choice),
            (std::vector<std::string>{
                "config.json", "tokenizer.json", "model-00001-of-00002.safetensors",
                "model-00002-of-00002.safetensors", "model.safetensors.index.json"}));
  EXPECT_EQ(PathsOf(*ChooseFiles(Id(""), {File("consolidated.safetensors")})),
            std::vector<std::string>{"consolidated.safetensors"});
}

TEST(PullChoiceTest, NothingToTakeIsSaid) {
  EXPECT_EQ(ChooseFiles(Id(""), {File("README.md")}).status().message(),
            "o/n has neither a GGUF nor a safetensors file among its 1 files");
  EXPECT_EQ(ChooseFiles(Id("Q9"), {File("a-Q4_0.gguf")}).status().message(),
            "o/n has no file or quantisation called Q9; it has a-Q4_0.gguf");
}

TEST(PullChoiceTest, SizesAreReadable) {
  EXPECT_EQ(BytesText(4'370'000'000), "4.37 GB");
  EXPECT_EQ(BytesText(500'000), "0.5 MB");
  EXPECT_EQ(BytesText(12), "12 bytes");
}

}  // namespace
}  // namespace shoal
