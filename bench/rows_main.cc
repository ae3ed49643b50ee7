// How close the kernels between convolutions come to the memory: bytes that must be read and
// written, per second, beside a plain copy of the same matrix.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.h"
#include "bench/interleave.h"
#include "bench/report.h"
#include "bench/threads.h"
#include "kernels/activation.h"
#include "kernels/batch_norm.h"
#include "kernels/dropout.h"
#include "kernels/lrn.h"
#include "kernels/pooling.h"
#include "kernels/row_ops.h"
#include "kernels/update.h"
#include "tensor/aligned_buffer.h"

namespace shoal::bench {
namespace {

using kernels::PoolShape;
using kernels::Rows;

// Batch by height by width by channels.
struct Shape {
  std::size_t batch;
  std::size_t side;
  std::size_t channels;
  std::size_t rows() const { return batch * side * side; }
};
constexpr Shape kShapes[] = {{4, 112, 64}, {4, 56, 256}, {4, 28, 512}, {4, 7, 2048}, {8, 56, 24}};

// What the contenders of one shape share.
struct Blobs {
  explicit Blobs(const Shape& of) : shape(of) {
    for (Rows& blob : blobs) {
      Result<AlignedBuffer> buffer = AlignedBuffer::Make(shape.rows() * shape.channels * 4);
      SHOAL_CHECK(buffer.ok());
      buffers.push_back(*std::move(buffer));
      blob = {reinterpret_cast<float*>(buffers.back().data()), shape.rows(), shape.channels,
              shape.channels};
      for (std::size_t i = 0; i < blob.size(); ++i) {
        blob.data[i] = static_cast<float>(i * 2654435761U % 1024) * 0x1p-9F - 1;
      }
    }
    scratch.resize(std::max(kernels::BatchNormScratchFloats(shape.rows(), shape.channels),
                            3 * shape.channels));
    index.resize(shape.rows() * shape.channels);
  }

