#include "kernels/gemm.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include "base/hash.h"
#include "base/random.h"

namespace shoal::kernels {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Case {
  std::size_t m, n, k;
  bool a_transposed = false;
  bool b_transposed = false;
  float beta = 0;
  bool row_bias = false;
  bool column_bias = false;
  bool relu = false;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.m << "x" << c.n << "x" << c.k << (c.a_transposed ? " T" : " N")
             << (c.b_transposed ? "T" : "N") << " beta " << c.beta << " bias " << c.row_bias
             << c.column_bias << " relu " << c.relu;
}

std::vector<float> RandomFloats(std::size_t count, Random& random) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(2 * random.Unit() - 1);
  return values;
}

// Operands of a case, with strides that are longer than rows.
class Problem {
 public:
  explicit Problem(const Case& c, std::uint64_t seed = 1) : case_(c) {
    Random random(seed);
    a_stride_ = (c.a_transposed ? c.m : c.k) + 3;
    b_stride_ = (c.b_transposed ? c.k : c.n) + 5;
    c_stride_ = c.n + 2;
    a_ = RandomFloats((c.a_transposed ? c.k : c.m) * a_stride_, random);
    b_ = RandomFloats((c.b_transposed ? c.n : c.k) * b_stride_, random);
    row_bias_ = RandomFloats(c.m, random);
    column_bias_ = RandomFloats(c.n, random);
    c_ = RandomFloats(c.m * c_stride_, random);
  }

  // A C with which Gemm starts: what lies beside the matrix must be found again.
  const std::vector<float>& c() const { return c_; }
  std::vector<float>& c() { return c_; }
  std::size_t c_stride() const { return c_stride_; }

  float A(std::size_t i, std::size_t k) const {
    return case_.a_transposed ? a_[k * a_stride_ + i] : a_[i * a_stride_ + k];
  }
  float B(std::size_t k, std::size_t j) const {
    return case_.b_transposed ? b_[j * b_stride_ + k] : b_[k * b_stride_ + j];
  }

  GemmArgs Args(std::vector<float>& out) const {
    out = c_;
    return {.m = case_.m,
            .n = case_.n,
            .k = case_.k,
            .a = {a_.data(), a_stride_, case_.a_transposed},
            .b = {b_.data(), b_stride_, case_.b_transposed},
            .packed_b = nullptr,
            .beta = case_.beta,
            .c = out.data(),
            .c_stride = c_stride_,
            .row_bias = case_.row_bias ? row_bias_.data() : nullptr,
            .column_bias = case_.column_bias ? column_bias_.data() : nullptr,
            .relu = case_.relu};
  }

  std::vector<float> Run(Target target, Parallel& parallel) const {
    std::vector<float> out;
    GemmWorkspace workspace;
    Gemm(Args(out), workspace, parallel, target);
    return out;
  }

  // The definition of gemm.h, word by word.
  std::vector<float> Defined() const {
    std::vector<float> out = c_;
    for (std::size_t i = 0; i < case_.m; ++i) {
      for (std::size_t j = 0; j < case_.n; ++j) {
        float& c = out[i * c_stride_ + j];
        c = case_.beta * c;
        for (std::size_t begin = 0; begin < std::max<std::size_t>(case_.k, 1);
             begin += kGemmDepth) {
          float sum = 0;
          for (std::size_t k = begin; k < std::min(begin + kGemmDepth, case_.k); ++k) {
            sum = std::fma(A(i, k), B(k, j), sum);
          }
          c = begin == 0 && case_.beta == 0 ? sum : c + sum;
        }
        if (case_.row_bias) c += row_bias_[i];
        if (case_.column_bias) c += column_bias_[j];
        if (case_.relu && c < 0) c = 0;
      }
    }
    return out;
  }

 private:
  Case case_;
  std::size_t a_stride_, b_stride_, c_stride_;
  std::vector<float> a_, b_, row_bias_, column_bias_, c_;
};

