#include "os/flash/layer_writer.h"

#include "os/file.h"
#include "os/flash/flash_testing.h"

namespace shoal::os {
namespace {

class LayerWriterTest : public FlashDirectoryTest {
 protected:
  LayerWriterTest() { std::filesystem::create_directories(path_); }

  Result<LayerWriter> Open() { return LayerWriter::Open(part_, layer_.file, stop_); }

  const TestLayer layer_ = MakeTestLayer(1);
  const std::string part_ = path_ + "/layer.part";
  const std::string whole_ = path_ + "/layer";
  std::atomic<bool> stop_ = false;
};

// Wherever writing was broken off, it goes on after the last chunk that is right.
TEST_F(LayerWriterTest, GoesOnWhereverItWasBrokenOff) {
  constexpr std::size_t kChunk = wire::kChunkBytes;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, kChunk - 1, kChunk, kChunk + 1, 2 * kChunk - 1, 2 * kChunk,
        2 * kChunk + 1, layer_.bytes.size() - 1, layer_.bytes.size(), layer_.bytes.size() + 9}) {
    WriteBytes(part_, layer_.bytes, size);
    Result<LayerWriter> writer = Open();
    ASSERT_TRUE(writer.ok()) << writer.status().ToString();
    const auto right = static_cast<std::uint32_t>(size >= layer_.bytes.size() ? 3 : size / kChunk);
    EXPECT_EQ(writer->chunks(), right) << size;
    EXPECT_EQ(writer->bytes_missing(),
              layer_.bytes.size() - std::min(right * kChunk, layer_.bytes.size()));
    EXPECT_EQ(std::filesystem::file_size(part_) + writer->bytes_missing(), layer_.bytes.size());
    for (std::uint32_t i = right; i < 3; ++i) {
      EXPECT_FALSE(writer->complete());
      ASSERT_TRUE(writer->Append(i, layer_.Chunk(i)).ok());
    }
    EXPECT_TRUE(writer->complete());
    ASSERT_TRUE(writer->MoveTo(whole_).ok());
    EXPECT_EQ(*CountRightChunks(whole_, layer_.file, stop_), 3U);
    EXPECT_EQ(std::filesystem::file_size(whole_), layer_.bytes.size());
    EXPECT_FALSE(std::filesystem::exists(part_));
  }
}

TEST_F(LayerWriterTest, ChunksThatWentBadAreCutOff) {
  WriteBytes(part_, layer_.bytes, layer_.bytes.size());
  FlipBit(part_, wire::kChunkBytes + 77);
  EXPECT_EQ(Open()->chunks(), 1U);
  EXPECT_EQ(std::filesystem::file_size(part_), wire::kChunkBytes);
}

TEST_F(LayerWriterTest, WhatIsNotTheNextChunkIsRefused) {
  Result<LayerWriter> writer = Open();
  std::vector<std::byte> flipped = layer_.Chunk(0);
  flipped[4711] ^= std::byte{1};
  std::vector<std::byte> longer = layer_.Chunk(0);
  longer.push_back({});
  EXPECT_EQ(writer->Append(0, flipped).code(), Code::kCorruption);
  EXPECT_EQ(writer->Append(0, longer).code(), Code::kCorruption);
  EXPECT_EQ(writer->Append(0, {}).code(), Code::kCorruption);
  EXPECT_EQ(writer->Append(1, layer_.Chunk(1)).code(), Code::kCorruption);
  EXPECT_EQ(writer->Append(0, layer_.Chunk(1)).code(), Code::kCorruption);
  EXPECT_EQ(std::filesystem::file_size(part_), 0U);
  EXPECT_TRUE(writer->Append(0, layer_.Chunk(0)).ok());
  EXPECT_EQ(writer->Append(0, layer_.Chunk(0)).code(), Code::kCorruption);
  EXPECT_EQ(writer->chunks(), 1U);
}

TEST_F(LayerWriterTest, AFullDiskCostsNoChunk) {
  Result<LayerWriter> writer = Open();
  ASSERT_TRUE(writer->Append(0, layer_.Chunk(0)).ok());
  {
    const FullDisk full(wire::kChunkBytes + 1000);  // A thousand bytes of the next fit.
    const Status status = writer->Append(1, layer_.Chunk(1));
    EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.ToString();
    EXPECT_NE(status.message().find(part_), std::string::npos);
  }
  EXPECT_EQ(std::filesystem::file_size(part_), wire::kChunkBytes);
  EXPECT_EQ(writer->chunks(), 1U);
  ASSERT_TRUE(writer->Append(1, layer_.Chunk(1)).ok());
  ASSERT_TRUE(writer->Append(2, layer_.Chunk(2)).ok());
  EXPECT_TRUE(writer->complete());
}

TEST_F(LayerWriterTest, HashingStopsWhenAsked) {
  WriteBytes(part_, layer_.bytes, layer_.bytes.size());
  stop_ = true;
  EXPECT_EQ(Open().status().code(), Code::kCancelled);
  EXPECT_EQ(std::filesystem::file_size(part_), layer_.bytes.size());
}

}  // namespace
}  // namespace shoal::os
