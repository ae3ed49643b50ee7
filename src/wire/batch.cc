#include "wire/batch.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "base/check.h"
#include "wire/little_endian.h"

namespace shoal::wire {
namespace {

constexpr std::uint64_t kBatchVersion = 1;
constexpr std::size_t kRunBytes = 20;

// The fields before the runs, in order, with their sizes.
constexpr std::size_t kToAt = 0;
constexpr std::size_t kEpochAt = 8;
constexpr std::size_t kStepAt = 16;
constexpr std::size_t kVersionAt = 24;
constexpr std::size_t kArithmeticAt = 28;
constexpr std::size_t kStageAt = 32;
constexpr std::size_t kLastAt = 36;
constexpr std::size_t kDimAt = 40;
constexpr std::size_t kRunsAt = 44;
constexpr std::size_t kOverAt = 48;
constexpr std::size_t kRowsAt = 52;
constexpr std::size_t kHeaderBytes = 56;

class Writer {
 public:
  explicit Writer(Frame& frame) : out_(frame) {}
  void Put(std::uint64_t value, std::size_t bytes) {
    StoreLittleEndian(value, out_.first(bytes));
    out_ = out_.subspan(bytes);
  }
  std::span<std::byte> rest() const { return out_; }

 private:
  std::span<std::byte> out_;
};

Status Bad(std::string_view field) {
  return {Code::kCorruption, "batch: bad " + std::string(field)};
}

}  // namespace

std::size_t Batch::RowsIn() const {
  std::size_t count = 0;
  for (const Run& run : runs) count += run.count;
  return count;
}

std::size_t Batch::RowsBack() const {
  std::size_t count = 0;
  for (const Run& run : runs) count += run.wanted;
  return count;
}

Frame EncodeBatch(const Batch& batch) {
  SHOAL_CHECK_GT(batch.dim, 0U);
  SHOAL_CHECK_EQ(batch.rows.size() % batch.dim, std::size_t{0});
  Frame frame(kHeaderBytes + batch.runs.size() * kRunBytes + batch.over.size() * 8 +
              batch.rows.size() * 2);
  Writer writer(frame);
  writer.Put(ToNumber(batch.to), 8);
  writer.Put(batch.epoch, 8);
  writer.Put(batch.step, 8);
  writer.Put(kBatchVersion, 4);
  writer.Put(batch.arithmetic, 4);
  writer.Put(batch.stage, 4);
  writer.Put(batch.last, 4);
  writer.Put(batch.dim, 4);
  writer.Put(batch.runs.size(), 4);
  writer.Put(batch.over.size(), 4);
  writer.Put(batch.rows.size() / batch.dim, 4);
  for (const Run& run : batch.runs) {
    writer.Put(run.sequence, 8);
    writer.Put(run.begin, 4);
    writer.Put(run.count, 4);
    writer.Put(run.wanted, 4);
  }
  for (const std::uint64_t sequence : batch.over) writer.Put(sequence, 8);
  // Rows are copied as they are: every CPU that we build for is little-endian.
  if (!batch.rows.empty()) {
    std::memcpy(writer.rest().data(), batch.rows.data(), batch.rows.size() * 2);
  }
  return frame;
}

Result<Batch> DecodeBatch(const Frame& frame) {
  if (frame.size() < kHeaderBytes) return Bad("size");
  const std::span<const std::byte> bytes(frame);
  const auto number = [&](std::size_t at, std::size_t size) {
    return LoadLittleEndian(bytes.subspan(at, size));
  };
  const auto number32 = [&](std::size_t at) { return static_cast<std::uint32_t>(number(at, 4)); };
  if (number(kVersionAt, 4) != kBatchVersion) return Bad("version");
  Batch batch;
  batch.to = NodeId{number(kToAt, 8)};
  batch.epoch = number(kEpochAt, 8);
  batch.step = number(kStepAt, 8);
  batch.arithmetic = number32(kArithmeticAt);
  batch.stage = number32(kStageAt);
  batch.last = number32(kLastAt);
  batch.dim = number32(kDimAt);
  const std::size_t runs = number32(kRunsAt);
  const std::size_t over = number32(kOverAt);
  const std::size_t rows = number32(kRowsAt);
  if (batch.dim == 0 || batch.dim > kBatchDimMax) return Bad("dim");
  if (runs > kBatchRunsMax) return Bad("runs");
  if (over > kBatchOverMax) return Bad("over");
  if (rows > kBatchRowsMax) return Bad("rows");
  const std::size_t row_bytes = std::size_t{2} * batch.dim;
  if (frame.size() != kHeaderBytes + runs * kRunBytes + over * 8 + rows * row_bytes) {
    return Bad("size");
  }
  std::size_t at = kHeaderBytes;
  for (std::size_t i = 0; i < runs; ++i, at += kRunBytes) {
    const Run run = {.sequence = number(at, 8),
                     .begin = number32(at + 8),
                     .count = number32(at + 12),
                     .wanted = number32(at + 16)};
    if (run.count == 0 || run.count > kBatchRowsMax || run.wanted > run.count ||
        run.begin > std::numeric_limits<std::uint32_t>::max() - run.count) {
      return Bad("run");
    }
    batch.runs.push_back(run);
  }
  // A stage prepares all runs before it computes: two of one sequence would meet.
  std::vector<std::uint64_t> sequences;
  for (const Run& run : batch.runs) sequences.push_back(run.sequence);
  std::sort(sequences.begin(), sequences.end());
  if (std::adjacent_find(sequences.begin(), sequences.end()) != sequences.end()) return Bad("run");
  for (std::size_t i = 0; i < over; ++i, at += 8) batch.over.push_back(number(at, 8));
  if (rows != (batch.stage > batch.last ? batch.RowsBack() : batch.RowsIn())) return Bad("rows");
  batch.rows.resize(rows * batch.dim);
  if (rows > 0) std::memcpy(batch.rows.data(), frame.data() + at, rows * row_bytes);
  return batch;
}

NodeId BatchDestination(const Frame& frame) {
  if (frame.size() < kHeaderBytes) return NodeId{0};
  return NodeId{LoadLittleEndian(std::span<const std::byte>(frame).subspan(kToAt, 8))};
}

}  // namespace shoal::wire
