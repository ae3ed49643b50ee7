// ReceiptBook: what a stage was given and what it made of it, until the head is told.
//
// Belongs to one event loop.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "wire/control.h"

namespace shoal::agent {

class ReceiptBook {
 public:
  // So many rows at most wait to be told: a message of them is some kilobytes.
  static constexpr std::size_t kRowsMax = 512;

  // A batch of a running epoch. REQUIRES: as many rows were given as made.
  void Add(std::uint64_t epoch, std::uint64_t step, const std::vector<std::uint64_t>& given,
           const std::vector<std::uint64_t>& made);
  // Whether it is time to tell.
  bool Full() const { return static_cast<std::size_t>(receipts_.given_size()) >= kRowsMax; }
  // All that was not told, if there is any.
  std::optional<wire::pb::Receipts> Take();

 private:
  wire::pb::Receipts receipts_;  // Of one epoch: older ones are of no use to anybody.
};

}  // namespace shoal::agent
