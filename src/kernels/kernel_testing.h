// What the tests of kernels share: inputs, threads, and the comparison of bits.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <span>
#include <thread>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "kernels/chunks.h"
#include "kernels/target.h"

namespace shoal::kernels {

// Threads that take the next task when they are done with one. They live as long as it does:
// starting a thread costs an emulator a millisecond, and a mixture of experts runs ten thousand
// times.
class TestThreads final : public Parallel {
 public:
  explicit TestThreads(std::size_t workers)
      : begin_(static_cast<std::ptrdiff_t>(workers + 1)),
        end_(static_cast<std::ptrdiff_t>(workers + 1)) {
    for (std::size_t worker = 0; worker < workers; ++worker) {
      threads_.emplace_back([this, worker] { Work(worker); });
    }
  }
  ~TestThreads() override {
    task_ = nullptr;
    begin_.arrive_and_wait();
    for (std::thread& thread : threads_) thread.join();
  }
  TestThreads(const TestThreads&) = delete;
  TestThreads& operator=(const TestThreads&) = delete;

  std::size_t workers() const override { return threads_.size(); }
  void Run(std::size_t count, TaskRef task) override {
    task_ = &task;
    count_ = count;
    next_ = 0;
    begin_.arrive_and_wait();
    end_.arrive_and_wait();
  }

 private:
  void Work(std::size_t worker) {
    while (true) {
      begin_.arrive_and_wait();
      if (task_ == nullptr) return;
      for (std::size_t i = next_++; i < count_; i = next_++) (*task_)(i, worker);
      end_.arrive_and_wait();
    }
  }

  std::vector<std::thread> threads_;
  std::barrier<> begin_;
  std::barrier<> end_;
  const TaskRef* task_ = nullptr;  // None: the threads end.
  std::size_t count_ = 0;
  std::atomic<std::size_t> next_ = 0;
};

// Finite floats of either sign between 2^-8 and 2^8.
inline std::vector<float> PlainFloats(std::size_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(n);
  for (float& value : values) {
    const auto bits = static_cast<std::uint32_t>(random.Bits());
    const std::uint32_t exponent = 119 + (bits >> 23U) % 16;
    value = std::bit_cast<float>((bits & 0x807fffffU) | (exponent << 23U));
  }
  return values;
}

// Plain floats, but every other one is any 32 bits or a value that arithmetic treats apart.
inline std::vector<float> AwkwardFloats(std::size_t n, std::uint64_t seed) {
  using Limits = std::numeric_limits<float>;
  const float apart[] = {0.0F,
                         -0.0F,
                         1.0F,
                         -1.0F,
                         Limits::infinity(),
                         -Limits::infinity(),
                         Limits::quiet_NaN(),
                         std::bit_cast<float>(0xffc12345U),
                         std::bit_cast<float>(0x7f800001U),
                         Limits::denorm_min(),
                         -Limits::denorm_min(),
                         Limits::min(),
                         Limits::max(),
                         Limits::lowest(),
                         65504.0F,
                         65520.0F,
                         0x1p-25F,
                         88.8F,
                         -103.9F};
  std::vector<float> values = PlainFloats(n, seed);
  Random random(seed, 1);
  for (float& value : values) {
    const std::uint64_t bits = random.Bits();
    if (bits % 4 == 0) value = std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 32U));
    if (bits % 4 == 1) value = apart[(bits >> 32U) % std::size(apart)];
  }
  return values;
}

// Every remainder of every vector length, and some longer ones.
inline std::vector<std::size_t> AwkwardLengths() {
  std::vector<std::size_t> lengths(68);
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = i;
  lengths.insert(lengths.end(), {255, 1000, 1003});
  return lengths;
}

template <class T>
void ExpectSameBits(std::span<const T> got, std::span<const T> want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::memcmp(&got[i], &want[i], sizeof(T)) == 0) continue;
    FAIL() << "element " << i << " of " << got.size() << ": got " << got[i] << ", want " << want[i];
  }
}

// run(n, parallel, target) -> std::vector<T>. Expects the bits of `ref` on one thread from every
// target, for awkward lengths and, with 1 to 4 threads, for one that is cut into several tasks.
template <class Run>
void ExpectSameBitsEverywhere(const Run& run, std::size_t threaded_length) {
  using Values = decltype(run(std::size_t{0}, std::declval<Parallel&>(), Target::kRef));
  using T = typename Values::value_type;
  Serial serial;
  for (const Target target : SupportedTargets()) {
    for (const std::size_t n : AwkwardLengths()) {
      SCOPED_TRACE(testing::Message() << target << ", length " << n);
      const Values want = run(n, serial, Target::kRef);
      ExpectSameBits<T>(run(n, serial, target), want);
    }
    const Values want = run(threaded_length, serial, Target::kRef);
    for (std::size_t workers = 1; workers <= 4; ++workers) {
      SCOPED_TRACE(testing::Message() << target << ", threads " << workers);
      TestThreads threads(workers);
      ExpectSameBits<T>(run(threaded_length, threads, target), want);
    }
  }
}

// Cut into four tasks by element-wise kernels, the last one short.
inline constexpr std::size_t kThreadedElements = 3 * kElementsPerTask + 5;

}  // namespace shoal::kernels
