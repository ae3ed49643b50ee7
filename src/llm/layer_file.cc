#include "llm/layer_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "llm/layer_parts_internal.h"
#include "llm/layer_record_internal.h"
#include "wire/little_endian.h"

namespace shoal::llm {
namespace {

using internal::Aligned;
using internal::DataBegin;
using internal::kFloats16;
using internal::kFloats32;
using internal::kHeaderBytes;
using internal::kLayerMagic;
using internal::kLayerVersion;
using internal::kPacked;
using internal::kRecordBytes;
using internal::Record;

class Reader {
 public:
  Reader(std::string_view name, std::span<const std::byte> file) : name_(name), file_(file) {}

  Result<Layer> Read(const ModelConfig& config) {
    SHOAL_RETURN_IF_ERROR(CheckHeader(config));
    next_ = DataBegin(internal::LayerPartCount(config));
    Layer layer;
    layer.experts.resize(internal::FeedForwards(config));
    SHOAL_RETURN_IF_ERROR(internal::VisitLayer(layer, config, *this));
    if (next_ != file_.size()) return Wrong("", "bytes", file_.size(), next_);
    return layer;
  }

  Status Vector(const std::string& part, std::vector<float>& vector, std::size_t size) {
    const Record record = NextRecord();
    if (record.type != kFloats32) return Wrong(part, "type", record.type, kFloats32);
    if (record.order != 0) return Wrong(part, "order", record.order, 0);
    SHOAL_ASSIGN_OR_RETURN(const auto bytes, Numbers(part, record, 1, size, size * sizeof(float)));
    vector.resize(size);
    std::memcpy(vector.data(), bytes.data(), bytes.size());
    return {};
  }

  Status Matrix(const std::string& part, llm::Matrix& matrix, std::size_t rows, std::size_t k) {
    const Record record = NextRecord();
    if (record.type > kPacked) return Wrong(part, "type", record.type, kPacked);
    SHOAL_ASSIGN_OR_RETURN(matrix, record.type == kPacked ? PackedMatrix(part, record, rows, k)
                                                          : FloatMatrix(part, record, rows, k));
    return ReadOrder(part, record, matrix);
  }

 private:
  std::uint64_t Load(std::uint64_t at, std::size_t size) const {
    return wire::LoadLittleEndian(file_.subspan(at, size));
  }

  // `part` is empty for the file as a whole.
  Status Wrong(const std::string& part, std::string_view field, std::uint64_t is,
               std::uint64_t wanted) const {
    return Status(Code::kCorruption, name_ + ": " + (part.empty() ? "" : part + ": ") +
                                         std::string(field) + " is " + std::to_string(is) +
                                         "; wanted " + std::to_string(wanted));
  }

  Status CheckHeader(const ModelConfig& config) const {
    if (file_.size() < kHeaderBytes ||
        !std::equal(kLayerMagic.begin(), kLayerMagic.end(), file_.begin())) {
      return Status(Code::kCorruption, name_ + ": is not a layer file");
    }
    const std::size_t records = internal::LayerPartCount(config);
    if (Load(4, 4) != kLayerVersion) return Wrong("", "version", Load(4, 4), kLayerVersion);
    if (Load(8, 4) != kernels::kPackedRevision) {
      return Wrong("", "revision of packed weights", Load(8, 4), kernels::kPackedRevision);
    }
    if (Load(12, 4) != records) return Wrong("", "number of records", Load(12, 4), records);
    if (Load(16, 8) != file_.size()) return Wrong("", "bytes", file_.size(), Load(16, 8));
    if (file_.size() < DataBegin(records)) {
      return Wrong("", "bytes", file_.size(), DataBegin(records));
    }
    return {};
  }

  // CheckHeader has seen that all of them are there.
  Record NextRecord() {
    const std::uint64_t base = kHeaderBytes + kRecordBytes * index_++;
    Record record;
    ForFields(record, [&](std::size_t at, std::size_t size, auto& value) {
      value = static_cast<std::remove_reference_t<decltype(value)>>(Load(base + at, size));
    });
    return record;
  }

