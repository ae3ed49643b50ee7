#include "os/resumable_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string_view>

#include "os/file.h"

namespace shoal::os {
namespace {

std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

class ResumableFileTest : public testing::Test {
 protected:
  ResumableFileTest() { std::filesystem::create_directories(directory_); }
  ~ResumableFileTest() override { std::filesystem::remove_all(directory_); }

  const std::string directory_ = testing::TempDir() + "resumable_" +
                                 testing::UnitTest::GetInstance()->current_test_info()->name() +
                                 std::to_string(::getpid());
  const std::string part_ = directory_ + "/model.part";
  const std::string whole_ = directory_ + "/model";
};

TEST_F(ResumableFileTest, GoesOnWhereItWas) {
  {
    auto file = ResumableFile::Open(part_);
    ASSERT_TRUE(file.ok()) << file.status().ToString();
    EXPECT_EQ(file->size(), 0U);
    ASSERT_TRUE(file->Append(BytesOf("first ")).ok());
  }
  auto file = ResumableFile::Open(part_);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_EQ(file->size(), 6U);
  ASSERT_TRUE(file->Append(BytesOf("second")).ok());
  EXPECT_EQ(file->size(), 12U);
  ASSERT_TRUE(file->MoveTo(whole_).ok());
  EXPECT_EQ(*ReadFile(whole_, 100), "first second");
  EXPECT_FALSE(std::filesystem::exists(part_));
}

TEST_F(ResumableFileTest, ClearsAndRemoves) {
  auto file = ResumableFile::Open(part_);
  ASSERT_TRUE(file->Append(BytesOf("wrong")).ok());
  ASSERT_TRUE(file->Clear().ok());
  EXPECT_EQ(file->size(), 0U);
  ASSERT_TRUE(file->Append(BytesOf("right")).ok());
  EXPECT_EQ(*ReadFile(part_, 100), "right");
  ASSERT_TRUE(file->Remove().ok());
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(ResumableFileTest, HasOneWriter) {
  const auto first = ResumableFile::Open(part_);
  ASSERT_TRUE(first.ok());
  const auto second = ResumableFile::Open(part_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().message(), "another process is writing it: " + part_);
}

TEST_F(ResumableFileTest, NamesWhatItCannotOpen) {
  EXPECT_EQ(ResumableFile::Open(directory_ + "/no/part").status().code(), Code::kNotFound);
  EXPECT_EQ(ResumableFile::Open(directory_).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::os
