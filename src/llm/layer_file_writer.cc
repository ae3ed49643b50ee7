#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "base/check.h"
#include "llm/layer_file.h"
#include "llm/layer_parts_internal.h"
#include "llm/layer_record_internal.h"
#include "wire/little_endian.h"

namespace shoal::llm {
namespace {

using internal::Aligned;
using internal::DataBegin;
using internal::kHeaderBytes;
using internal::kRecordBytes;
using internal::Record;

// The records of a layer, and where their numbers are in memory.
class Plan {
 public:
  Plan(const Layer& layer, const ModelConfig& config)
      : end_(DataBegin(internal::LayerPartCount(config))) {
    SHOAL_CHECK_EQ(layer.experts.size(), internal::FeedForwards(config));
    SHOAL_CHECK(internal::VisitLayer(layer, config, *this).ok());
    SHOAL_CHECK_EQ(parts_.size(), internal::LayerPartCount(config));
  }

  struct Part {
    Record record;
    std::span<const std::byte> numbers;
    std::span<const std::byte> order;
  };
  const std::vector<Part>& parts() const { return parts_; }
  std::uint64_t end() const { return end_; }

  Status Vector(const std::string& /*name*/, const std::vector<float>& vector, std::size_t size) {
    SHOAL_CHECK_EQ(vector.size(), size);
    Add({.rows = 1, .k = size}, std::as_bytes(std::span<const float>(vector)), {});
    return {};
  }

  Status Matrix(const std::string& /*name*/, const llm::Matrix& matrix, std::size_t rows,
                std::size_t k) {
    SHOAL_CHECK(matrix.rows() == rows && matrix.k() == k);
    Record record{.rows = rows, .k = k};
    const kernels::PackedWeights* packed = matrix.packed();
    if (packed != nullptr) {
      record.type = internal::kPacked;
      record.form = static_cast<std::uint8_t>(packed->form());
      record.unit = packed->unit();
    } else if (matrix.float_type() == DType::kF16) {
      record.type = internal::kFloats16;
    }
    Add(record, packed != nullptr ? packed->data() : matrix.floats(),
        std::as_bytes(matrix.input_order()));
    return {};
  }

 private:
  void Add(Record record, std::span<const std::byte> numbers, std::span<const std::byte> order) {
    record.offset = Aligned(end_);
    record.bytes = numbers.size();
    end_ = record.offset + record.bytes;
    if (!order.empty()) {
      record.order = Aligned(end_);
      end_ = record.order + order.size();
    }
    parts_.push_back({record, numbers, order});
  }

  std::uint64_t end_;
  std::vector<Part> parts_;
};

std::vector<std::byte> HeaderOf(const Plan& plan) {
  std::vector<std::byte> bytes(DataBegin(plan.parts().size()));
  const auto put = [&](std::size_t at, std::size_t size, std::uint64_t value) {
    wire::StoreLittleEndian(value, std::span(bytes).subspan(at, size));
  };
  std::memcpy(bytes.data(), internal::kLayerMagic.data(), internal::kLayerMagic.size());
  put(4, 4, internal::kLayerVersion);
  put(8, 4, kernels::kPackedRevision);
  put(12, 4, plan.parts().size());
  put(16, 8, plan.end());
  std::size_t base = kHeaderBytes;
  for (const Plan::Part& part : plan.parts()) {
    Record record = part.record;
    ForFields(record,
              [&](std::size_t at, std::size_t size, auto& value) { put(base + at, size, value); });
    base += kRecordBytes;
  }
  return bytes;
}

}  // namespace

Status WriteLayer(const Layer& layer, const ModelConfig& config, const ByteSink& sink) {
  const Plan plan(layer, config);
  static constexpr std::array<std::byte, kTensorAlignment> kZeros = {};
  std::uint64_t written = 0;
  const auto write = [&](std::uint64_t offset, std::span<const std::byte> bytes) -> Status {
    if (offset > written) {
      SHOAL_RETURN_IF_ERROR(sink(std::span(kZeros).first(offset - written)));
    }
    written = offset + bytes.size();
    return sink(bytes);
  };
  SHOAL_RETURN_IF_ERROR(write(0, HeaderOf(plan)));
  for (const Plan::Part& part : plan.parts()) {
    SHOAL_RETURN_IF_ERROR(write(part.record.offset, part.numbers));
    if (!part.order.empty()) SHOAL_RETURN_IF_ERROR(write(part.record.order, part.order));
  }
  return {};
}

std::uint64_t LayerFileBytes(const Layer& layer, const ModelConfig& config) {
  return Plan(layer, config).end();
}

}  // namespace shoal::llm