  Shape shape;
  std::vector<AlignedBuffer> buffers;
  Rows blobs[4];
  std::vector<float> scratch;
  std::vector<std::uint8_t> index;
  std::vector<float> channel[6] = {
      std::vector<float>(shape.channels, 0.5F), std::vector<float>(shape.channels, 0.5F),
      std::vector<float>(shape.channels, 0.5F), std::vector<float>(shape.channels, 0.5F),
      std::vector<float>(shape.channels, 0.5F), std::vector<float>(shape.channels, 0.5F)};
};

struct Measured {
  Contender contender;
  double matrices;  // Read or written, of the full size.
};

void AddBatchNorm(Blobs& b, Parallel& p, std::vector<Measured>& all) {
  Rows* const m = b.blobs;
  auto& c = b.channel;
  all.push_back(
      {{"bn statistics", [&, m] { kernels::BatchMeanVariance(m[0], c[0], c[1], b.scratch, p); }},
       1});
  all.push_back(
      {{"bn apply, relu", [&, m] { kernels::BatchNormApply(m[0], c[2], c[3], {}, true, m[1], p); }},
       2});
  all.push_back({{"bn apply, residual",
                  [&, m] { kernels::BatchNormApply(m[0], c[2], c[3], m[2], true, m[1], p); }},
                 3});
  all.push_back({{"bn backward sums, relu",
                  [&, m] {
                    kernels::BatchNormBackwardSums({.x = m[0],
                                                    .dy = m[2],
                                                    .y = m[1],
                                                    .mean = c[0],
                                                    .inv_std = c[1],
                                                    .masked = {},
                                                    .sum_dy = c[4],
                                                    .sum_dy_xhat = c[5]},
                                                   b.scratch, p);
                  }},
                 3});
  all.push_back({{"bn backward apply, relu",
                  [&, m] {
                    kernels::BatchNormBackwardApply({.x = m[0],
                                                     .dy = m[2],
                                                     .y = m[1],
                                                     .mean = c[0],
                                                     .inv_std = c[1],
                                                     .gamma = c[2],
                                                     .sum_dy = c[4],
                                                     .sum_dy_xhat = c[5],
                                                     .dx = m[3]},
                                                    b.scratch, p);
                  }},
                 4});
}

PoolShape Pool(const Shape& s, std::size_t kernel, std::size_t stride, std::size_t pad) {
  const std::size_t out = (s.side + 2 * pad - kernel + stride - 1) / stride + 1;
  return {s.batch, s.side, s.side, s.channels, kernel, kernel, stride, stride, pad, pad, out, out};
}

// A pooling and its gradient. Bytes: the image, and the output (with a byte for the maximum's
// place) that is smaller by the square of the stride.
void AddPooling(Blobs& b, Parallel& p, const std::string& name, PoolShape shape,
                std::vector<Measured>& all) {
  const double share =
      static_cast<double>(shape.out_pixels()) / static_cast<double>(b.shape.rows());
  Rows out = b.blobs[1];
  out.rows = shape.out_pixels();
  Rows* const m = b.blobs;
  all.push_back({{"max " + name,
                  [&, m, shape, out] { kernels::MaxPool(shape, m[0], out, b.index.data(), p); }},
                 1 + 1.25 * share});
  all.push_back({{"max backward " + name,
                  [&, m, shape, out] {
                    kernels::MaxPoolBackward(shape, out, b.index.data(), {}, m[2], false, p);
                  }},
                 1 + 1.25 * share});
  all.push_back(
      {{"average " + name, [&, m, shape, out] { kernels::AveragePool(shape, m[0], out, p); }},
       1 + share});
  all.push_back({{"average backward " + name,
                  [&, m, shape, out] { kernels::AveragePoolBackward(shape, out, m[2], false, p); }},
                 1 + share});
}

void AddOthers(Blobs& b, Parallel& p, std::vector<Measured>& all) {
  Rows* const m = b.blobs;
  all.push_back(
      {{"relu backward", [&, m] { kernels::ReluRowsBackward({}, m[0], m[1], m[1], false, p); }},
       3});
  all.push_back({{"add", [&, m] { kernels::AddRows(m[0], m[1], p); }}, 3});
  all.push_back(
      {{"column sums", [&, m] { kernels::ColumnSums(m[0], b.channel[0], false, b.scratch, p); }},
       1});
  all.push_back({{"dropout", [&, m] { kernels::Dropout({}, m[0], m[1], false, p); }}, 2});
  all.push_back({{"lrn", [&, m] { kernels::LrnAcrossChannels({}, m[0], m[1], p); }}, 2});
  all.push_back({{"lrn backward",
                  [&, m] { kernels::LrnAcrossChannelsBackward({}, m[0], m[1], m[2], false, p); }},
                 3});
  all.push_back({{"sgd",
                  [&, m] {
                    const std::size_t n = m[0].size();
                    kernels::SgdUpdate({.l2 = 1e-4F}, 0.01F, 0.9F, {{m[0].data, n}, {m[1].data, n}},
                                       {m[2].data, n}, p);
                  }},
                 5});
}

void Measure(const Shape& shape, std::size_t threads, Report& report) {
  const std::unique_ptr<Parallel> parallel = MakePool(threads);
  Blobs blobs(shape);
  std::vector<Measured> all;
  all.push_back(
      {{"copy", [&] { kernels::CopyRows(blobs.blobs[0], blobs.blobs[1], *parallel); }}, 2});
  AddBatchNorm(blobs, *parallel, all);
  AddPooling(blobs, *parallel, "3x3 s2", Pool(shape, 3, 2, 0), all);
  AddPooling(blobs, *parallel, "3x3 s1", Pool(shape, 3, 1, 1), all);
  AddPooling(blobs, *parallel, "global", Pool(shape, shape.side, 1, 0), all);
  AddOthers(blobs, *parallel, all);
  std::erase_if(all, [](const Measured& measured) {  // No network has one.
    return measured.contender.name.ends_with("global") &&
           measured.contender.name.starts_with("max");
  });
  std::vector<Contender> contenders;
  for (const Measured& measured : all) contenders.push_back(measured.contender);
  const std::vector<double> seconds = RunInterleaved(
      contenders,
      {.turns = 5, .turn = std::chrono::milliseconds(20), .rest = std::chrono::milliseconds(0)});
  const double bytes = static_cast<double>(blobs.blobs[0].size()) * sizeof(float);
  const auto speed = [&](std::size_t i) { return all[i].matrices * bytes / seconds[i] * 1e-9; };
  for (std::size_t i = 1; i < all.size(); ++i) {
    report.rows.push_back(
        {.name = fmt::format("{}x{}x{}x{} t={} {}", shape.batch, shape.side, shape.side,
                             shape.channels, threads, all[i].contender.name),
         .unit = "GB/s",
         .ours = speed(i),
         .peers = {{"copy", speed(0)}},
         .limit = {}});
  }
}

}  // namespace
}  // namespace shoal::bench

int main(int argc, char** argv) {
  CLI::App app{"Kernels between convolutions beside the speed of memory.", "rows"};
  bool json = false;
  std::vector<std::size_t> threads = {1, 2};
  app.add_flag("--json", json, "Print one JSON object");
  app.add_option("--threads", threads, "Numbers of threads to measure");
  CLI11_PARSE(app, argc, argv);
  shoal::bench::Report report{.bench = "rows", .rows = {}};
  for (const std::size_t count : threads) {
    for (const shoal::bench::Shape& shape : shoal::bench::kShapes) {
      shoal::bench::Measure(shape, count, report);
    }
  }
  shoal::bench::Print(report, json);
  return 0;
}
