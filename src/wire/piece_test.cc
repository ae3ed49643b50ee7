#include "wire/piece.h"

#include <gtest/gtest.h>

#include <vector>

namespace shoal::wire {
namespace {

TEST(Piece, ComesBackAsItWas) {
  const std::vector<std::byte> data(1000, std::byte{7});
  Piece piece;
  piece.kind = Piece::Kind::kData;
  piece.layer[31] = std::byte{9};
  piece.chunk = 3;
  piece.offset = 4096;
  piece.data = data;
  const Frame frame = EncodePiece(piece);
  const Result<Piece> back = DecodePiece(frame);
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(back->kind, piece.kind);
  EXPECT_EQ(back->layer, piece.layer);
  EXPECT_EQ(back->chunk, 3U);
  EXPECT_EQ(back->offset, 4096U);
  EXPECT_TRUE(std::equal(data.begin(), data.end(), back->data.begin(), back->data.end()));
}

TEST(Piece, WhatDoesNotFitIntoAChunkIsRefused) {
  const std::vector<std::byte> data(16);
  Piece piece;
  piece.kind = Piece::Kind::kData;
  piece.data = data;
  piece.offset = kChunkBytes - 15;
  EXPECT_EQ(DecodePiece(EncodePiece(piece)).status().code(), Code::kCorruption);
  piece.offset = 0xffffffff;
  EXPECT_EQ(DecodePiece(EncodePiece(piece)).status().code(), Code::kCorruption);
  piece.kind = Piece::Kind::kGet;
  EXPECT_EQ(DecodePiece(EncodePiece(piece)).status().code(), Code::kCorruption);
  EXPECT_EQ(DecodePiece(Frame(43)).status().code(), Code::kCorruption);
  EXPECT_EQ(DecodePiece(Frame(44)).status().code(), Code::kCorruption);
}

}  // namespace
}  // namespace shoal::wire
