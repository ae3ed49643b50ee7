// ReceiptBook: what a stage was given and what it made of it, until the head is told.
//
// Belongs to one event loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "wire/control.h"

namespace shoal::agent {

class ReceiptBook {
 public:
  // So many rows at most wait to be told: a message of them is some kilobytes.
  static constexpr std::size_t kRowsMax = 512;

  // A batch. REQUIRES: as many rows were given as made.
  void Add(std::uint64_t epoch, std::uint64_t step, std::uint64_t plan,
           const std::vector<std::uint64_t>& given, const std::vector<std::uint64_t>& made);
  // Whether it is time to tell.
  bool Full() const { return rows_ >= kRowsMax; }
  // All that was not told, a message for each epoch.
  std::vector<wire::pb::Receipts> Take();

 private:
  std::vector<wire::pb::Receipts> receipts_;
  std::size_t rows_ = 0;
};

}  // namespace shoal::agent
