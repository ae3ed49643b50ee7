#include "llm/gguf.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "llm/gguf_testing.h"
#include "llm/gguf_writer.h"

namespace shoal::llm {
namespace {

Result<GgufFile> Parse(const std::string& bytes) {
  return GgufFile::Parse("m.gguf", AsBytes(bytes));
}

// One key of each kind and two tensors.
GgufWriter SmallWriter() {
  GgufWriter writer;
  writer.SetString("general.architecture", "llama");
  writer.SetUnsigned("llama.block_count", 7);
  writer.SetFloat("eps", 0.5F);
  writer.SetBool("flag", true);
  const std::array<std::string_view, 3> tokens = {"<s>", "", "\xe2\x96\x81the"};
  writer.SetStrings("tokens", tokens);
  const std::array<float, 2> scores = {-1.0F, 2.5F};
  writer.SetFloats("scores", scores);
  const std::array<std::int32_t, 3> kinds = {-1, 0, 6};
  writer.SetIntegers("kinds", kinds);
  writer.AddTensor("norm.weight", DType::kF32, {3});
  writer.AddTensor("matrix.weight", DType::kQ4_0, {2, 64});
  return writer;
}

// Tensor bytes count up, so that a wrong place shows.
std::string SmallFile() {
  std::string out = SmallWriter().Header();
  const std::size_t start = out.size();
  out.resize(start + 32 + 4 * 18 + 24);
  for (std::size_t i = start; i < out.size(); ++i) out[i] = static_cast<char>(i - start);
  return out;
}

TEST(GgufTest, ReadsWhatTheWriterWrote) {
  const std::string bytes = SmallFile();
  const auto file = Parse(bytes);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_EQ(file->version(), 3U);
  const GgufMetadata& metadata = file->metadata();
  EXPECT_EQ(*metadata.GetString("general.architecture"), "llama");
  EXPECT_EQ(*metadata.GetUnsigned("llama.block_count"), 7U);
  EXPECT_EQ(*metadata.GetFloat("eps"), 0.5F);
  EXPECT_EQ(*metadata.GetBool("flag"), true);
  EXPECT_EQ(metadata.GetStrings("tokens")->size(), 3U);
  EXPECT_EQ((*metadata.GetStrings("tokens"))[2], "\xe2\x96\x81the");
  EXPECT_EQ(*metadata.GetFloats("scores"), (std::vector<float>{-1.0F, 2.5F}));
  EXPECT_EQ(*metadata.GetIntegers("kinds"), (std::vector<std::int64_t>{-1, 0, 6}));
}

TEST(GgufTest, TensorsAreOutermostFirstAndInTheirPlaces) {
  const std::string bytes = SmallFile();
  const auto file = Parse(bytes);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  ASSERT_EQ(file->tensors().size(), 2U);
  const GgufTensor* matrix = file->Find("matrix.weight");
  ASSERT_NE(matrix, nullptr);
  EXPECT_EQ(matrix->dtype, DType::kQ4_0);
  EXPECT_EQ(matrix->shape, (Shape{2, 64}));
  ASSERT_EQ(matrix->bytes.size(), 4U * 18);
  EXPECT_EQ(matrix->bytes[0], std::byte{32});
  EXPECT_EQ(file->Find("norm.weight")->bytes[11], std::byte{11});
  EXPECT_EQ(file->Find("norm"), nullptr);
}

TEST(GgufTest, EntriesAreCopiedBitForBit) {
  const std::string bytes = SmallFile();
  const auto file = Parse(bytes);
  ASSERT_TRUE(file.ok());
  GgufWriter writer;
  for (const GgufEntry& entry : file->metadata().entries()) writer.Copy(entry);
  for (const GgufTensor& tensor : file->tensors()) {
    writer.AddTensor(tensor.name, tensor.dtype, tensor.shape);
  }
  EXPECT_EQ(writer.Header(), SmallWriter().Header());
}

TEST(GgufTest, AKeyOfAnotherKindIsNamed) {
  const std::string bytes = SmallFile();
  const auto file = Parse(bytes);
  ASSERT_TRUE(file.ok());
  const GgufMetadata& metadata = file->metadata();
  EXPECT_EQ(metadata.GetUnsigned("nothing").status().code(), Code::kNotFound);
  EXPECT_EQ(metadata.GetUnsigned("nothing").status().message(), "m.gguf: has no key \"nothing\"");
  EXPECT_EQ(*metadata.GetUnsignedOr("nothing", 4), 4U);
  EXPECT_EQ(metadata.GetUnsigned("eps").status().message(),
            "m.gguf: key \"eps\" is f32; wanted an integer");
  EXPECT_EQ(metadata.GetUnsignedOr("eps", 4).status().code(), Code::kCorruption);
  EXPECT_EQ(metadata.GetFloat("scores").status().message(),
            "m.gguf: key \"scores\" is an array of 2 f32; wanted a float");
  EXPECT_EQ(metadata.GetStrings("kinds").status().code(), Code::kCorruption);
  EXPECT_EQ(metadata.GetIntegers("tokens").status().code(), Code::kCorruption);
  EXPECT_EQ(metadata.GetString("flag").status().code(), Code::kCorruption);
}

TEST(GgufTest, VersionTwoIsTheSame) {
  std::string bytes = SmallFile();
  bytes[4] = 2;
  const auto file = Parse(bytes);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_EQ(file->version(), 2U);
}

// Wherever a file is cut, it is refused: the last tensor ends 24 bytes of padding before it does.
TEST(GgufTest, EveryTruncationIsRefused) {
  const std::string bytes = SmallFile();
  for (std::size_t size = 0; size + 24 < bytes.size(); ++size) {
    const std::string cut = bytes.substr(0, size);
    const auto file = Parse(cut);
    ASSERT_FALSE(file.ok()) << size;
    EXPECT_EQ(file.status().code(), Code::kCorruption);
    EXPECT_NE(file.status().message().find("m.gguf: "), std::string::npos);
  }
  EXPECT_TRUE(Parse(bytes.substr(0, bytes.size() - 24)).ok());
}

// A byte that is wrong, and what is said about it.
struct Damage {
  std::string_view name;
  std::function<void(std::string&)> apply;
  Code code;
  std::string_view message;
};
void PrintTo(const Damage& damage, std::ostream* out) { *out << damage.name; }

void Store(std::string& bytes, std::size_t at, std::uint64_t value, std::size_t size = 8) {
  std::memcpy(bytes.data() + at, &value, size);
}

// Where `text` ends.
std::size_t After(const std::string& bytes, std::string_view text) {
  return bytes.find(text) + text.size();
}

class GgufDamageTest : public testing::TestWithParam<Damage> {};

TEST_P(GgufDamageTest, IsExplained) {
  std::string bytes = SmallFile();
  GetParam().apply(bytes);
  const auto file = Parse(bytes);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), GetParam().code);
  EXPECT_NE(file.status().message().find(GetParam().message), std::string::npos)
      << file.status().message();
}

