#include "agent/receipt_book.h"

#include <utility>

#include "base/check.h"

namespace shoal::agent {

void ReceiptBook::Add(std::uint64_t epoch, std::uint64_t step,
                      const std::vector<std::uint64_t>& given,
                      const std::vector<std::uint64_t>& made) {
  SHOAL_CHECK_EQ(given.size(), made.size());
  if (receipts_.epoch() != epoch) receipts_.Clear();
  receipts_.set_epoch(epoch);
  receipts_.add_steps(step);
  receipts_.add_rows(static_cast<std::uint32_t>(given.size()));
  receipts_.mutable_given()->Add(given.begin(), given.end());
  receipts_.mutable_made()->Add(made.begin(), made.end());
}

std::optional<wire::pb::Receipts> ReceiptBook::Take() {
  if (receipts_.steps().empty()) return std::nullopt;
  return std::exchange(receipts_, {});
}

}  // namespace shoal::agent
