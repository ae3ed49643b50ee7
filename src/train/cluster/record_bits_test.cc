#include "train/cluster/record_bits.h"

#include <gtest/gtest.h>

namespace shoal::train {
namespace {

using Indices = std::vector<std::int64_t>;

TEST(RecordBitsTest, SayWhatIsHere) {
  for (const Indices& indices : {Indices{}, Indices{0}, Indices{7, 8}, Indices{3, 64, 1000}}) {
    EXPECT_EQ(ReadRecordBits(WriteRecordBits(indices)), indices);
  }
  EXPECT_EQ(WriteRecordBits(Indices{7, 8}), "\x80\x01");
}

TEST(RecordBitsTest, OfVeryManyTheFirst) {
  EXPECT_EQ(ReadRecordBits(WriteRecordBits(Indices{5, kRecordBitsMax - 1, kRecordBitsMax})),
            (Indices{5, kRecordBitsMax - 1}));
  EXPECT_EQ(ReadRecordBits(std::string(kRecordBitsMax, '\xff')).size(),
            static_cast<std::size_t>(kRecordBitsMax));
}

}  // namespace
}  // namespace shoal::train
