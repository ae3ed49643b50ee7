#include "kernels/softmax_loss.h"

#include <array>
#include <cfloat>
#include <limits>

#include "base/random.h"
#include "kernels/chunks.h"
#include "kernels/reduce.h"
#include "kernels/row_ops.h"
#include "kernels/row_partition.h"
#include "kernels/softmax.h"

namespace shoal::kernels {
namespace {

enum class LabelKind : std::uint8_t { kClass, kIgnored, kBad };

struct Label {
  LabelKind kind;
  std::size_t index;  // kClass
};

Label ParseLabel(float value, std::size_t classes, std::optional<int> ignore) {
  if (ignore && value == static_cast<float>(*ignore)) return {LabelKind::kIgnored, 0};
  if (!(value >= 0 && value < static_cast<float>(classes))) return {LabelKind::kBad, 0};
  const auto index = static_cast<std::size_t>(value);
  if (static_cast<float>(index) != value) return {LabelKind::kBad, 0};
  return {LabelKind::kClass, index};
}

// Adds up visit(row, label's class, sum) over the rows that count; Sum has `valid` and `bad`.
template <class Sum, class Visit>
std::array<Sum, RowPartition::kChunksMax> VisitLabels(ConstRows rows, std::span<const float> labels,
                                                      std::optional<int> ignore, Parallel& parallel,
                                                      const Visit& visit) {
  SHOAL_CHECK_EQ(labels.size(), rows.rows);
  std::array<Sum, RowPartition::kChunksMax> sums{};
  RowPartition(rows.rows, 1).Run(parallel, [&](const RowPartition::Block& block) {
    Sum sum;
    for (std::size_t row = block.row_begin; row < block.row_end; ++row) {
      const Label label = ParseLabel(labels[row], rows.channels, ignore);
      if (label.kind == LabelKind::kBad) ++sum.bad;
      if (label.kind != LabelKind::kClass) continue;
      ++sum.valid;
      visit(rows.row(row), label.index, sum);
    }
    sums[block.chunk] = sum;
  });
  return sums;
}

double MinusLog(float p) {
  if (p != p) return std::numeric_limits<double>::quiet_NaN();
  return -PortableLog(static_cast<double>(p < FLT_MIN ? FLT_MIN : p));
}

}  // namespace

void SoftmaxRows(ConstRows x, Rows y, Parallel& parallel, Target target) {
  CheckSameShape(x, y);
  ForChunks(x.rows, RowsPerTask(x.channels), parallel, [&](std::size_t begin, std::size_t end) {
    Serial serial;
    for (std::size_t row = begin; row < end; ++row) {
      Softmax({x.row(row), x.channels}, x.channels, {y.row(row), x.channels}, serial, target);
    }
  });
}

void SoftmaxRowsBackward(ConstRows y, ConstRows dy, Rows dx, bool accumulate, Parallel& parallel,
                         Target target) {
  CheckSameShape(y, dx);
  CheckSameShape(dy, dx);
  const std::size_t n = dx.channels;
  ForChunks(dx.rows, RowsPerTask(n), parallel, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const float dot = Dot({y.row(row), n}, {dy.row(row), n}, target);
      float* const to = dx.row(row);
      for (std::size_t c = 0; c < n; ++c) {
        const float d = y.row(row)[c] * (dy.row(row)[c] - dot);
        to[c] = accumulate ? to[c] + d : d;
      }
    }
  });
}

LabelledSum CrossEntropy(ConstRows p, std::span<const float> labels, std::optional<int> ignore,
                         Parallel& parallel) {
  LabelledSum total;
  const auto visit = [](const float* row, std::size_t label, LabelledSum& sum) {
    sum.loss += MinusLog(row[label]);
  };
  for (const LabelledSum& sum : VisitLabels<LabelledSum>(p, labels, ignore, parallel, visit)) {
    total.loss += sum.loss;
    total.valid += sum.valid;
    total.bad += sum.bad;
  }
  return total;
}

void CrossEntropyBackward(float scale, ConstRows p, std::span<const float> labels,
                          std::optional<int> ignore, Rows dx, bool accumulate, Parallel& parallel,
                          Target target) {
  CheckSameShape(p, dx);
  SHOAL_CHECK_EQ(labels.size(), p.rows);
  const std::size_t n = p.channels;
  const float keep = accumulate ? 1.0F : 0.0F;
  ForChunks(p.rows, RowsPerTask(n), parallel, [&](std::size_t begin, std::size_t end) {
    Serial serial;
    for (std::size_t row = begin; row < end; ++row) {
      const Rows to{dx.row(row), 1, n, n};
      const Label label = ParseLabel(labels[row], n, ignore);
      if (label.kind != LabelKind::kClass) {
        if (!accumulate) FillRows(0, to, serial, target);
        continue;
      }
      // Apart from the others: p - 1 is exact where p is near 1, scale * p - scale is not.
      const float before = accumulate ? to.data[label.index] : 0.0F;
      const float here = scale * (p.row(row)[label.index] - 1.0F);
      CombineRows(scale, {p.row(row), 1, n, n}, keep, to, serial, target);
      to.data[label.index] = before + here;
    }
  });
}

LabelledCount CountTopK(ConstRows scores, std::span<const float> labels, std::size_t k,
                        std::optional<int> ignore, Parallel& parallel) {
  LabelledCount total;
  const auto visit = [&](const float* row, std::size_t label, LabelledCount& sum) {
    const float own = row[label];
    std::size_t rivals = 0;
    for (std::size_t c = 0; c < scores.channels; ++c) rivals += !(row[c] < own) ? 1 : 0;
    sum.correct += rivals <= k ? 1 : 0;  // The label is one of its rivals here.
  };
  for (const LabelledCount& sum :
       VisitLabels<LabelledCount>(scores, labels, ignore, parallel, visit)) {
    total.correct += sum.correct;
    total.valid += sum.valid;
    total.bad += sum.bad;
  }
  return total;
}

}  // namespace shoal::kernels
