// A Caffe database as a data set: Datums in an LMDB, plain or compressed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "data/lmdb.h"
#include "data/record.h"

namespace shoal::data {

class LmdbSource final : public RecordSource {
 public:
  static Result<LmdbSource> Open(const std::string& path, Colors colors = Colors::kAsStored);

  std::int64_t size() const override { return reader_.size(); }
  Status Read(std::int64_t index, Record& out) const override;
  Result<std::optional<std::string>> ReadEncoded(std::int64_t index) const override;

  const LmdbReader& reader() const { return reader_; }

 private:
  LmdbSource(LmdbReader reader, Colors colors) : reader_(std::move(reader)), colors_(colors) {}

  LmdbReader reader_;
  Colors colors_;
};

}  // namespace shoal::data