std::uint64_t Hash(const std::vector<float>& values) {
  Fingerprint fingerprint;
  for (const float value : values) fingerprint.Add(std::bit_cast<std::uint32_t>(value));
  return fingerprint.value();
}

// Compares bits, NaNs as well.
testing::AssertionResult SameBits(const std::vector<float>& got, const std::vector<float>& want) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(got[i]) != std::bit_cast<std::uint32_t>(want[i])) {
      return testing::AssertionFailure() << "at " << i << ": " << got[i] << ", not " << want[i];
    }
  }
  return testing::AssertionSuccess();
}

// Workers that take turns in an unusual order: shows what depends on who does what, without
// threads.
class TurnTaking final : public Parallel {
 public:
  explicit TurnTaking(std::size_t workers) : workers_(workers) {}
  std::size_t workers() const override { return workers_; }
  void Run(std::size_t count, TaskRef task) override {
    tasks_ += count;
    for (std::size_t i = count; i-- > 0;) task(i, i * 7 % workers_);
  }
  std::size_t tasks() const { return tasks_; }

 private:
  std::size_t workers_;
  std::size_t tasks_ = 0;
};

// A thread per worker, for the thread sanitizer.
class Threads final : public Parallel {
 public:
  explicit Threads(std::size_t workers) : workers_(workers) {}
  std::size_t workers() const override { return workers_; }
  void Run(std::size_t count, TaskRef task) override {
    std::vector<std::thread> threads;
    for (std::size_t worker = 0; worker < workers_; ++worker) {
      threads.emplace_back([=, this] {
        for (std::size_t i = worker; i < count; i += workers_) task(i, worker);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  std::size_t workers_;
};

// Around every size that a loop of some target has: vectors, tiles, panels, blocks.
const Case kShapes[] = {{1, 1, 1},      {1, 33, 2},   {5, 1, 7},     {2, 16, 384},
                        {14, 32, 385},  {15, 47, 5},  {29, 70, 31},  {7, 100, 400},
                        {13, 130, 770}, {230, 9, 17}, {197, 12, 64}, {3, 600, 6},
                        {20, 24, 768},  {6, 16, 4},   {12, 36, 1},   {19, 31, 1153}};

TEST(GemmTest, EveryTargetGivesTheDefinedBits) {
  Serial serial;
  for (Case c : kShapes) {
    for (const int transposes : {0, 1, 2, 3}) {
      c.a_transposed = (transposes & 2) != 0;
      c.b_transposed = (transposes & 1) != 0;
      const Problem problem(c);
      const std::vector<float> want = problem.Defined();
      for (const Target target : SupportedTargets()) {
        EXPECT_TRUE(SameBits(problem.Run(target, serial), want)) << c << " on " << target;
      }
    }
  }
}

TEST(GemmTest, EveryEpilogueGivesTheDefinedBits) {
  Serial serial;
  for (const float beta : {0.0F, 1.0F, -0.37F}) {
    for (unsigned bits = 0; bits < 8; ++bits) {
      const Case c{.m = 17,
                   .n = 41,
                   .k = 390,
                   .beta = beta,
                   .row_bias = (bits & 1) != 0,
                   .column_bias = (bits & 2) != 0,
                   .relu = (bits & 4) != 0};
      const Problem problem(c);
      const std::vector<float> want = problem.Defined();
      for (const Target target : SupportedTargets()) {
        EXPECT_TRUE(SameBits(problem.Run(target, serial), want)) << c << " on " << target;
      }
    }
  }
}

// All ways to cut C into tasks: rows, columns, both.
const Case kSharedShapes[] = {{.m = 300, .n = 20, .k = 64, .relu = true},
                              {.m = 20, .n = 300, .k = 64, .a_transposed = true},
                              {.m = 90, .n = 100, .k = 400, .b_transposed = true, .beta = 0.5F}};

TEST(GemmTest, TheNumberOfWorkersDoesNotShow) {
  for (const Case& c : kSharedShapes) {
    const Problem problem(c);
    const std::vector<float> want = problem.Defined();
    for (const Target target : SupportedTargets()) {
      for (std::size_t workers = 1; workers <= 4; ++workers) {
        TurnTaking parallel(workers);
        EXPECT_TRUE(SameBits(problem.Run(target, parallel), want))
            << c << " on " << target << ", " << workers << " workers";
        EXPECT_GE(parallel.tasks(), workers) << c << ": someone had nothing to do";
      }
    }
  }
}

TEST(GemmTest, WorkersMayBeThreads) {
  Threads threads(3);
  for (const Case& c : kSharedShapes) {
    const Problem problem(c);
    EXPECT_TRUE(SameBits(problem.Run(BestTarget(), threads), problem.Defined())) << c;
  }
}

TEST(GemmTest, PackedWeightsGiveTheSameBits) {
  for (const std::size_t k : {0U, 5U, 384U, 800U}) {
    const Case c{.m = 33, .n = 75, .k = k, .b_transposed = true, .beta = 1};
    const Problem problem(c);
    const std::vector<float> want = problem.Defined();
    for (const Target target : SupportedTargets()) {
      TurnTaking parallel(2);
      std::vector<float> out;
      GemmArgs args = problem.Args(out);
      const PackedB packed(args.b, c.k, c.n, parallel, target);
      args.b = {};
      args.packed_b = &packed;
      GemmWorkspace workspace;
      Gemm(args, workspace, parallel, target);
      EXPECT_TRUE(SameBits(out, want)) << c << " on " << target;
    }
  }
}

TEST(GemmTest, EmptyMatrices) {
  Serial serial;
  for (const Target target : SupportedTargets()) {
    for (const Case& c : {Case{0, 5, 3}, Case{5, 0, 3}, Case{0, 0, 0}}) {
      const Problem problem(c);
      EXPECT_TRUE(SameBits(problem.Run(target, serial), problem.c())) << c;
    }
    for (const float beta : {0.0F, 2.0F}) {
      const Problem problem(Case{.m = 4, .n = 19, .k = 0, .beta = beta, .row_bias = true});
      EXPECT_TRUE(SameBits(problem.Run(target, serial), problem.Defined())) << target;
    }
  }
}

TEST(GemmTest, WithoutBetaCIsNotRead) {
  Serial serial;
  for (const Target target : SupportedTargets()) {
    Problem problem(Case{.m = 16, .n = 37, .k = 390});
    const std::vector<float> want = problem.Run(target, serial);
    problem.c().assign(problem.c().size(), kNan);
    const std::vector<float> got = problem.Run(target, serial);
    for (std::size_t i = 0; i < 16; ++i) {
      for (std::size_t j = 0; j < 37; ++j) {
        EXPECT_EQ(got[i * problem.c_stride() + j], want[i * problem.c_stride() + j]) << target;
      }
    }
  }
}

TEST(GemmTest, ReluKeepsNan) {
  Serial serial;
  const float a[] = {kNan, 1};
  const float b[] = {-1};
  for (const Target target : SupportedTargets()) {
    float c[2];
    GemmWorkspace workspace;
    Gemm({.m = 2, .n = 1, .k = 1, .a = {a, 1}, .b = {b, 1}, .c = c, .c_stride = 1, .relu = true},
         workspace, serial, target);
    EXPECT_TRUE(std::isnan(c[0])) << target;
    EXPECT_EQ(c[1], 0) << target;
  }
}

// A convolution of width 3 over 8 pixels of 5 channels, without building its matrix.
TEST(GemmTest, RowsOfAMayOverlap) {
  constexpr std::size_t kChannels = 5, kPixels = 8, kWidth = 3, kOutputs = 6, kColumns = 20;
  Random random(1);
  const std::vector<float> image = RandomFloats(kPixels * kChannels, random);
  const std::vector<float> weights = RandomFloats(kWidth * kChannels * kColumns, random);
  std::vector<float> rows;
  for (std::size_t i = 0; i < kOutputs; ++i) {
    rows.insert(rows.end(), &image[i * kChannels], &image[i * kChannels] + kWidth * kChannels);
  }
  Serial serial;
  for (const Target target : SupportedTargets()) {
    std::vector<float> got(kOutputs * kColumns), want(kOutputs * kColumns);
    GemmWorkspace workspace;
    GemmArgs args{.m = kOutputs,
                  .n = kColumns,
                  .k = kWidth * kChannels,
                  .a = {image.data(), kChannels},
                  .b = {weights.data(), kColumns},
                  .c = got.data(),
                  .c_stride = kColumns};
    Gemm(args, workspace, serial, target);
    args.a = {rows.data(), kWidth * kChannels};
    args.c = want.data();
    Gemm(args, workspace, serial, target);
    EXPECT_TRUE(SameBits(got, want)) << target;
  }
}

// A sum of k rounded products errs by less than k · 2^-24 · Σ|a||b|, and so does each addition
// of a block; a wrong element would be wrong by far more.
TEST(GemmTest, IsAsAccurateAsFloatsAllow) {
  Serial serial;
  for (const std::size_t k : {3U, 100U, 2000U}) {
    const Case c{.m = 9, .n = 21, .k = k, .b_transposed = true};
    const Problem problem(c);
    const std::vector<float> got = problem.Run(BestTarget(), serial);
    for (std::size_t i = 0; i < c.m; ++i) {
      for (std::size_t j = 0; j < c.n; ++j) {
        double sum = 0, magnitudes = 0;
        for (std::size_t p = 0; p < k; ++p) {
          const double product = static_cast<double>(problem.A(i, p)) * problem.B(p, j);
          sum += product;
          magnitudes += std::abs(product);
        }
        const double tolerance = static_cast<double>(k + 1) * std::ldexp(1, -24) * magnitudes;
        EXPECT_NEAR(got[i * problem.c_stride() + j], sum, tolerance) << c << " " << i << "," << j;
      }
    }
  }
}

// The same numbers on every CPU, compiler and emulator: what other machines computed.
TEST(GemmTest, BitsAreThoseOfOtherMachines) {
  const struct {
    Case c;
    std::uint64_t hash;
  } kGolden[] = {
      {{.m = 31, .n = 45, .k = 1000}, 0x14ef9e6261b16e84},
      {{.m = 49, .n = 64, .k = 147, .b_transposed = true, .column_bias = true, .relu = true},
       0x74a042017b438bab},
      {{.m = 64, .n = 27, .k = 196, .a_transposed = true, .beta = 1}, 0xbaf077d7b739d3b1},
      {{.m = 10,
        .n = 10,
        .k = 400,
        .a_transposed = true,
        .b_transposed = true,
        .beta = 0.1F,
        .row_bias = true},
       0x5bbe0530848b9425},
  };
  Serial serial;
  for (const auto& [c, hash] : kGolden) {
    for (const Target target : SupportedTargets()) {
      EXPECT_EQ(Hash(Problem(c, 42).Run(target, serial)), hash) << c << " on " << target;
    }
  }
}

TEST(GemmTest, ASecondCallDoesNotAllocate) {
  Serial serial;
  const Problem problem(Case{.m = 50, .n = 50, .k = 500, .a_transposed = true});
  std::vector<float> out;
  const GemmArgs args = problem.Args(out);
  GemmWorkspace workspace;
  Gemm(args, workspace, serial);
  const float* memory = workspace.Reserve(1);
  Gemm(args, workspace, serial);
  EXPECT_EQ(workspace.Reserve(1), memory);
}

}  // namespace
}  // namespace shoal::kernels
