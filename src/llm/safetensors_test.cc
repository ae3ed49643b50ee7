#include "llm/safetensors.h"

#include <gtest/gtest.h>

#include <string>

#include "llm/gguf_testing.h"
#include "llm/safetensors_testing.h"

namespace shoal::llm {
namespace {

Result<SafetensorsFile> Parse(const std::string& bytes) {
  return SafetensorsFile::Parse("m.safetensors", AsBytes(bytes));
}

// With one tensor of these fields and eight bytes of data.
Result<SafetensorsFile> ParseTensor(const std::string& fields) {
  return Parse(SafetensorsBytes("{\"a.weight\":{" + fields + "}}", "01234567"));
}

TEST(SafetensorsTest, ReadsTensors) {
  SafetensorsWriter writer;
  writer.Add("b", "F16", {2, 1}, "abcd");
  writer.Add("a", "I64", {}, "01234567");
  writer.Add("none", "F32", {0, 5}, "");
  const std::string bytes = writer.Bytes();
  const auto file = Parse(bytes);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  ASSERT_EQ(file->tensors().size(), 3U);
  EXPECT_EQ(file->tensors()[0].name, "a");
  EXPECT_EQ(file->tensors()[0].dtype, std::nullopt);
  EXPECT_EQ(file->tensors()[0].type, "I64");
  EXPECT_EQ(file->tensors()[1].dtype, DType::kF16);
  EXPECT_EQ(file->tensors()[1].shape, (Shape{2, 1}));
  EXPECT_EQ(file->tensors()[1].bytes[0], std::byte{'a'});
}

TEST(SafetensorsTest, MetadataIsNoTensor) {
  const auto file = Parse(SafetensorsBytes(R"({"__metadata__":{"format":"pt"}})", ""));
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->tensors().empty());
}

TEST(SafetensorsTest, ACutFileIsNone) {
  SafetensorsWriter writer;
  writer.Add("b", "F16", {2, 1}, "abcd");
  const std::string bytes = writer.Bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto file = Parse(bytes.substr(0, size));
    ASSERT_FALSE(file.ok()) << size;
    EXPECT_EQ(file.status().code(), Code::kCorruption) << size;
    EXPECT_TRUE(file.status().message().starts_with("m.safetensors: ")) << size;
  }
}

TEST(SafetensorsTest, HeadersThatAreNone) {
  for (const char* header : {"", "[]", "7", "{\"a\":", "{\"a\":7}", "{\"a\":{}}"}) {
    EXPECT_EQ(Parse(SafetensorsBytes(header, "")).status().code(), Code::kCorruption) << header;
  }
  const std::string deep = "{\"a\":" + std::string(5000, '[') + std::string(5000, ']') + "}";
  EXPECT_EQ(Parse(SafetensorsBytes(deep, "")).status().code(), Code::kCorruption);
  std::string large = SafetensorsBytes("{}", "");
  large[7] = '\x7f';
  EXPECT_EQ(Parse(large).status().code(), Code::kCorruption);
}

TEST(SafetensorsTest, TensorsThatCannotBe) {
  const std::string_view good = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";
  ASSERT_TRUE(ParseTensor(std::string(good)).ok());
  for (const char* fields : {
           R"("shape":[2],"data_offsets":[0,8])",
           R"("dtype":"F32","data_offsets":[0,8])",
           R"("dtype":"F32","shape":[2])",
           R"("dtype":"F32","shape":[2],"data_offsets":[0])",
           R"("dtype":"F32","shape":[2],"data_offsets":[0,9])",
           R"("dtype":"F32","shape":[2],"data_offsets":[8,0])",
           R"("dtype":"F32","shape":[2],"data_offsets":[-8,0])",
           R"("dtype":"F32","shape":[3],"data_offsets":[0,8])",
           R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])",
           R"("dtype":"F32","shape":[0.5],"data_offsets":[0,8])",
           R"("dtype":"F32","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[0,8])",
           R"("dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,8])",
           R"("dtype":"F32","shape":[4611686018427387906],"data_offsets":[0,8])",
           R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8])",
       }) {
    const auto file = ParseTensor(fields);
    ASSERT_FALSE(file.ok()) << fields;
    EXPECT_EQ(file.status().code(), Code::kCorruption) << fields;
    EXPECT_NE(file.status().message().find("tensor \"a.weight\""), std::string::npos) << fields;
  }
  const auto unknown = ParseTensor(R"("dtype":"F4","shape":[2],"data_offsets":[0,8])");
  EXPECT_EQ(unknown.status().message(),
            "m.safetensors: tensor \"a.weight\" has elements of type \"F4\"");
}

TEST(SafetensorsTest, TensorsDoNotOverlap) {
  const auto both = [](const char* a, const char* b) {
    return Parse(
        SafetensorsBytes(std::string(R"({"x":{"dtype":"F16","shape":[2],"data_offsets":)") + a +
                             R"(},"y":{"dtype":"F16","shape":[2],"data_offsets":)" + b + "}}",
                         "01234567"));
  };
  EXPECT_TRUE(both("[0,4]", "[4,8]").ok());
  EXPECT_TRUE(both("[4,8]", "[0,4]").ok());
  EXPECT_EQ(both("[0,4]", "[3,7]").status().message(),
            "m.safetensors: tensors \"x\" and \"y\" have bytes in common");
  EXPECT_FALSE(both("[0,4]", "[0,4]").ok());
}

TEST(SafetensorsTest, AnIndexNamesFiles) {
  const auto files = ReadSafetensorsIndex(
      "i", R"({"metadata":{},"weight_map":{"a":"m-2.safetensors","b":"m-1.safetensors",
               "c":"m-2.safetensors"}})");
  ASSERT_TRUE(files.ok()) << files.status().ToString();
  EXPECT_EQ(*files, (std::vector<std::string>{"m-1.safetensors", "m-2.safetensors"}));
  for (const char* text : {"", "{}", R"({"weight_map":{}})", R"({"weight_map":{"a":3}})",
                           R"({"weight_map":{"a":"../x"}})", R"({"weight_map":{"a":"/etc/x"}})",
                           R"({"weight_map":{"a":".."}})", R"({"weight_map":{"a":""}})"}) {
    EXPECT_EQ(ReadSafetensorsIndex("i", text).status().code(), Code::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace shoal::llm
