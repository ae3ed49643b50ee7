#include "wire/send_queue.h"

#include <gtest/gtest.h>

#include <string>

namespace shoal::wire {
namespace {

TEST(SendQueue, RefusesFramesAboveTheLimit) {
  SendQueue queue(Traffic::kControl);
  EXPECT_TRUE(queue.Push(Frame(kControlFrameBytesMax)).ok());
  const Status status = queue.Push(Frame(kControlFrameBytesMax + 1));
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("262145"), std::string::npos);
}

TEST(SendQueue, HoldsItsLimitAndTellsWhenHalfIsFree) {
  SendQueue queue(Traffic::kBulk);
  const std::size_t frames_max = QueueBytesMax(Traffic::kBulk) / kBulkFrameBytesMax;
  for (std::size_t i = 0; i < frames_max; ++i) {
    ASSERT_TRUE(queue.Push(Frame(kBulkFrameBytesMax)).ok());
  }
  EXPECT_FALSE(queue.TakeWritable());  // Nothing was refused yet.
  EXPECT_EQ(queue.Push(Frame(1)).code(), Code::kResourceExhausted);
  std::vector<std::byte> out;
  for (std::size_t i = 0; i < frames_max / 2; ++i) {
    EXPECT_FALSE(queue.TakeWritable());
    queue.TakeSlice(kBulkFrameBytesMax, out);
  }
  EXPECT_TRUE(queue.TakeWritable());
  EXPECT_FALSE(queue.TakeWritable());
}

TEST(SendQueue, EmptyFramesAreNotFree) {
  SendQueue queue(Traffic::kControl);
  std::size_t accepted = 0;
  while (queue.Push(Frame()).ok()) ++accepted;
  EXPECT_GE(accepted, 4096U);
  EXPECT_LE(accepted, QueueBytesMax(Traffic::kControl) / 16);
}

TEST(SendQueue, CutsFramesIntoSlices) {
  SendQueue queue(Traffic::kActivations);
  ASSERT_TRUE(queue.Push(Frame(10)).ok());
  std::vector<std::byte> out;
  queue.TakeSlice(6, out);
  EXPECT_EQ(out.size(), kSliceHeaderBytes + 6);
  EXPECT_FALSE(queue.empty());
  queue.TakeSlice(6, out);
  EXPECT_EQ(out.size(), 2 * kSliceHeaderBytes + 10);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace shoal::wire
