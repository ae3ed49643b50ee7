#include "agent/receipt_book.h"

#include <utility>

#include "base/check.h"

namespace shoal::agent {

void ReceiptBook::Add(std::uint64_t epoch, std::uint64_t step, std::uint64_t plan,
                      const std::vector<std::uint64_t>& given,
                      const std::vector<std::uint64_t>& made) {
  SHOAL_CHECK_EQ(given.size(), made.size());
  if (receipts_.empty() || receipts_.back().epoch() != epoch) {
    receipts_.emplace_back().set_epoch(epoch);
  }
  wire::pb::Receipts& receipts = receipts_.back();
  receipts.add_steps(step);
  receipts.add_plans(plan);
  receipts.add_rows(static_cast<std::uint32_t>(given.size()));
  receipts.mutable_given()->Add(given.begin(), given.end());
  receipts.mutable_made()->Add(made.begin(), made.end());
  rows_ += given.size();
}

std::vector<wire::pb::Receipts> ReceiptBook::Take() {
  rows_ = 0;
  return std::exchange(receipts_, {});
}

}  // namespace shoal::agent
