// Goal: a node gets what it was granted, whole and in order, at the pace of the network, and
// nothing else.
#include "pipeline/layer_server.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "sim/fake_network_for_test.h"

namespace shoal::pipeline {
namespace {

constexpr NodeId kPeer{7};
constexpr NodeId kOther{8};
const std::string kName(sizeof(wire::Sha256Bytes), 'n');

class Bytes final : public LayerBytes {
 public:
  explicit Bytes(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  std::span<const std::byte> bytes() const override { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class OneLayer final : public LayerStore {
 public:
  std::shared_ptr<const LayerBytes> Find(const std::string& sha256) override {
    return sha256 == kName ? layer : nullptr;
  }
  std::vector<std::string> Whole() const override { return {kName}; }
  void Open(const wire::pb::LayerFile&, UniqueFunction<void(Result<std::uint32_t>)>) override {}
  void Append(const wire::pb::LayerFile&, std::uint32_t, std::vector<std::byte>,
              UniqueFunction<void(Status)>) override {}

  std::shared_ptr<const LayerBytes> layer;
};

class LayerServerTest : public testing::Test {
 protected:
  LayerServerTest() {
    Random random(1);
    content_.resize(wire::kChunkBytes + 300'000);  // Two chunks, the second of two pieces.
    for (std::byte& byte : content_) byte = static_cast<std::byte>(random.Below(256));
    store_.layer = std::make_shared<Bytes>(content_);
  }

  static wire::Piece Get(std::uint32_t chunk, const std::string& name = kName) {
    wire::Piece piece;
    std::transform(name.begin(), name.end(), piece.layer.begin(),
                   [](char c) { return static_cast<std::byte>(c); });
    piece.chunk = chunk;
    return piece;
  }
  // What was sent since the last call, as one chunk; nothing if it was something else.
  std::vector<std::byte> Received(std::uint32_t chunk) {
    std::vector<std::byte> bytes;
    for (const sim::FakeNetwork::Sent& sent : network_.sent) {
      EXPECT_EQ(sent.to, kPeer);
      EXPECT_EQ(sent.traffic, Traffic::kBulk);
      EXPECT_LE(sent.frame.size(), kBulkFrameBytesMax);
      const auto piece = wire::DecodePiece(sent.frame);
      EXPECT_TRUE(piece.ok());
      if (!piece.ok() || piece->kind != wire::Piece::Kind::kData || piece->chunk != chunk ||
          piece->layer != Get(0).layer || piece->offset != bytes.size()) {
        return {};
      }
      bytes.insert(bytes.end(), piece->data.begin(), piece->data.end());
    }
    network_.sent.clear();
    return bytes;
  }
  std::vector<std::byte> Chunk(std::uint32_t chunk) const {
    const auto begin =
        content_.begin() + static_cast<std::ptrdiff_t>(std::size_t{chunk} * wire::kChunkBytes);
    return {begin, begin + static_cast<std::ptrdiff_t>(ChunkSize(content_.size(), chunk))};
  }
  std::size_t Refusals() {
    const auto refusals =
        std::count_if(network_.sent.begin(), network_.sent.end(), [](const auto& sent) {
          const auto piece = wire::DecodePiece(sent.frame);
          return piece.ok() && piece->kind == wire::Piece::Kind::kRefuse;
        });
    return static_cast<std::size_t>(refusals);
  }

  std::vector<std::byte> content_;
  OneLayer store_;
  sim::FakeNetwork network_;
  LayerServer server_{network_, store_};
};

TEST_F(LayerServerTest, WhatIsGrantedIsSentWhole) {
  server_.Grant(kPeer, kName);
  server_.OnGet(kPeer, Get(1));
  EXPECT_TRUE(Received(1) == Chunk(1));
  server_.OnGet(kPeer, Get(0));
  EXPECT_TRUE(Received(0) == Chunk(0));
  EXPECT_EQ(server_.refused(), 0U);
}

TEST_F(LayerServerTest, WhatIsNotGrantedIsRefusedAndCounted) {
  server_.OnGet(kPeer, Get(0));
  EXPECT_EQ(Refusals(), 1U);
  server_.Grant(kOther, kName);
  server_.Grant(kPeer, std::string(kName.size(), 'm'));
  server_.OnGet(kPeer, Get(0));
  EXPECT_EQ(Refusals(), 2U);
  EXPECT_EQ(server_.refused(), 2U);
  const auto refusal = wire::DecodePiece(network_.sent.back().frame);
  ASSERT_TRUE(refusal.ok());
  EXPECT_EQ(refusal->layer, Get(0).layer);
  EXPECT_EQ(network_.sent.size(), 2U) << "and nothing else";
}

TEST_F(LayerServerTest, WhatIsNotThereIsRefused) {
  const std::string gone(kName.size(), 'g');
  server_.Grant(kPeer, kName);
  server_.Grant(kPeer, gone);
  server_.OnGet(kPeer, Get(2));
  server_.OnGet(kPeer, Get(0xffffffff));
  server_.OnGet(kPeer, Get(0, gone));
  EXPECT_EQ(Refusals(), 3U);
  EXPECT_EQ(network_.sent.size(), 3U);
  EXPECT_EQ(server_.refused(), 0U) << "it was granted";
}

TEST_F(LayerServerTest, AGrantEndsWithTheLink) {
  server_.Grant(kPeer, kName);
  server_.OnPeerDown(kPeer);
  server_.OnGet(kPeer, Get(0));
  EXPECT_EQ(Refusals(), 1U);
}

TEST_F(LayerServerTest, SendsNoMoreThanTheNetworkTakesAndGoesOn) {
  server_.Grant(kPeer, kName);
  network_.room = 3;
  server_.OnGet(kPeer, Get(0));
  EXPECT_EQ(network_.sent.size(), 3U);
  server_.OnGet(kPeer, Get(1));
  server_.OnWritable(kPeer);
  EXPECT_EQ(network_.sent.size(), 3U);
  const std::size_t pieces = (wire::kChunkBytes + wire::kPieceBytesMax - 1) / wire::kPieceBytesMax;
  network_.room = pieces - 3;
  server_.OnWritable(kPeer);
  EXPECT_TRUE(Received(0) == Chunk(0)) << "the first question first";
  network_.room = 100;
  server_.OnWritable(kPeer);
  EXPECT_TRUE(Received(1) == Chunk(1));
  server_.OnWritable(kPeer);
  server_.OnWritable(kOther);
  EXPECT_TRUE(network_.sent.empty());
}

TEST_F(LayerServerTest, TheRestOfABrokenLinkIsForgotten) {
  server_.Grant(kPeer, kName);
  network_.room = 3;
  server_.OnGet(kPeer, Get(0));
  network_.sent.clear();
  network_.room = 100;
  server_.OnPeerDown(kPeer);
  server_.OnWritable(kPeer);
  EXPECT_TRUE(network_.sent.empty());

  // The network may know before its event comes.
  server_.Grant(kPeer, kName);
  network_.down = {kPeer};
  server_.OnGet(kPeer, Get(0));
  network_.down = {};
  server_.OnWritable(kPeer);
  EXPECT_TRUE(network_.sent.empty());
}

TEST_F(LayerServerTest, MoreQuestionsAtOnceThanACorrectNodeHasAreRefused) {
  server_.Grant(kPeer, kName);
  network_.room = 0;
  for (int i = 0; i < 8; ++i) server_.OnGet(kPeer, Get(0));
  network_.room = 1;  // For one refusal.
  server_.OnGet(kPeer, Get(1));
  EXPECT_EQ(Refusals(), 1U);
}

TEST_F(LayerServerTest, WhatIsBeingSentStaysThoughTheStoreForgetsIt) {
  server_.Grant(kPeer, kName);
  network_.room = 3;
  server_.OnGet(kPeer, Get(0));
  store_.layer.reset();
  network_.room = 100;
  server_.OnWritable(kPeer);
  EXPECT_TRUE(Received(0) == Chunk(0));
}

}  // namespace
}  // namespace shoal::pipeline
