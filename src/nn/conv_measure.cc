#include "nn/conv_measure.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "base/status.h"
#include "tensor/aligned_buffer.h"

namespace shoal::nn {
namespace {

using kernels::ConvPass;
using kernels::ConvShape;

constexpr double kNever = std::numeric_limits<double>::infinity();
// After a first run, which may have compiled something and found its memory cold …
constexpr double kHopeless = 4;
// … and after a turn.
constexpr double kTooSlow = 2;
// A turn repeats short runs for this long: some would be over before the cores are fast.
constexpr double kTurnSeconds = 2e-3;
constexpr int kTurns = 6;

// Memory that was written to, with values that neither grow nor vanish.
class Floats {
 public:
  // False if there is no such memory.
  bool Reserve(std::size_t count) {
    Result<AlignedBuffer> buffer =
        AlignedBuffer::Make(std::max<std::size_t>(1, count * sizeof(float)));
    if (!buffer.ok()) return false;
    buffer_ = *std::move(buffer);
    for (std::size_t i = 0; i < count; ++i) data()[i] = static_cast<float>(i % 7) * 0.125F - 0.375F;
    return true;
  }
  float* data() { return reinterpret_cast<float*>(buffer_.data()); }

 private:
  AlignedBuffer buffer_;
};

struct Operands {
  Floats x;
  Floats y;
  Floats w;
  Floats workspace;
};

// A row that takes part.
struct Runner {
  std::size_t row;
  std::size_t workspace_floats;
  std::function<void()> run;
  double best = kNever;
};

// The pass of a row as a runner, or one without `run`.
template <class Args>
Runner MakeRunner(std::size_t row, std::unique_ptr<ConvPass<Args>> pass, const Args& args,
                  Operands& operands, Parallel& parallel) {
  if (pass == nullptr) return {row, 0, nullptr};
  const std::size_t floats = pass->workspace_floats();
  const std::shared_ptr<ConvPass<Args>> shared = std::move(pass);
  return {row, floats, [shared, args, &operands, &parallel] {
            shared->Run(args, operands.workspace.data(), parallel);
          }};
}

Runner MakeRunner(std::size_t index, const kernels::ConvImplementation& row, const ConvShape& shape,
                  ConvDirection direction, Operands& o, Parallel& parallel) {
  const kernels::ConvOptions options{.workers = parallel.workers()};
  if (direction == ConvDirection::kForward && row.forward != nullptr) {
    const kernels::ConvForwardArgs args{.x = o.x.data(),
                                        .x_stride = shape.channels,
                                        .w = o.w.data(),
                                        .y = o.y.data(),
                                        .y_stride = shape.outputs};
    return MakeRunner(index, row.forward(shape, options), args, o, parallel);
  }
  if (direction == ConvDirection::kBackwardData && row.backward_data != nullptr) {
    const kernels::ConvBackwardDataArgs args{.dy = o.y.data(),
                                             .dy_stride = shape.outputs,
                                             .w = o.w.data(),
                                             .dx = o.x.data(),
                                             .dx_stride = shape.channels};
    return MakeRunner(index, row.backward_data(shape, options), args, o, parallel);
  }
  if (direction == ConvDirection::kBackwardWeights && row.backward_weights != nullptr) {
    const kernels::ConvBackwardWeightsArgs args{.x = o.x.data(),
                                                .x_stride = shape.channels,
                                                .dy = o.y.data(),
                                                .dy_stride = shape.outputs,
                                                .dw = o.w.data()};
    return MakeRunner(index, row.backward_weights(shape, options), args, o, parallel);
  }
  return {index, 0, nullptr};
}

double TimeOnce(const Runner& runner, const std::function<double()>& now) {
  const double begin = now();
  runner.run();
  return now() - begin;
}

void GiveUp(std::vector<Runner>& runners, double factor) {
  double best = kNever;
  for (const Runner& runner : runners) best = std::min(best, runner.best);
  std::erase_if(runners, [&](const Runner& runner) { return runner.best > factor * best; });
}

// Leaves the best of those who came far, in turns: a busy moment of the device hits all alike.
void Race(std::vector<Runner>& runners, double seconds, const std::function<double()>& now) {
  const double begin = now();
  for (Runner& runner : runners) runner.best = TimeOnce(runner, now);
  GiveUp(runners, kHopeless);
  for (int turn = 0; turn < kTurns; ++turn) {
    if (runners.size() == 1 || (turn > 0 && now() - begin > seconds)) return;
    for (Runner& runner : runners) {
      const double turn_begin = now();
      do {
        runner.best = std::min(runner.best, TimeOnce(runner, now));
      } while (now() - turn_begin < kTurnSeconds);
    }
    GiveUp(runners, kTooSlow);
  }
}

}  // namespace

std::vector<double> MeasureConv(std::span<const kernels::ConvImplementation* const> rows,
                                const ConvShape& shape, ConvDirection direction,
                                const ConvMeasureOptions& options,
                                const std::function<double()>& now, Parallel& parallel) {
  std::vector<double> best(rows.size(), kNever);
  const std::size_t x_floats = shape.in_pixels() * shape.channels;
  const std::size_t y_floats = shape.out_pixels() * shape.outputs;
  std::size_t room = options.workspace_bytes_max / sizeof(float);
  if (options.bytes_max > 0) {
    const std::size_t operand_floats = x_floats + y_floats + shape.weights();
    if (operand_floats > options.bytes_max / sizeof(float)) return best;
    room = std::min(room, options.bytes_max / sizeof(float) - operand_floats);
  }
  Operands operands;
  if (!operands.x.Reserve(x_floats) || !operands.y.Reserve(y_floats) ||
      !operands.w.Reserve(shape.weights())) {
    return best;
  }
  std::vector<Runner> runners;
  std::size_t workspace_floats = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Runner runner = MakeRunner(i, *rows[i], shape, direction, operands, parallel);
    if (runner.run == nullptr) continue;
    if (runner.workspace_floats > room) continue;
    workspace_floats = std::max(workspace_floats, runner.workspace_floats);
    runners.push_back(std::move(runner));
  }
  if (!operands.workspace.Reserve(workspace_floats)) return best;
  if (!runners.empty()) Race(runners, options.seconds, now);
  for (const Runner& runner : runners) best[runner.row] = runner.best;
  return best;
}

}  // namespace shoal::nn
