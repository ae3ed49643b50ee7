// Softmax over the channels of each row, and the cross entropy of its result. See rows.h.
//
// Labels are floats that hold integers, one per row, as blobs have them. A label that is neither
// `ignore` nor one of the classes is the data's fault: such rows are counted, not used.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/parallel.h"
#include "kernels/rows.h"
#include "kernels/target.h"

namespace shoal::kernels {

// Each row as softmax.h says. y may be x.
void SoftmaxRows(ConstRows x, Rows y, Parallel& parallel, Target target = BestTarget());

// dx = y * (dy - the row's sum of dy * y), or with `accumulate` dx += it. dx may be dy.
void SoftmaxRowsBackward(ConstRows y, ConstRows dy, Rows dx, bool accumulate, Parallel& parallel,
                         Target target = BestTarget());

struct LabelledSum {
  double loss = 0;        // Not divided by anything.
  std::size_t valid = 0;  // Rows that count.
  std::size_t bad = 0;    // Rows whose label is no class.
};

// The sum of -ln(max(p[label], FLT_MIN)) over rows that are not ignored.
LabelledSum CrossEntropy(ConstRows p, std::span<const float> labels, std::optional<int> ignore,
                         Parallel& parallel);

// The gradient of scale * CrossEntropy(Softmax(x)) by x: dx = scale * (p - [channel is label]), 0
// in rows that do not count; with `accumulate`, dx += it. dx may be p.
void CrossEntropyBackward(float scale, ConstRows p, std::span<const float> labels,
                          std::optional<int> ignore, Rows dx, bool accumulate, Parallel& parallel,
                          Target target = BestTarget());

struct LabelledCount {
  std::size_t correct = 0;
  std::size_t valid = 0;
  std::size_t bad = 0;
};

// Rows in which fewer than k other classes score as high as the label or higher: ties, and NaN,
// count against it.
LabelledCount CountTopK(ConstRows scores, std::span<const float> labels, std::size_t k,
                        std::optional<int> ignore, Parallel& parallel);

}  // namespace shoal::kernels
