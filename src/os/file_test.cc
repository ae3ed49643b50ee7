#include "os/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <thread>

#include "os/machine/fake_tree.h"

namespace shoal::os {
namespace {

std::string Message(const Status& status) { return std::string(status.message()); }

TEST(FileTest, ReadsWhatWasWritten) {
  const FakeTree tree;
  const std::string path = tree.path() + "/x";
  const std::string bytes("a\0b\xff", 4);
  ASSERT_TRUE(WriteFileAtomically(path, bytes, FileAccess::kEveryone).ok());
  EXPECT_EQ(*ReadFile(path, 4), bytes);
  ASSERT_TRUE(WriteFileAtomically(path, "", FileAccess::kEveryone).ok());
  EXPECT_EQ(*ReadFile(path, 0), "");
}

TEST(FileTest, ReadsLongFilesAndFilesOfUnknownSize) {
  const FakeTree tree;
  const std::string bytes(300'000, 'x');
  tree.Write("/long", bytes);
  EXPECT_EQ(*ReadFile(tree.path() + "/long", 1 << 20), bytes);
  EXPECT_NE(ReadFile("/proc/self/status", 1 << 20)->find("Pid:"), std::string::npos);
}

TEST(FileTest, RefusesToReadMoreThanAllowed) {
  const FakeTree tree;
  tree.Write("/x", "12345");
  EXPECT_TRUE(ReadFile(tree.path() + "/x", 5).ok());
  const auto result = ReadFile(tree.path() + "/x", 4);
  EXPECT_EQ(result.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(result.status().message(), "larger than 4 bytes: " + tree.path() + "/x");
}

TEST(FileTest, FailuresNamePathAndReason) {
  const FakeTree tree;
  const auto missing = ReadFile(tree.path() + "/none", 10);
  EXPECT_EQ(missing.status().code(), Code::kNotFound);
  EXPECT_EQ(missing.status().message(), "no such file or directory: " + tree.path() + "/none");
  EXPECT_EQ(ReadFile(tree.path(), 10).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(ListDirectory(tree.path() + "/none").status().code(), Code::kNotFound);
  EXPECT_EQ(FreeSpace(tree.path() + "/none").status().code(), Code::kNotFound);
  EXPECT_EQ(WriteFileAtomically(tree.path() + "/none/x", "", FileAccess::kOwner).code(),
            Code::kNotFound);
}

TEST(FileTest, SaysWhenItMayNotRead) {
  const FakeTree tree;
  tree.Write("/secret", "1");
  tree.Forbid("/secret");
  const Unprivileged unprivileged;
  if (!unprivileged.ok()) GTEST_SKIP() << "cannot stop being root";
  const auto result = ReadFile(tree.path() + "/secret", 10);
  EXPECT_EQ(result.status().code(), Code::kUnavailable);
  EXPECT_EQ(result.status().message(), "permission denied: " + tree.path() + "/secret");
}

TEST(FileTest, DoesNotWaitForAFifo) {
  const FakeTree tree;
  const std::string path = tree.path() + "/fifo";
  ASSERT_EQ(::mkfifo(path.c_str(), S_IRUSR | S_IWUSR), 0);
  EXPECT_EQ(Message(ReadFile(path, 10).status()), "not a regular file: " + path);
}

TEST(FileTest, WritesWithTheModeAskedForAndLeavesNothingElse) {
  const FakeTree tree;
  ASSERT_TRUE(WriteFileAtomically(tree.path() + "/key", "k", FileAccess::kOwner).ok());
  ASSERT_TRUE(WriteFileAtomically(tree.path() + "/page", "p", FileAccess::kEveryone).ok());
  struct stat info {};
  ASSERT_EQ(::stat((tree.path() + "/key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  ASSERT_EQ(::stat((tree.path() + "/page").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0644U);
  EXPECT_EQ(*ListDirectory(tree.path()), (std::vector<std::string>{"key", "page"}));
}

TEST(FileTest, AFailedWriteLeavesTheOldStateAndNoTemporary) {
  const FakeTree tree;
  tree.Write("/directory/inside", "x");
  // A directory that is not empty cannot be replaced by a file: the rename fails.
  EXPECT_FALSE(WriteFileAtomically(tree.path() + "/directory", "y", FileAccess::kOwner).ok());
  EXPECT_EQ(*ListDirectory(tree.path()), (std::vector<std::string>{"directory"}));
  EXPECT_EQ(*ReadFile(tree.path() + "/directory/inside", 10), "x");
}

TEST(FileTest, AnAtomicFileIsThereWhenCommitted) {
  const FakeTree tree;
  const std::string path = tree.path() + "/x";
  tree.Write("/x", "old");
  {
    auto file = AtomicFile::Create(path, FileAccess::kEveryone);
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(file->Write("never seen").ok());
  }
  EXPECT_EQ(*ReadFile(path, 100), "old");
  EXPECT_EQ(ListDirectory(tree.path())->size(), 1U);
  auto file = AtomicFile::Create(path, FileAccess::kEveryone);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->Write("ne").ok());
  EXPECT_TRUE(file->Write("w").ok());
  EXPECT_EQ(*ReadFile(path, 100), "old");
  EXPECT_TRUE(file->Commit().ok());
  EXPECT_EQ(*ReadFile(path, 100), "new");
  EXPECT_EQ(ListDirectory(tree.path())->size(), 1U);
}

TEST(FileTest, ReadersSeeOneOfTheWritersWhole) {
  const FakeTree tree;
  const std::string path = tree.path() + "/x";
  const std::string a(50'000, 'a');
  const std::string b(70'000, 'b');
  ASSERT_TRUE(WriteFileAtomically(path, a, FileAccess::kOwner).ok());
  const auto write = [&](const std::string& bytes) {
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(WriteFileAtomically(path, bytes, FileAccess::kOwner).ok());
    }
  };
  std::thread first(write, a);
  std::thread second(write, b);
  for (int i = 0; i < 50; ++i) {
    const auto seen = ReadFile(path, 1 << 20);
    ASSERT_TRUE(seen.ok());
    EXPECT_TRUE(*seen == a || *seen == b) << seen->size();
  }
  first.join();
  second.join();
}

TEST(FileTest, ReadsSequentiallyAndAtPositions) {
  const FakeTree tree;
  tree.Write("/x", "0123456789");
  auto file = File::Open(tree.path() + "/x");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->size(), 10U);
  std::string out(4, ' ');
  const auto bytes = std::as_writable_bytes(std::span(out));
  EXPECT_EQ(*file->Read(bytes), 4U);
  EXPECT_EQ(out, "0123");
  EXPECT_TRUE(file->ReadAt(6, bytes).ok());
  EXPECT_EQ(out, "6789");
  EXPECT_EQ(*file->Read(bytes), 4U);
  EXPECT_EQ(out, "4567") << "ReadAt moved the position";
  EXPECT_EQ(*file->Read(bytes), 2U);
  EXPECT_EQ(*file->Read(bytes), 0U);
}

TEST(FileTest, ReadingPastTheEndIsCorruption) {
  const FakeTree tree;
  tree.Write("/x", "0123456789");
  const auto file = File::Open(tree.path() + "/x");
  std::string out(4, ' ');
  const auto bytes = std::as_writable_bytes(std::span(out));
  const Status status = file->ReadAt(7, bytes);
  EXPECT_EQ(status.code(), Code::kCorruption);
  EXPECT_EQ(status.message(), "ends before byte 11: " + tree.path() + "/x");
  EXPECT_EQ(file->ReadAt(~std::uint64_t{0}, bytes).code(), Code::kCorruption);
}

TEST(FileTest, KnowsFreeSpace) {
  const FakeTree tree;
  const auto free = FreeSpace(tree.path());
  ASSERT_TRUE(free.ok());
  EXPECT_EQ(*free > 0, std::filesystem::space(tree.path()).available > 0);
}

}  // namespace
}  // namespace shoal::os
