// The bits of our arithmetic, as hashes that never change. Compared on every target of every CPU
// this test runs on (x86, and ARM CPUs under qemu), with every compiler: what agrees with the same
// constant agrees with each other. Whoever changes one on purpose changes the arithmetic: nodes of
// different versions then no longer compute the same, and kKernelRevision (revision.h) must change
// with it.
#include <gtest/gtest.h>

#include <string_view>

#include "base/hash.h"
#include "kernels/attention.h"
#include "kernels/convert.h"
#include "kernels/dot_i8.h"
#include "kernels/elementwise.h"
#include "kernels/kernel_testing.h"
#include "kernels/math.h"
#include "kernels/matvec.h"
#include "kernels/quant_matmul.h"
#include "kernels/quant_testing.h"
#include "kernels/reduce.h"
#include "kernels/rmsnorm.h"
#include "kernels/softmax.h"

namespace shoal::kernels {
namespace {

// Two tasks of element-wise kernels, and a remainder for every vector length.
constexpr std::size_t kLength = kElementsPerTask + 1003;

template <class T>
std::uint64_t HashOf(const std::vector<T>& values) {
  Fingerprint hash;
  hash.AddBytes(std::as_bytes(std::span<const T>(values)));
  return hash.value();
}

// run(parallel, target) -> std::vector<T>
template <class Run>
void ExpectHash(std::string_view op, std::uint64_t want, const Run& run) {
  for (const Target target : SupportedTargets()) {
    for (std::size_t workers = 1; workers <= 4; ++workers) {
      TestThreads threads(workers);
      const std::uint64_t got = HashOf(run(threads, target));
      EXPECT_EQ(got, want) << op << " on " << target << ", threads " << workers << ": 0x"
                           << std::hex << got;
    }
  }
}

using Unary = void(std::span<const float>, std::span<float>, Parallel&, Target);
using Binary = void(std::span<const float>, std::span<const float>, std::span<float>, Parallel&,
                    Target);

// Half of the inputs are arbitrary bits or special values, half lie between 2^-8 and 2^8.
void ExpectUnaryHash(std::string_view op, std::uint64_t want, Unary* function) {
  const std::vector<float> x = AwkwardFloats(kLength, 1);
  ExpectHash(op, want, [&](Parallel& parallel, Target target) {
    std::vector<float> y(kLength);
    function(x, y, parallel, target);
    return y;
  });
}

void ExpectBinaryHash(std::string_view op, std::uint64_t want, Binary* function) {
  const std::vector<float> x = AwkwardFloats(kLength, 1);
  const std::vector<float> y = AwkwardFloats(kLength, 2);
  ExpectHash(op, want, [&](Parallel& parallel, Target target) {
    std::vector<float> z(kLength);
    function(x, y, z, parallel, target);
    return z;
  });
}

TEST(ArithmeticHashTest, Math) {
  ExpectUnaryHash("exp", 0xfac97fe356c34dae, &Exp);
  ExpectUnaryHash("log", 0xda24d3b4f0513e55, &Log);
  ExpectUnaryHash("sin", 0x71ee74c3683e7fd7, &Sin);
  ExpectUnaryHash("cos", 0xad8034378a3e2022, &Cos);
  ExpectUnaryHash("tanh", 0x7aed5542551b7e4e, &Tanh);
  ExpectUnaryHash("sigmoid", 0x7782bcb18bfe46bb, &Sigmoid);
  ExpectUnaryHash("silu", 0x899192af07645089, &Silu);
  ExpectBinaryHash("pow", 0x9a3b939e51e294a5, &Pow);
}

TEST(ArithmeticHashTest, Elementwise) {
  ExpectBinaryHash("add", 0x71928a0a70f5f150, &Add);
  ExpectBinaryHash("mul", 0x7e1fc8aa06ed798d, &Mul);
  ExpectUnaryHash("relu", 0x94d16b06b8c84f4a, &Relu);
  ExpectUnaryHash("scale", 0x06be1edd050b13ea,
                  [](std::span<const float> x, std::span<float> y, Parallel& parallel,
                     Target target) { Scale(0.7F, x, y, parallel, target); });
  ExpectUnaryHash("clamp", 0x0b42a4cd30e0fc57,
                  [](std::span<const float> x, std::span<float> y, Parallel& parallel,
                     Target target) { Clamp(-3, 100, x, y, parallel, target); });
  const std::vector<float> x = AwkwardFloats(kLength, 1);
  ExpectHash("axpy", 0x1cabe59c01c5f182, [&](Parallel& parallel, Target target) {
    std::vector<float> y = AwkwardFloats(kLength, 2);
    Axpy(-1.1F, x, y, parallel, target);
    return y;
  });
}

TEST(ArithmeticHashTest, Conversions) {
  const std::vector<float> x = AwkwardFloats(kLength, 1);
  ExpectHash("f16 from f32", 0xba8a9db4359edb99, [&](Parallel& parallel, Target target) {
    std::vector<std::uint16_t> y(kLength);
    F16FromF32(x, y, parallel, target);
    return y;
  });
  ExpectHash("bf16 from f32", 0x5d459f87006a1a88, [&](Parallel& parallel, Target target) {
    std::vector<std::uint16_t> y(kLength);
    BF16FromF32(x, y, parallel, target);
    return y;
  });
  std::vector<std::uint16_t> all(1U << 16U);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  ExpectHash("f32 from f16", 0x732e443511d52415, [&](Parallel& parallel, Target target) {
    std::vector<float> y(all.size());
    F32FromF16(all, y, parallel, target);
    return y;
  });
  ExpectHash("f32 from bf16", 0x88f206a8087ff3ac, [&](Parallel& parallel, Target target) {
    std::vector<float> y(all.size());
    F32FromBF16(all, y, parallel, target);
    return y;
  });
}

TEST(ArithmeticHashTest, Reductions) {
  ExpectHash("sum, dot, max and argmax", 0xa80a6af35454735f,
             [](Parallel& /*parallel*/, Target target) {
               std::vector<float> results;
               for (const std::size_t n : AwkwardLengths()) {
                 for (const bool awkward : {false, true}) {
                   const std::vector<float> x = awkward ? AwkwardFloats(n, n) : PlainFloats(n, n);
                   results.push_back(Sum(x, target));
                   results.push_back(Dot(x, PlainFloats(n, n + 1), target));
                   results.push_back(SumOfSquares(x, target));
                   results.push_back(Max(x, target));
                   results.push_back(n == 0 ? 0.0F : static_cast<float>(ArgMax(x, target)));
                 }
               }
               return results;
             });
}

constexpr std::size_t kRows = 29;
constexpr std::size_t kRowSize = 1003;

TEST(ArithmeticHashTest, Rows) {
  const std::vector<float> x = PlainFloats(kRows * kRowSize, 1);
  const std::vector<float> vector = PlainFloats(kRowSize, 2);
  ExpectHash("matvec", 0x5c6ba496af4d0853, [&](Parallel& parallel, Target target) {
    std::vector<float> y(kRows);
    MatVec(x, vector, y, parallel, target);
    return y;
  });
  ExpectHash("matvec f16", 0x2706a122d88e2d53, [&](Parallel& parallel, Target target) {
    std::vector<std::uint16_t> w(x.size());
    F16FromF32(x, w, parallel, target);
    std::vector<float> y(kRows);
    MatVecF16(w, vector, y, parallel, target);
    return y;
  });
  ExpectHash("softmax", 0xaf8bd1cbcfe61596, [&](Parallel& parallel, Target target) {
    std::vector<float> y(x.size());
    Softmax(x, kRowSize, y, parallel, target);
    return y;
  });
  ExpectHash("rmsnorm", 0xf2f43bd518fb8b17, [&](Parallel& parallel, Target target) {
    std::vector<float> y(x.size());
    RmsNorm(x, vector, 1e-5F, y, parallel, target);
    return y;
  });
}

TEST(ArithmeticHashTest, Integers) {
  Random random(1);
  std::vector<std::int8_t> bytes(kRows * kRowSize);
  for (std::int8_t& byte : bytes) byte = static_cast<std::int8_t>(random.Between(-128, 127));
  const auto columns = std::span<const std::int8_t>(bytes).first(6 * kRowSize);
  ExpectHash("matmul i8", 0x05c8476680849b91, [&](Parallel& parallel, Target target) {
    std::vector<std::int32_t> y(6 * kRows);
    MatMulI8(bytes, columns, kRowSize, y, parallel, target);
    return y;
  });
}

TEST(ArithmeticHashTest, QuantMatMul) {
  constexpr std::size_t kOutputs = 20;
  constexpr std::size_t kK = 1024;
  const std::vector<float> x = PlainFloats(5 * kK, 1);
  Serial serial;
  ExpectHash("quantised products", 0x8d729be8976659c9, [&](Parallel& parallel, Target target) {
    std::vector<float> all;
    for (const DType dtype : kPackedTypes) {
      const auto w =
          PackedWeights::Make(dtype, RandomBlocks(dtype, kOutputs * kK, 2), kOutputs, kK, serial);
      SHOAL_CHECK(w.ok());
      QuantizedRows rows;
      rows.Assign(x, kK, LayoutOf(w->form()).block, parallel, target);
      std::vector<float> y(kOutputs * rows.rows());
      QuantMatMul(*w, rows, y, parallel, target);
      all.insert(all.end(), y.begin(), y.end());
    }
    return all;
  });
}

TEST(ArithmeticHashTest, QuantMatMulWithZeros) {
  constexpr std::size_t kOutputs = 20;
  constexpr std::size_t kK = 1024;
  const std::vector<float> x = PlainFloats(5 * kK, 1);
  Serial serial;
  const auto w =
      PackedWeights::MakeWithZeros(RandomBlocksWithZeros(kOutputs * kK, 2), kOutputs, kK, serial);
  SHOAL_CHECK(w.ok());
  ExpectHash("products with zeros", 0x243c4885bc1338d4, [&](Parallel& parallel, Target target) {
    QuantizedRows rows;
    rows.Assign(x, kK, 32, parallel, target);
    std::vector<float> y(kOutputs * rows.rows());
    QuantMatMul(*w, rows, y, parallel, target);
    return y;
  });
}

TEST(ArithmeticHashTest, Attention) {
  constexpr std::size_t kDim = 80;
  const std::vector<float> q = PlainFloats(kDim, 1);
  std::vector<std::uint16_t> keys;
  std::vector<std::uint16_t> values;
  for (const float k : PlainFloats(100 * kDim, 2)) keys.push_back(F16FromFloat(0.001F * k));
  for (const float v : PlainFloats(100 * kDim, 3)) values.push_back(F16FromFloat(v));
  const auto bytes = [](const std::vector<std::uint16_t>& rows, std::size_t at) {
    return reinterpret_cast<const std::byte*>(rows.data() + at * kDim);
  };
  const KvBlock blocks[] = {{bytes(keys, 0), bytes(values, 0), 64},
                            {bytes(keys, 64), bytes(values, 64), 36}};
  ExpectHash("attention", 0x529a7397d233fce7, [&](Parallel&, Target target) {
    std::vector<float> out(kDim);
    Attend(q, kDim, blocks, KvType::kF16, 0.1F, out, target);
    return out;
  });
}

}  // namespace
}  // namespace shoal::kernels
