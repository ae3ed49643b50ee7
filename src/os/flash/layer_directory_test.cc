#include "os/flash/layer_directory.h"

#include "os/file.h"
#include "os/flash/flash_testing.h"

namespace shoal::os {
namespace {

using std::chrono::hours;

class LayerDirectoryTest : public FlashDirectoryTest {
 protected:
  // A layer of so many bytes that was used so long ago, and has a name of this letter only.
  std::string Put(LayerDirectory& directory, char letter, std::size_t bytes, hours ago,
                  bool whole = true) {
    const std::string name(32, letter);
    const std::string path = whole ? directory.WholePath(name) : directory.PartPath(name);
    WriteBytes(path, {}, bytes);
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - ago);
    return name;
  }
  static std::vector<std::string> Names(const LayerUsage& usage) {
    std::vector<std::string> names;
    for (const StoredLayer& layer : usage.layers) names.push_back(layer.name);
    return names;
  }
  static bool NoneNeeded(const std::string& /*name*/) { return false; }
};

TEST_F(LayerDirectoryTest, IsMadeAndLockedForOne) {
  {
    Result<LayerDirectory> first = LayerDirectory::Open(path_ + "/a/b");
    ASSERT_TRUE(first.ok()) << first.status().ToString();
    const Result<LayerDirectory> second = LayerDirectory::Open(path_ + "/a/b");
    EXPECT_EQ(second.status().code(), Code::kUnavailable);
    EXPECT_NE(second.status().message().find("another shoal is using the layers in"),
              std::string::npos);
  }
  EXPECT_TRUE(LayerDirectory::Open(path_ + "/a/b").ok());
}

TEST_F(LayerDirectoryTest, AFileInItsPlaceIsNamed) {
  std::ofstream(path_) << "x";
  const Status status = LayerDirectory::Open(path_).status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find(path_), std::string::npos);
}

TEST_F(LayerDirectoryTest, WhatIsNotOursIsLeftAlone) {
  LayerDirectory directory = *LayerDirectory::Open(path_);
  const std::vector<std::string> foreign = {
      "note.txt", "abc.layer", std::string(64, 'g') + ".layer", std::string(64, 'A') + ".part"};
  for (const std::string& name : foreign) std::ofstream(path_ + "/layers/" + name) << "mine";
  std::filesystem::create_directory(directory.WholePath(std::string(32, 'd')));
  Put(directory, 'a', 1000, hours(1));
  ASSERT_TRUE(directory.SetQuota(10).ok());
  EXPECT_EQ(directory.Usage()->bytes, 1000U);
  EXPECT_EQ(directory.MakeRoom(10, NoneNeeded)->size(), 1U);
  for (const std::string& name : foreign) {
    EXPECT_TRUE(std::filesystem::exists(path_ + "/layers/" + name)) << name;
  }
  EXPECT_TRUE(std::filesystem::exists(directory.WholePath(std::string(32, 'd'))));
}

TEST_F(LayerDirectoryTest, NothingIsThereBeforeItIsMade) {
  const Result<LayerUsage> usage = ReadLayerUsage(path_);
  ASSERT_TRUE(usage.ok()) << usage.status().ToString();
  EXPECT_TRUE(usage->layers.empty());
  EXPECT_FALSE(usage->quota);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(LayerDirectoryTest, ThoseUsedLongestAgoGoFirst) {
  LayerDirectory directory = *LayerDirectory::Open(path_);
  const std::string b = Put(directory, 'b', 1000, hours(2));
  const std::string a = Put(directory, 'a', 1000, hours(4));
  const std::string c = Put(directory, 'c', 1000, hours(3), /*whole=*/false);
  const std::string d = Put(directory, 'd', 1000, hours(1));
  EXPECT_EQ(Names(*directory.Usage()), (std::vector{a, c, b, d}));
  ASSERT_TRUE(directory.SetQuota(5000).ok());
  EXPECT_EQ(*directory.MakeRoom(1000, NoneNeeded), std::vector<std::string>());
  EXPECT_EQ(*directory.MakeRoom(2001, NoneNeeded), (std::vector{a, c}));
  EXPECT_EQ(Names(*directory.Usage()), (std::vector{b, d}));
  directory.Touch(b);
  EXPECT_EQ(*directory.MakeRoom(4000, NoneNeeded), std::vector{d});
}

TEST_F(LayerDirectoryTest, TheNeededStay) {
  LayerDirectory directory = *LayerDirectory::Open(path_);
  const std::string a = Put(directory, 'a', 3'000'000, hours(2));
  const std::string b = Put(directory, 'b', 3'000'000, hours(1));
  ASSERT_TRUE(directory.SetQuota(8'000'000).ok());
  const auto needed = [&](const std::string& name) { return name == a; };
  // With b gone, 5 MB may be added.
  const Status status = directory.MakeRoom(6'500'000, needed).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_NE(status.message().find("2 MB are missing; its quota is 8 MB"), std::string::npos)
      << status.message();
  EXPECT_EQ(Names(*directory.Usage()), (std::vector{a, b}));
  EXPECT_EQ(*directory.MakeRoom(5'000'000, needed), std::vector{b});
}

TEST_F(LayerDirectoryTest, TheDiskCountsWithoutAQuota) {
  LayerDirectory directory = *LayerDirectory::Open(path_);
  const Status status = directory.MakeRoom(std::uint64_t{1} << 60U, NoneNeeded).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_NE(status.message().find("MB are missing; make room on the disk"), std::string::npos)
      << status.message();
}

TEST_F(LayerDirectoryTest, TheQuotaIsKept) {
  {
    LayerDirectory directory = *LayerDirectory::Open(path_);
    ASSERT_TRUE(directory.SetQuota(123).ok());
  }
  EXPECT_EQ(ReadLayerUsage(path_)->quota, 123U);
  ASSERT_TRUE(LayerDirectory::Open(path_)->SetQuota(std::nullopt).ok());
  EXPECT_FALSE(ReadLayerUsage(path_)->quota);
  std::ofstream(path_ + "/quota") << "12x";
  const Status status = ReadLayerUsage(path_).status();
  EXPECT_EQ(status.code(), Code::kCorruption);
  EXPECT_NE(status.message().find(path_ + "/quota"), std::string::npos);
}

}  // namespace
}  // namespace shoal::os
