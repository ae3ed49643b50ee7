// Status and Result<T>: how every fallible operation in the project reports
// failure. No exceptions cross a module boundary; a broken invariant aborts
// through SHOAL_CHECK (check.h) instead of becoming a Status.
//
// Thread-compatible: const methods may be called from several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace shoal {

// What the caller can do about it, not where it came from: a code exists only
// if some caller branches on it.
enum class Code : std::uint8_t {
  kOk,
  kInvalidArgument,    // The caller's mistake; retrying is pointless.
  kNotFound,           // The named thing does not exist.
  kUnavailable,        // Peer or resource gone for now; retry elsewhere.
  kDeadlineExceeded,   // Ran out of time; the outcome is unknown.
  kResourceExhausted,  // Out of memory, battery, queue or thermal budget.
  kCorruption,         // Bytes failed a checksum or a bounds check.
  kCancelled,          // Someone asked us to stop.
};

// "resource exhausted" and so on, for messages and logs.
std::string_view CodeName(Code code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  std::string_view message() const { return message_; }
  // "unavailable: connection refused", or "ok".
  std::string ToString() const;

  // Returns the same failure with `context` in front: "load layer 3: short read".
  Status Annotate(std::string_view context) && {
    if (!ok()) message_.insert(0, std::string(context) + ": ");
    return std::move(*this);
  }

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

// Either a T or a non-OK Status; never both, never neither.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit by design
    SHOAL_CHECK(!status_.ok());
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const& { return status_; }
  Status status() && { return std::move(status_); }

  // REQUIRES: ok().
  T& operator*() & {
    SHOAL_CHECK(ok());
    return *value_;
  }
  const T& operator*() const& {
    SHOAL_CHECK(ok());
    return *value_;
  }
  T operator*() && {
    SHOAL_CHECK(ok());
    return *std::move(value_);
  }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace shoal

#define SHOAL_CONCAT_INNER(a, b) a##b
#define SHOAL_CONCAT(a, b) SHOAL_CONCAT_INNER(a, b)

// Returns from the enclosing function if `expr` is not OK.
#define SHOAL_RETURN_IF_ERROR(expr)                                                        \
  do {                                                                                     \
    if (::shoal::Status shoal_status_ = (expr); !shoal_status_.ok()) return shoal_status_; \
  } while (false)

// SHOAL_ASSIGN_OR_RETURN(auto frame, reader.Next());
#define SHOAL_ASSIGN_OR_RETURN(lhs, expr) \
  SHOAL_ASSIGN_IMPL(SHOAL_CONCAT(shoal_result_, __LINE__), lhs, expr)
#define SHOAL_ASSIGN_IMPL(tmp, lhs, expr)        \
  auto tmp = (expr);                             \
  if (!tmp.ok()) return std::move(tmp).status(); \
  lhs = *std::move(tmp)
