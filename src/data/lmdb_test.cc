#include "data/lmdb.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "data/data_testing.h"

namespace shoal::data {
namespace {

std::string Text(std::span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::string Key(int i) {
  char key[16];
  std::snprintf(key, sizeof(key), "%08d", i);
  return key;
}

std::string WriteNumbers(const TempDirectory& directory, int count, std::size_t value_bytes) {
  const std::string path = directory / "db";
  auto writer = LmdbWriter::Create(path);
  EXPECT_TRUE(writer.ok()) << writer.status().ToString();
  for (int i = 0; i < count; ++i) {
    std::string value = std::to_string(i);
    value.resize(std::max(value_bytes, value.size()), '.');
    EXPECT_TRUE(writer->Put(Key(i), value).ok());
  }
  EXPECT_TRUE(writer->Finish().ok());
  return path;
}

TEST(Lmdb, ReadsWhatWasWrittenInTheOrderOfKeys) {
  const TempDirectory directory;
  // Small values lie in the tree's leaves, large ones on pages of their own.
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{3000}}) {
    const std::string path = WriteNumbers(directory, 300, bytes);
    const auto reader = LmdbReader::Open(path);
    ASSERT_TRUE(reader.ok()) << reader.status().ToString();
    ASSERT_EQ(reader->size(), 300);
    for (int i = 0; i < 300; ++i) {
      EXPECT_EQ(std::stoi(Text(reader->Value(i))), i);
    }
    EXPECT_EQ(*reader->Key(0), "00000000");
    EXPECT_EQ(*reader->Key(299), "00000299");
    std::filesystem::remove_all(path);
  }
}

TEST(Lmdb, OpensTheFileItselfToo) {
  const TempDirectory directory;
  const std::string path = WriteNumbers(directory, 3, 1);
  EXPECT_EQ(LmdbReader::Open(path + "/data.mdb")->size(), 3);
}

TEST(Lmdb, TheMapGrowsAsNeeded) {
  const TempDirectory directory;
  // 80 MB: beyond the first map, and several transactions.
  const std::string path = WriteNumbers(directory, 80, 1 << 20);
  const auto reader = LmdbReader::Open(path);
  ASSERT_TRUE(reader.ok()) << reader.status().ToString();
  EXPECT_EQ(reader->size(), 80);
  EXPECT_EQ(reader->Value(79).size(), std::size_t{1} << 20U);
}

TEST(Lmdb, SeveralThreadsRead) {
  const TempDirectory directory;
  const std::string path = WriteNumbers(directory, 100, 1);
  const auto reader = LmdbReader::Open(path);
  ASSERT_TRUE(reader.ok());
  const auto read = [&] {
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(Text(reader->Value(i)), std::to_string(i));
      EXPECT_EQ(*reader->Key(i), Key(i));
    }
  };
  std::thread other(read);
  read();
  other.join();
}

TEST(Lmdb, AMissingDatabaseIsNotFound) {
  const TempDirectory directory;
  const auto missing = LmdbReader::Open(directory / "none");
  EXPECT_EQ(missing.status().code(), Code::kNotFound);
  EXPECT_EQ(Message(missing.status()), "no such file or directory: " + (directory / "none"));
  const auto empty = LmdbReader::Open(directory.path());
  EXPECT_EQ(Message(empty.status()), "no such file or directory: " + (directory / "data.mdb"));
}

TEST(Lmdb, BrokenFilesSayWhatIsWrong) {
  const TempDirectory directory;
  const std::string zero = directory.Write("zero/data.mdb", "");
  EXPECT_EQ(Message(LmdbReader::Open(directory / "zero").status()), "empty file: " + zero);
  const std::string text = directory.Write("text/data.mdb", std::string(20000, 'x'));
  EXPECT_EQ(LmdbReader::Open(text).status().code(), Code::kCorruption);
  EXPECT_NE(Message(LmdbReader::Open(text).status()).find(text), std::string::npos);
  const std::string few = directory.Write("few/data.mdb", "few bytes");
  EXPECT_FALSE(LmdbReader::Open(few).ok());
  EXPECT_EQ(Message(LmdbReader::Open(zero + "/x").status()), "not a directory: " + zero + "/x");
}

TEST(Lmdb, ATruncatedFileIsRefusedBeforeItIsTouched) {
  const TempDirectory directory;
  const std::string path = WriteNumbers(directory, 100, 5000);
  const std::string file = path + "/data.mdb";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 4096);
  const auto reader = LmdbReader::Open(path);
  EXPECT_EQ(reader.status().code(), Code::kCorruption);
  EXPECT_EQ(Message(reader.status()), "truncated: " + path);
}

TEST(Lmdb, NoRecordsIsAnError) {
  const TempDirectory directory;
  const std::string path = WriteNumbers(directory, 0, 0);
  EXPECT_EQ(Message(LmdbReader::Open(path).status()), "no records: " + path);
}

TEST(LmdbWriter, DoesNotOverwrite) {
  const TempDirectory directory;
  const std::string path = WriteNumbers(directory, 1, 1);
  EXPECT_EQ(Message(LmdbWriter::Create(path).status()), "already exists: " + path);
}

TEST(LmdbWriter, LeavesNothingUnlessFinished) {
  const TempDirectory directory;
  {
    auto writer = LmdbWriter::Create(directory / "db");
    ASSERT_TRUE(writer.ok());
    EXPECT_TRUE(writer->Put("a", "1").ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(LmdbWriter, KeysMustAscend) {
  const TempDirectory directory;
  auto writer = LmdbWriter::Create(directory / "db");
  ASSERT_TRUE(writer.ok());
  EXPECT_TRUE(writer->Put("b", "1").ok());
  EXPECT_EQ(writer->Put("b", "2").code(), Code::kInvalidArgument);
  EXPECT_EQ(writer->Put("a", "2").code(), Code::kInvalidArgument);
  EXPECT_EQ(writer->Put("", "2").code(), Code::kInvalidArgument);
  EXPECT_EQ(writer->Put(std::string(600, 'z'), "2").code(), Code::kInvalidArgument);
}

TEST(LmdbWriter, SaysWhereItCouldNotWrite) {
  const auto writer = LmdbWriter::Create("/nonexistent/db");
  EXPECT_EQ(Message(writer.status()), "no such file or directory: /nonexistent/db");
}

}  // namespace
}  // namespace shoal::data
