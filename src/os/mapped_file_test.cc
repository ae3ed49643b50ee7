#include "os/mapped_file.h"

#include <gtest/gtest.h>

#include <limits>
#include <string_view>
#include <utility>

#include "os/file.h"
#include "os/machine/fake_tree.h"

namespace shoal::os {
namespace {

std::string_view Text(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(MappedFileTest, ShowsTheFilesBytes) {
  const FakeTree tree;
  const std::string bytes(100'000, 'w');
  tree.Write("/weights", bytes);
  const auto mapped = MappedFile::Open(tree.path() + "/weights");
  ASSERT_TRUE(mapped.ok());
  EXPECT_EQ(Text(*mapped), bytes);
}

TEST(MappedFileTest, AdviceIsOnlyAHint) {
  const FakeTree tree;
  const std::string bytes(100'000, 'w');
  tree.Write("/weights", bytes);
  const auto mapped = MappedFile::Open(tree.path() + "/weights");
  ASSERT_TRUE(mapped.ok());
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  for (const Advice advice :
       {Advice::kWillNeed, Advice::kSequential, Advice::kRandom, Advice::kHugePages}) {
    mapped->Advise(advice, 0, kAll);
    mapped->Advise(advice, 5'000, 10);
    mapped->Advise(advice, 99'999, kAll);
    mapped->Advise(advice, 100'000, 1);
    mapped->Advise(advice, kAll, kAll);
  }
  EXPECT_EQ(Text(*mapped), bytes);
}

TEST(MappedFileTest, MovingMovesTheMapping) {
  const FakeTree tree;
  tree.Write("/a", "first");
  tree.Write("/b", "second");
  auto a = *MappedFile::Open(tree.path() + "/a");
  auto b = *MappedFile::Open(tree.path() + "/b");
  const std::byte* const where = b.bytes().data();
  a = std::move(b);
  EXPECT_EQ(Text(a), "second");
  EXPECT_EQ(a.bytes().data(), where);
}

TEST(MappedFileTest, AReplacedFileKeepsItsOldMapping) {
  const FakeTree tree;
  const std::string path = tree.path() + "/x";
  ASSERT_TRUE(WriteFileAtomically(path, "old bytes", FileAccess::kOwner).ok());
  const auto mapped = MappedFile::Open(path);
  ASSERT_TRUE(mapped.ok());
  ASSERT_TRUE(WriteFileAtomically(path, "new", FileAccess::kOwner).ok());
  EXPECT_EQ(Text(*mapped), "old bytes");
}

TEST(MappedFileTest, DroppedPagesComeBack) {
  const FakeTree tree;
  const std::string text(100'000, 'x');
  tree.Write("/large", text);
  const auto mapped = *MappedFile::Open(tree.path() + "/large");
  EXPECT_EQ(Text(mapped), text);
  DropPages(mapped.bytes().subspan(100, 50'000));
  DropPages(mapped.bytes().first(1));
  DropPages({});
  EXPECT_EQ(Text(mapped), text);
}

TEST(MappedFileTest, RefusesWhatCannotBeMapped) {
  const FakeTree tree;
  tree.Write("/empty", "");
  const auto empty = MappedFile::Open(tree.path() + "/empty");
  EXPECT_EQ(empty.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(empty.status().message(), "empty file: " + tree.path() + "/empty");
  EXPECT_EQ(MappedFile::Open(tree.path() + "/none").status().code(), Code::kNotFound);
  EXPECT_EQ(MappedFile::Open(tree.path()).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(MappedFile::Open("/dev/zero").status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::os