constexpr std::uint64_t kHuge = std::uint64_t{1} << 60U;
constexpr std::size_t kTensorCountAt = 8;
constexpr std::size_t kKeyCountAt = 16;

INSTANTIATE_TEST_SUITE_P(
    All, GgufDamageTest,
    testing::Values(
        Damage{"magic", [](std::string& b) { b[0] = 'X'; }, Code::kCorruption,
               "not a GGUF file: it does not begin with \"GGUF\""},
        Damage{"big_endian", [](std::string& b) { Store(b, 4, 0x03000000, 4); },
               Code::kInvalidArgument, "a big-endian GGUF file"},
        Damage{"version_1", [](std::string& b) { b[4] = 1; }, Code::kInvalidArgument,
               "GGUF version 1; we read 2 and 3: convert the model again"},
        Damage{"version_0", [](std::string& b) { b[4] = 0; }, Code::kInvalidArgument,
               "GGUF version 0"},
        Damage{"tensors_2_60", [](std::string& b) { Store(b, kTensorCountAt, kHuge); },
               Code::kCorruption, "the number of tensors at byte 8 is 1152921504606846976"},
        Damage{"keys_negative", [](std::string& b) { Store(b, kKeyCountAt, ~0ULL); },
               Code::kCorruption, "the number of keys at byte 16 is 18446744073709551615"},
        Damage{"key_length", [](std::string& b) { Store(b, 24, kHuge); }, Code::kCorruption,
               "key 1 of 7: truncated"},
        Damage{"key_empty", [](std::string& b) { Store(b, 24, 0); }, Code::kCorruption,
               "a name of 0 bytes at byte 24"},
        Damage{"value_type",
               [](std::string& b) { Store(b, After(b, "general.architecture"), 13, 4); },
               Code::kCorruption,
               "key 1 of 7: \"general.architecture\": the value's type at byte 52 is 13"},
        Damage{"bool_2", [](std::string& b) { b[After(b, "flag") + 4] = 2; }, Code::kCorruption,
               "\"flag\": a bool is neither 0 nor 1"},
        Damage{"array_of_arrays", [](std::string& b) { Store(b, After(b, "tokens") + 4, 9, 4); },
               Code::kCorruption, "\"tokens\": an array of arrays"},
        Damage{"array_2_60", [](std::string& b) { Store(b, After(b, "tokens") + 8, kHuge); },
               Code::kCorruption, "\"tokens\": the number of elements"},
        Damage{"floats_2_62_times_4",
               [](std::string& b) { Store(b, After(b, "scores") + 8, std::uint64_t{1} << 62U); },
               Code::kCorruption, "\"scores\": the number of elements"},
        Damage{"key_twice", [](std::string& b) { b.replace(b.find("scores"), 6, "tokens"); },
               Code::kCorruption, "key \"tokens\" is there twice"},
        Damage{"axes_5", [](std::string& b) { Store(b, After(b, "norm.weight"), 5, 4); },
               Code::kCorruption, "tensor 1 of 2: \"norm.weight\": 5 axes"},
        Damage{"extent_negative",
               [](std::string& b) { Store(b, After(b, "norm.weight") + 4, ~0ULL); },
               Code::kCorruption, "tensor 1 of 2: \"norm.weight\": "},
        Damage{"extents_overflow",
               [](std::string& b) {
                 Store(b, After(b, "matrix.weight") + 4, std::uint64_t{1} << 40U);
                 Store(b, After(b, "matrix.weight") + 12, std::uint64_t{1} << 40U);
               },
               Code::kCorruption, "tensor 2 of 2: \"matrix.weight\": "},
        Damage{"rows_not_blocks",
               [](std::string& b) { Store(b, After(b, "matrix.weight") + 4, 63); },
               Code::kCorruption, "are not whole blocks of q4_0"},
        Damage{"tensor_type",
               [](std::string& b) { Store(b, After(b, "matrix.weight") + 20, 39, 4); },
               Code::kInvalidArgument, "\"matrix.weight\": its type is 39 (MXFP4)"},
        Damage{"tensor_type_unknown",
               [](std::string& b) { Store(b, After(b, "matrix.weight") + 20, 4711, 4); },
               Code::kInvalidArgument, "its type is 4711 at byte"},
        Damage{"offset_unaligned",
               [](std::string& b) { Store(b, After(b, "matrix.weight") + 24, 33); },
               Code::kCorruption, "offset 33 is not a multiple of the alignment, 32"},
        Damage{"offset_beyond",
               [](std::string& b) { Store(b, After(b, "matrix.weight") + 24, kHuge); },
               Code::kCorruption, "tensor \"matrix.weight\": truncated: 72 bytes at offset"},
        Damage{"overlap", [](std::string& b) { Store(b, After(b, "matrix.weight") + 24, 0); },
               Code::kCorruption, "\"norm.weight\" and \"matrix.weight\" overlap at offset 0"},
        Damage{"name_empty", [](std::string& b) { Store(b, b.find("norm.weight") - 8, 0); },
               Code::kCorruption, "tensor 1 of 2: a name of 0 bytes"}),
    [](const testing::TestParamInfo<Damage>& damage) { return std::string(damage.param.name); });

