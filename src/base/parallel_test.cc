#include "base/parallel.h"

#include <gtest/gtest.h>

#include <vector>

namespace shoal {
namespace {

TEST(SerialTest, RunsEachTaskOnceInOrder) {
  Serial serial;
  std::vector<std::size_t> ran;
  serial.Run(4, [&](std::size_t task, std::size_t worker) {
    EXPECT_LT(worker, serial.workers());
    ran.push_back(task);
  });
  EXPECT_EQ(ran, (std::vector<std::size_t>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace shoal
