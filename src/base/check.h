// SHOAL_CHECK: for bugs in this process, and for nothing else. What a peer, a
// file, a user or a battery can cause is a Status (status.h); a broken
// invariant prints where and what, and aborts, in every build.
//
//   SHOAL_CHECK(rank < size);
//   SHOAL_CHECK_EQ(view.shape(), shape);   // prints both values
//   SHOAL_DCHECK(i < n);                   // only where NDEBUG is not defined
#pragma once

#include <sstream>
#include <string>

namespace shoal::internal {

[[noreturn]] void CheckFailed(const char* file, int line, const char* expression,
                              const std::string& values);

template <class A, class B>
std::string DescribeOperands(const A& a, const B& b) {
  std::ostringstream out;
  if constexpr (requires { out << a << b; }) {
    out << a << " vs " << b;
  } else {
    out << "operands cannot be printed";
  }
  return out.str();
}

}  // namespace shoal::internal

#define SHOAL_CHECK(condition)                                                       \
  do {                                                                               \
    if (!(condition)) [[unlikely]]                                                   \
      ::shoal::internal::CheckFailed(__FILE__, __LINE__, #condition, std::string()); \
  } while (false)

#define SHOAL_CHECK_OP(op, a, b)                                                               \
  do {                                                                                         \
    const auto& shoal_a_ = (a);                                                                \
    const auto& shoal_b_ = (b);                                                                \
    if (!(shoal_a_ op shoal_b_)) [[unlikely]]                                                  \
      ::shoal::internal::CheckFailed(__FILE__, __LINE__, #a " " #op " " #b,                    \
                                     ::shoal::internal::DescribeOperands(shoal_a_, shoal_b_)); \
  } while (false)

#define SHOAL_CHECK_EQ(a, b) SHOAL_CHECK_OP(==, a, b)
#define SHOAL_CHECK_NE(a, b) SHOAL_CHECK_OP(!=, a, b)
#define SHOAL_CHECK_LT(a, b) SHOAL_CHECK_OP(<, a, b)
#define SHOAL_CHECK_LE(a, b) SHOAL_CHECK_OP(<=, a, b)
#define SHOAL_CHECK_GT(a, b) SHOAL_CHECK_OP(>, a, b)
#define SHOAL_CHECK_GE(a, b) SHOAL_CHECK_OP(>=, a, b)

#ifdef NDEBUG
#define SHOAL_DCHECK(condition) \
  do {                          \
    if (false) {                \
      (void)(condition);        \
    }                           \
  } while (false)
#else
#define SHOAL_DCHECK(condition) SHOAL_CHECK(condition)
#endif
