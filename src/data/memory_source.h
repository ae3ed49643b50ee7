// Records that the program itself brings.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "data/record.h"

namespace shoal::data {

class MemorySource final : public RecordSource {
 public:
  // REQUIRES: not empty.
  explicit MemorySource(std::vector<Record> records) : records_(std::move(records)) {
    SHOAL_CHECK(!records_.empty());
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(records_.size()); }
  Status Read(std::int64_t index, Record& out) const override {
    SHOAL_CHECK(index >= 0 && index < size());
    out = records_[static_cast<std::size_t>(index)];
    return {};
  }

 private:
  std::vector<Record> records_;
};

}  // namespace shoal::data
