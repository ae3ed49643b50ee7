#include "kernels/update.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "kernels/rows_testing.h"

namespace shoal::kernels {
namespace {

constexpr float kRate = 0.1F;
constexpr float kMomentum = 0.9F;
constexpr float kBeta2 = 0.99F;
constexpr float kDelta = 1e-3F;

// One element's state, in double.
struct Element {
  double w;
  double h;
  double h2;
};

struct Solver {
  const char* name;
  std::function<void(const GradientTerms&, UpdateArrays, std::span<float>, std::span<float>,
                     std::int64_t step, Parallel&, Target)>
      run;
  std::function<void(Element&, double g, std::int64_t step)> want;
};

using Span = std::span<float>;

std::vector<Solver> MomentumSolvers() {
  const double rate = kRate;
  const double momentum = kMomentum;
  return {{"sgd",
           [](const GradientTerms& terms, UpdateArrays a, Span h, Span, std::int64_t, Parallel& p,
              Target t) { SgdUpdate(terms, kRate, kMomentum, a, h, p, t); },
           [=](Element& e, double g, std::int64_t) {
             e.h = momentum * e.h + rate * g;
             e.w -= e.h;
           }},
          {"nesterov",
           [](const GradientTerms& terms, UpdateArrays a, Span h, Span, std::int64_t, Parallel& p,
              Target t) { NesterovUpdate(terms, kRate, kMomentum, a, h, p, t); },
           [=](Element& e, double g, std::int64_t) {
             const double before = e.h;
             e.h = momentum * e.h + rate * g;
             e.w -= (1 + momentum) * e.h - momentum * before;
           }}};
}

std::vector<Solver> AdaptiveSolvers() {
  const double rate = kRate;
  const double momentum = kMomentum;
  const double beta2 = kBeta2;
  const double delta = kDelta;
  return {
      {"adagrad",
       [](const GradientTerms& terms, UpdateArrays a, Span h, Span, std::int64_t, Parallel& p,
          Target t) { AdaGradUpdate(terms, kRate, kDelta, a, h, p, t); },
       [=](Element& e, double g, std::int64_t) {
         e.h += g * g;
         e.w -= rate * g / (std::sqrt(e.h) + delta);
       }},
      {"rmsprop",
       [](const GradientTerms& terms, UpdateArrays a, Span h, Span, std::int64_t, Parallel& p,
          Target t) { RmsPropUpdate(terms, kRate, kMomentum, kDelta, a, h, p, t); },
       [=](Element& e, double g, std::int64_t) {
         e.h = momentum * e.h + (1 - momentum) * g * g;
         e.w -= rate * g / (std::sqrt(e.h) + delta);
       }},
      {"adadelta",
       [](const GradientTerms& terms, UpdateArrays a, Span h, Span h2, std::int64_t, Parallel& p,
          Target t) { AdaDeltaUpdate(terms, kRate, kMomentum, kDelta, a, h, h2, p, t); },
       [=](Element& e, double g, std::int64_t) {
         e.h = momentum * e.h + (1 - momentum) * g * g;
         const double u = g * std::sqrt((e.h2 + delta) / (e.h + delta));
         e.h2 = momentum * e.h2 + (1 - momentum) * u * u;
         e.w -= rate * u;
       }},
      {"adam",
       [](const GradientTerms& terms, UpdateArrays a, Span h, Span h2, std::int64_t step,
          Parallel& p, Target t) {
         AdamUpdate(terms, kRate, {kMomentum, kBeta2, kDelta, step}, a, h, h2, p, t);
       },
       [=](Element& e, double g, std::int64_t step) {
         e.h = momentum * e.h + (1 - momentum) * g;
         e.h2 = beta2 * e.h2 + (1 - beta2) * g * g;
         const auto n = static_cast<double>(step);
         const double correction = std::sqrt(1 - std::pow(beta2, n)) / (1 - std::pow(momentum, n));
         e.w -= rate * correction * e.h / (std::sqrt(e.h2) + delta);
       }}};
}

void ExpectThreeStepsMatch(const Solver& solver, const GradientTerms& terms, std::size_t n,
                           Target target) {
  SCOPED_TRACE(testing::Message() << target << " " << solver.name << " " << n);
  Serial serial;
  std::vector<float> w = NormalFloats(n, 1);
  if (n > 2) w[2] = 0;  // Whose sign is 0.
  std::vector<float> h(n);
  std::vector<float> h2(n);
  std::vector<Element> want(n);
  for (std::size_t i = 0; i < n; ++i) want[i] = {double{w[i]}, 0, 0};
  for (std::int64_t step = 1; step <= 3; ++step) {
    const std::vector<float> g = NormalFloats(n, static_cast<std::uint64_t>(10 + step));
    solver.run(terms, {g, w}, h, h2, step, serial, target);
    for (std::size_t i = 0; i < n; ++i) {
      const double sign = want[i].w > 0 ? 1 : (want[i].w < 0 ? -1 : 0);
      const double gradient = double{terms.scale} * double{g[i]} + double{terms.l2} * want[i].w +
                              double{terms.l1} * sign;
      solver.want(want[i], gradient, step);
      ASSERT_NEAR(w[i], want[i].w, 1e-5 * (1 + std::abs(want[i].w))) << i << " step " << step;
      ASSERT_NEAR(h[i], want[i].h, 1e-5 * (1 + want[i].h));
    }
  }
}

TEST(UpdateTest, ThreeStepsMatchDouble) {
  for (const std::vector<Solver>& solvers : {MomentumSolvers(), AdaptiveSolvers()}) {
    for (const Solver& solver : solvers) {
      for (const Target target : SupportedTargets()) {
        for (const std::size_t n : {0U, 1U, 7U, 16U, 61U}) {
          ExpectThreeStepsMatch(solver, {}, n, target);
          ExpectThreeStepsMatch(solver, {.scale = 0.25F, .l2 = 0.01F}, n, target);
          ExpectThreeStepsMatch(solver, {.scale = 2, .l1 = 0.02F}, n, target);
        }
      }
    }
  }
}

TEST(UpdateTest, SumsSquares) {
  Serial serial;
  for (const Target target : SupportedTargets()) {
    for (const std::size_t n : {std::size_t{0}, std::size_t{5}, std::size_t{70000}}) {
      const std::vector<float> x = NormalFloats(n, 1);
      double want = 0;
      for (const float value : x) want += double{value} * double{value};
      EXPECT_NEAR(SumOfSquares(x, serial, target), want, 1e-6 * want);
    }
  }
}

TEST(UpdateTest, ResultsDoNotDependOnTheWorkers) {
  const std::vector<float> g = NormalFloats(kThreadedElements, 1);
  ExpectSameBitsWithAnyWorkers([&](Parallel& parallel) {
    std::vector<float> w = NormalFloats(kThreadedElements, 2);
    std::vector<float> v(kThreadedElements, 0.5F);
    SgdUpdate({.l2 = 0.1F}, 0.1F, 0.9F, {g, w}, v, parallel);
    const double sum = SumOfSquares(w, parallel);
    w.push_back(static_cast<float>(sum - std::floor(sum)));
    return w;
  });
}

}  // namespace
}  // namespace shoal::kernels
