#include "os/flash/flash_store.h"

#include "os/flash/flash_testing.h"

namespace shoal::os {
namespace {

class FlashStoreTest : public FlashDirectoryTest {
 protected:
  FlashStoreTest() { Restart(); }

  // As after kill -9: whatever is on flash is there.
  void Restart(FlashStore::Check check = FlashStore::Check::kBeforeUse) {
    store_.reset();
    Result<LayerDirectory> directory = LayerDirectory::Open(path_);
    ASSERT_TRUE(directory.ok()) << directory.status().ToString();
    whole_path_ = directory->WholePath(layer_.name());
    part_path_ = directory->PartPath(layer_.name());
    store_ = *FlashStore::Make(loop_, *std::move(directory), check);
  }

  Result<std::uint32_t> Open(const wire::pb::LayerFile& layer) {
    std::optional<Result<std::uint32_t>> result;
    store_->Open(layer, [&](Result<std::uint32_t> chunks) { result = std::move(chunks); });
    EXPECT_FALSE(result);  // Never inside the call.
    EXPECT_TRUE(loop_.RunUntil([&] { return result.has_value(); }, std::chrono::seconds(60)));
    return *result;
  }
  Status Append(const TestLayer& layer, std::uint32_t chunk) {
    return Append(layer, chunk, layer.Chunk(chunk));
  }
  Status Append(const TestLayer& layer, std::uint32_t chunk, std::vector<std::byte> bytes) {
    std::optional<Status> result;
    store_->Append(layer.file, chunk, std::move(bytes), [&](Status status) { result = status; });
    EXPECT_FALSE(result);
    EXPECT_TRUE(loop_.RunUntil([&] { return result.has_value(); }, std::chrono::seconds(60)));
    return *result;
  }
  void Fetch(const TestLayer& layer) {
    const Result<std::uint32_t> opened = Open(layer.file);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    for (std::uint32_t i = *opened; i < 3; ++i) ASSERT_TRUE(Append(layer, i).ok());
  }
  bool Has(const TestLayer& layer) {
    const auto found = store_->Find(layer.name());
    return found != nullptr && std::equal(found->bytes().begin(), found->bytes().end(),
                                          layer.bytes.begin(), layer.bytes.end());
  }