TEST(GgufTest, TensorsOfOneNameAreRefused) {
  GgufWriter writer;
  writer.AddTensor("a", DType::kF32, {1});
  writer.AddTensor("b", DType::kF32, {1});
  std::string bytes = WithZeroTensors(writer, 2);
  bytes[bytes.find('b')] = 'a';
  const auto file = Parse(bytes);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().message(), "m.gguf: tensor \"a\" is there twice");
}

// The writer has one alignment; another is read all the same.
TEST(GgufTest, AlignmentIsTheFiles) {
  const auto with_alignment = [](std::uint32_t alignment) {
    GgufWriter writer;
    writer.SetUnsigned("general.alignmenT", alignment);
    writer.AddTensor("a", DType::kF32, {3});
    std::string bytes = WithZeroTensors(writer, 1);
    bytes[bytes.find("menT") + 3] = 't';
    return bytes;
  };
  EXPECT_TRUE(Parse(with_alignment(8)).ok());
  for (const std::uint32_t bad : {0U, 1U, 4U, 24U, 1U << 31U}) {
    const auto file = Parse(with_alignment(bad));
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.status().message(), "m.gguf: \"general.alignment\" is " + std::to_string(bad) +
                                           "; wanted a power of two from 8 to 1048576");
  }
}

TEST(GgufTest, AFileMayHaveNoTensors) {
  GgufWriter writer;
  writer.SetString("general.architecture", "gpt2");
  const std::string bytes = writer.Header();
  EXPECT_TRUE(Parse(bytes).ok());
  EXPECT_TRUE(Parse(bytes.substr(0, bytes.find("gpt2") + 4)).ok());
}

}  // namespace
}  // namespace shoal::llm
