// JSON in and out: what clients sent is bounded before it is parsed, and looked into field by
// field; what goes out keeps its order.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/error.h"
#include "base/status.h"

namespace shoal::api {

using Json = nlohmann::ordered_json;  // For what goes out.
using Parsed = nlohmann::json;        // A map: what comes in may have a million keys.

// On one line. What is not UTF-8 becomes U+FFFD.
std::string Dump(const Json& json);

// Six digits of it: nobody measures more, and all seventeen are hard to read.
double Rounded(double value);

// kInvalidArgument: not JSON, or deeper or with more values than anybody needs, which would only
// cost memory.
Result<Parsed> ParseJson(std::string_view text);

// The fields of an object. What is absent or null leaves its value as it is; the first that is
// wrong is remembered.
class Fields {
 public:
  // REQUIRES: `object` is one, and outlives this.
  explicit Fields(const Parsed& object) : object_(object) {}

  // Null: absent, or null.
  const Parsed* Find(std::string_view name) const;

  void Read(std::string_view name, bool& value);
  void Read(std::string_view name, std::string& value);
  void Read(std::string_view name, float& value, float low, float high);
  // The whole number, if there is one.
  std::optional<std::int64_t> ReadInteger(std::string_view name, std::int64_t low,
                                          std::int64_t high);

  // "<name>: <problem>".
  void Fail(std::string_view name, std::string_view problem);
  const std::optional<ApiError>& error() const { return error_; }

 private:
  const Parsed& object_;
  std::optional<ApiError> error_;
};

}  // namespace shoal::api
