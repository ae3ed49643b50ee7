#include "wire/item.h"

#include <gtest/gtest.h>

#include <vector>

#include "wire/piece.h"

namespace shoal::wire {
namespace {

Frame Example() {
  static const std::vector<std::byte> data(5, std::byte{7});
  return EncodeItemPiece(
      {.kind = ItemPiece::Kind::kRecord, .index = 49'999, .offset = 3, .total = 9, .data = data});
}

TEST(Item, RoundTrip) {
  const Frame frame = Example();
  EXPECT_TRUE(IsItemPiece(frame));
  const Result<ItemPiece> piece = DecodeItemPiece(frame);
  ASSERT_TRUE(piece.ok());
  EXPECT_EQ(piece->kind, ItemPiece::Kind::kRecord);
  EXPECT_EQ(piece->index, 49'999U);
  EXPECT_EQ(piece->offset, 3U);
  EXPECT_EQ(piece->total, 9U);
  EXPECT_EQ(piece->data.size(), 5U);
}

TEST(Item, LayersAreNotItems) {
  EXPECT_FALSE(IsItemPiece(EncodePiece({.kind = Piece::Kind::kGet})));
  EXPECT_FALSE(DecodePiece(Example()).ok());
}

TEST(Item, DamageIsNamed) {
  const auto broken = [](std::size_t at, int value) {
    Frame frame = Example();
    frame[at] = static_cast<std::byte>(value);
    return std::string(DecodeItemPiece(frame).status().message());
  };
  EXPECT_EQ(broken(4, 9), "piece of an item: bad kind");
  EXPECT_EQ(broken(24, 0), "piece of an item: bad total");
  EXPECT_EQ(broken(30, 1), "piece of an item: bad total");
  EXPECT_EQ(broken(16, 5), "piece of an item: bad offset");
  EXPECT_EQ(broken(22, 1), "piece of an item: bad offset");
  Frame frame = Example();
  frame.resize(31);
  EXPECT_FALSE(DecodeItemPiece(frame).ok());
  frame = Example();
  frame.resize(32);
  EXPECT_FALSE(DecodeItemPiece(frame).ok());
}

}  // namespace
}  // namespace shoal::wire