  // The next `size` bytes from a multiple of 64 on, at which the record must say that they are.
  Result<std::span<const std::byte>> Take(const std::string& part, std::string_view field,
                                          std::uint64_t offset, std::uint64_t size) {
    const std::uint64_t begin = Aligned(next_);
    if (offset != begin) return Wrong(part, field, offset, begin);
    if (begin > file_.size() || size > file_.size() - begin) {
      return Wrong(part, "end", begin + size, file_.size());
    }
    next_ = begin + size;
    return file_.subspan(begin, size);
  }

  Result<std::span<const std::byte>> Numbers(const std::string& part, const Record& record,
                                             std::size_t rows, std::size_t k, std::size_t bytes) {
    if (record.rows != rows) return Wrong(part, "rows", record.rows, rows);
    if (record.k != k) return Wrong(part, "k", record.k, k);
    if (record.bytes != bytes) return Wrong(part, "bytes", record.bytes, bytes);
    return Take(part, "offset", record.offset, bytes);
  }

  Result<llm::Matrix> FloatMatrix(const std::string& part, const Record& record, std::size_t rows,
                                  std::size_t k) {
    const DType dtype = record.type == kFloats16 ? DType::kF16 : DType::kF32;
    SHOAL_ASSIGN_OR_RETURN(const auto bytes,
                           Numbers(part, record, rows, k, rows * k * Info(dtype).block_bytes));
    Serial serial;
    return llm::Matrix::Make(part, dtype, bytes, rows, k, serial);
  }

  Result<llm::Matrix> PackedMatrix(const std::string& part, const Record& record, std::size_t rows,
                                   std::size_t k) {
    if (record.form >= kernels::kPackedForms) {
      return Wrong(part, "form", record.form, kernels::kPackedForms - 1);
    }
    const auto form = static_cast<kernels::PackedForm>(record.form);
    const std::size_t block = kernels::LayoutOf(form).block;
    if (k % block != 0) {
      return Status(Code::kCorruption, name_ + ": " + part + ": form has blocks of " +
                                           std::to_string(block) + ", which rows of " +
                                           std::to_string(k) + " are no multiple of");
    }
    int exponent = 0;
    if (!(record.unit > 0 && record.unit <= 1) || std::frexp(record.unit, &exponent) != 0.5F) {
      return Status(Code::kCorruption, name_ + ": " + part + ": unit is no power of two");
    }
    SHOAL_ASSIGN_OR_RETURN(const auto bytes,
                           Numbers(part, record, rows, k, kernels::PackedBytes(form, rows, k)));
    return llm::Matrix(kernels::PackedWeights::Refer(form, record.unit, rows, k, bytes));
  }

  Status ReadOrder(const std::string& part, const Record& record, llm::Matrix& matrix) {
    if (record.order == 0) return {};
    SHOAL_ASSIGN_OR_RETURN(const auto bytes,
                           Take(part, "order", record.order, matrix.k() * sizeof(std::uint32_t)));
    std::vector<std::uint32_t> order(matrix.k());
    std::memcpy(order.data(), bytes.data(), bytes.size());
    std::vector<bool> seen(order.size());
    for (const std::uint32_t input : order) {
      if (input >= order.size() || seen[input]) {
        return Status(Code::kCorruption, name_ + ": " + part + ": order has input " +
                                             std::to_string(input) + " twice or beyond " +
                                             std::to_string(order.size()));
      }
      seen[input] = true;
    }
    matrix.SetInputOrder(std::move(order));
    return {};
  }

  std::string name_;
  std::span<const std::byte> file_;
  std::size_t index_ = 0;
  std::uint64_t next_ = 0;  // Where the last numbers ended.
};

}  // namespace

Result<Layer> ReadLayer(std::string_view name, std::span<const std::byte> file,
                        const ModelConfig& config) {
  SHOAL_CHECK_EQ(reinterpret_cast<std::uintptr_t>(file.data()) % kTensorAlignment, std::size_t{0});
  return Reader(name, file).Read(config);
}

}  // namespace shoal::llm
