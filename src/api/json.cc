#include <cmath>

#include "api/json_internal.h"

namespace shoal::api {
namespace {

constexpr std::size_t kDepthMax = 32;
// A prompt of token ids is the longest list; each value takes some tens of bytes.
constexpr std::size_t kValuesMax = std::size_t{1} << 20;

// False: brackets are in each other too deeply, or there are too many values.
bool IsModest(std::string_view text) {
  std::size_t depth = 0;
  std::size_t values = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      ++values;
      if (++depth > kDepthMax) return false;
    } else if (c == ']' || c == '}') {
      if (depth > 0) --depth;
    } else if (c == ',') {
      ++values;
    }
  }
  return values <= kValuesMax;
}

std::string Between(const std::string& low, const std::string& high) {
  return "must be from " + low + " to " + high;
}

}  // namespace

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

double Rounded(double value) {
  constexpr int kDigits = 6;
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10, kDigits - std::ceil(std::log10(std::abs(value))));
  return std::isfinite(scale) && scale > 0 ? std::round(value * scale) / scale : value;
}

Result<Parsed> ParseJson(std::string_view text) {
  if (!IsModest(text)) {
    return Status(Code::kInvalidArgument,
                  "lists and objects are too many, or too deep in each other");
  }
  try {
    return Parsed::parse(text);
  } catch (const Parsed::exception& error) {
    return Status(Code::kInvalidArgument, error.what());
  }
}

const Parsed* Fields::Find(std::string_view name) const {
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void Fields::Read(std::string_view name, bool& value) {
  const Parsed* found = Find(name);
  if (found == nullptr) return;
  if (!found->is_boolean()) return Fail(name, "must be true or false");
  value = found->get<bool>();
}

void Fields::Read(std::string_view name, std::string& value) {
  const Parsed* found = Find(name);
  if (found == nullptr) return;
  if (!found->is_string()) return Fail(name, "must be a string");
  value = found->get<std::string>();
}

void Fields::Read(std::string_view name, float& value, float low, float high) {
  const Parsed* found = Find(name);
  if (found == nullptr) return;
  if (!found->is_number()) return Fail(name, "must be a number");
  const double number = found->get<double>();
  if (!(number >= low && number <= high)) {
    return Fail(name, Between(Dump(static_cast<double>(low)), Dump(static_cast<double>(high))));
  }
  value = static_cast<float>(number);
}

std::optional<std::int64_t> Fields::ReadInteger(std::string_view name, std::int64_t low,
                                                std::int64_t high) {
  const Parsed* found = Find(name);
  if (found == nullptr) return std::nullopt;
  // Some clients write 16.0.
  const double number = found->is_number() ? found->get<double>() : std::nan("");
  // Beyond that they are not whole, and may not fit.
  constexpr double kFloatMax = 9007199254740992;
  if (!(std::floor(number) == number) ||
      (found->is_number_float() && std::abs(number) > kFloatMax)) {
    Fail(name, "must be a whole number");
    return std::nullopt;
  }
  if (!(number >= static_cast<double>(low) && number <= static_cast<double>(high))) {
    Fail(name, Between(std::to_string(low), std::to_string(high)));
    return std::nullopt;
  }
  return found->is_number_integer() ? found->get<std::int64_t>()
                                    : static_cast<std::int64_t>(number);
}

void Fields::Fail(std::string_view name, std::string_view problem) {
  if (error_) return;
  error_ = ApiError{.message = std::string(name) + ": " + std::string(problem),
                    .param = std::string(name)};
}

}  // namespace shoal::api