  const TestLayer layer_ = MakeTestLayer(1);
  std::string whole_path_;
  std::string part_path_;
  Loop loop_;
  std::unique_ptr<FlashStore> store_;
};

TEST_F(FlashStoreTest, KeepsALayerThatCameChunkByChunk) {
  EXPECT_EQ(*Open(layer_.file), 0U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(store_->Find(layer_.name()), nullptr);
    EXPECT_TRUE(store_->Whole().empty());
    ASSERT_TRUE(Append(layer_, i).ok());
  }
  EXPECT_TRUE(Has(layer_));
  EXPECT_EQ(store_->Whole(), std::vector{layer_.name()});
  EXPECT_FALSE(std::filesystem::exists(part_path_));
}

TEST_F(FlashStoreTest, GoesOnAfterARestart) {
  EXPECT_EQ(*Open(layer_.file), 0U);
  ASSERT_TRUE(Append(layer_, 0).ok());
  ASSERT_TRUE(Append(layer_, 1).ok());
  Restart();
  std::filesystem::resize_file(part_path_, 2 * wire::kChunkBytes - 1);  // A torn last chunk.
  EXPECT_EQ(*Open(layer_.file), 1U);
  ASSERT_TRUE(Append(layer_, 1).ok());
  ASSERT_TRUE(Append(layer_, 2).ok());
  EXPECT_TRUE(Has(layer_));
}

// Killed between the last chunk and the name.
TEST_F(FlashStoreTest, APartThatIsCompleteGetsItsName) {
  WriteBytes(part_path_, layer_.bytes, layer_.bytes.size());
  EXPECT_EQ(*Open(layer_.file), 3U);
  EXPECT_TRUE(Has(layer_));
  EXPECT_FALSE(std::filesystem::exists(part_path_));
}

TEST_F(FlashStoreTest, AWrongChunkChangesNothing) {
  EXPECT_EQ(*Open(layer_.file), 0U);
  ASSERT_TRUE(Append(layer_, 0).ok());
  std::vector<std::byte> flipped = layer_.Chunk(1);
  flipped.at(flipped.size() / 2) ^= std::byte{0x80};
  EXPECT_EQ(Append(layer_, 1, flipped).code(), Code::kCorruption);
  ASSERT_TRUE(Append(layer_, 1).ok());
  ASSERT_TRUE(Append(layer_, 2).ok());
  EXPECT_TRUE(Has(layer_));
}

TEST_F(FlashStoreTest, DescriptionsThatAreNotTrueAreRefused) {
  wire::pb::LayerFile other = layer_.file;
  (*other.mutable_chunks())[5] ^= 1;
  EXPECT_EQ(Open(other).status().code(), Code::kCorruption);
  other = layer_.file;
  other.set_sha256("../../x");
  EXPECT_EQ(Open(other).status().code(), Code::kCorruption);
  other = layer_.file;
  other.set_bytes(~std::uint64_t{0});
  EXPECT_EQ(Open(other).status().code(), Code::kCorruption);
  EXPECT_EQ(store_->Find("../../x"), nullptr);
  EXPECT_TRUE(std::filesystem::is_empty(path_ + "/layers"));
}

TEST_F(FlashStoreTest, OnlyTheOpenLayerGrows) {
  const TestLayer other = MakeTestLayer(2);
  EXPECT_EQ(Append(layer_, 0).code(), Code::kUnavailable);
  EXPECT_EQ(*Open(layer_.file), 0U);
  EXPECT_EQ(Append(other, 0).code(), Code::kUnavailable);
  Fetch(other);
  EXPECT_EQ(Append(layer_, 0).code(), Code::kUnavailable);
  Fetch(layer_);
  EXPECT_TRUE(Has(layer_) && Has(other));
}

TEST_F(FlashStoreTest, IsHashedOnceBeforeUseInEveryProcess) {
  Fetch(layer_);
  Restart();
  EXPECT_EQ(store_->Find(layer_.name()), nullptr);
  EXPECT_EQ(store_->Whole(), std::vector{layer_.name()});
  EXPECT_EQ(*Open(layer_.file), 3U);
  EXPECT_TRUE(Has(layer_));
}

TEST_F(FlashStoreTest, ALayerThatWentBadIsFetchedAgain) {
  Fetch(layer_);
  Restart();
  FlipBit(whole_path_, layer_.bytes.size() - 1);
  EXPECT_EQ(*Open(layer_.file), 0U);
  EXPECT_FALSE(std::filesystem::exists(whole_path_));
  EXPECT_TRUE(store_->Whole().empty());
  Fetch(layer_);
  EXPECT_TRUE(Has(layer_));
  Restart();
  std::filesystem::resize_file(whole_path_, 100);
  Fetch(layer_);
  EXPECT_TRUE(Has(layer_));
}

TEST_F(FlashStoreTest, AHeadGivesAwayWhatItHasNotHashed) {
  Fetch(layer_);
  Restart(FlashStore::Check::kByReceivers);
  EXPECT_TRUE(Has(layer_));
}

// A head that computes with a layer itself judges others by it.
TEST_F(FlashStoreTest, AHeadHashesWhatItComputesWith) {
  Fetch(layer_);
  FlipBit(whole_path_, layer_.bytes.size() - 1);
  Restart(FlashStore::Check::kByReceivers);
  EXPECT_NE(store_->Find(layer_.name()), nullptr) << "whoever gets it looks at it";
  EXPECT_EQ(*Open(layer_.file), 0U);
  EXPECT_EQ(store_->Find(layer_.name()), nullptr);
}

TEST_F(FlashStoreTest, AMappingOutlivesItsFile) {
  Fetch(layer_);
  const auto held = store_->Find(layer_.name());
  EXPECT_EQ(store_->Find(layer_.name()), held);
  std::filesystem::remove(whole_path_);
  EXPECT_EQ(store_->Find(layer_.name()), held);
  store_.reset();
  EXPECT_TRUE(std::equal(layer_.bytes.begin(), layer_.bytes.end(), held->bytes().begin()));
}

TEST_F(FlashStoreTest, WhatSomebodyRemovedIsNotFound) {
  Fetch(layer_);
  std::filesystem::remove(whole_path_);
  EXPECT_EQ(store_->Find(layer_.name()), nullptr);
  EXPECT_TRUE(store_->Whole().empty());
}

TEST_F(FlashStoreTest, MakesRoomWithLayersThatNobodyHolds) {
  const TestLayer second = MakeTestLayer(2);
  const TestLayer third = MakeTestLayer(3);
  store_.reset();
  ASSERT_TRUE(LayerDirectory::Open(path_)->SetQuota(2 * kTestLayerBytes + 100).ok());
  Restart();
  Fetch(layer_);
  Fetch(second);
  auto held = store_->Find(layer_.name());
  // The first was fetched before the second, but somebody holds it.
  Fetch(third);
  EXPECT_EQ(store_->Find(second.name()), nullptr);
  EXPECT_TRUE(Has(layer_) && Has(third));

  const auto also_held = store_->Find(third.name());
  const Status status = Open(second.file).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_NE(status.message().find("9 MB are missing; its quota is 17 MB"), std::string::npos)
      << status.message();
  EXPECT_EQ(store_->Whole().size(), 2U);
  held.reset();
  Fetch(second);
  EXPECT_FALSE(Has(layer_));
  EXPECT_TRUE(Has(second) && Has(third));
}

TEST_F(FlashStoreTest, AFullDiskInTheMiddle) {
  EXPECT_EQ(*Open(layer_.file), 0U);
  ASSERT_TRUE(Append(layer_, 0).ok());
  {
    const FullDisk full(wire::kChunkBytes + 1000);
    EXPECT_EQ(Append(layer_, 1).code(), Code::kResourceExhausted);
  }
  EXPECT_EQ(*Open(layer_.file), 1U);
  ASSERT_TRUE(Append(layer_, 1).ok());
  ASSERT_TRUE(Append(layer_, 2).ok());
  EXPECT_TRUE(Has(layer_));
}

TEST_F(FlashStoreTest, NoCallbackComesAfterItsEnd) {
  int calls = 0;
  for (int i = 0; i < 10; ++i) {
    store_->Open(layer_.file, [&](const Result<std::uint32_t>& /*chunks*/) { ++calls; });
  }
  store_.reset();
  while (loop_.RunOne(Duration{0})) {
  }
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace shoal::os
