#include <algorithm>
#include <cmath>
#include <limits>

#include "llm/template_runtime_internal.h"

namespace shoal::llm::internal {
namespace {

Status Error(std::string what) { return Status(Code::kInvalidArgument, std::move(what)); }

std::string Quote(std::string_view name) { return "'" + std::string(name) + "'"; }

Status TypeError(std::string_view op, const Value& left, const Value& right) {
  for (const Value* value : {&left, &right}) {
    if (const Undefined* undefined = value->AsUndefined()) {
      return Error(Quote(undefined->name) + " is undefined");
    }
  }
  return Error(Quote(op) + " does not go with " + std::string(left.TypeName()) + " and " +
               std::string(right.TypeName()));
}

Result<Value> Concatenate(TemplateRuntime& runtime, const MarkedString& left,
                          const MarkedString& right) {
  SHOAL_RETURN_IF_ERROR(runtime.SpendBytes(left.size() + right.size()));
  MarkedString text = left;
  text.Append(right);
  return Value(std::move(text));
}

Result<Value> Repeat(TemplateRuntime& runtime, const MarkedString& text, std::int64_t times) {
  MarkedString out;
  if (times <= 0 || text.empty()) return Value(out);
  const auto limit = std::numeric_limits<std::size_t>::max() / 2 / text.size();
  if (static_cast<std::uint64_t>(times) > limit) return Error("this text would be too long");
  SHOAL_RETURN_IF_ERROR(runtime.SpendBytes(text.size() * static_cast<std::size_t>(times)));
  for (std::int64_t i = 0; i < times; ++i) out.Append(text);
  return Value(std::move(out));
}

Result<Value> Join(TemplateRuntime& runtime, const List& left, const List& right) {
  SHOAL_RETURN_IF_ERROR(runtime.SpendSteps(left.items.size() + right.items.size()));
  std::vector<Value> items = left.items;
  items.insert(items.end(), right.items.begin(), right.items.end());
  return Value(runtime.heap().NewList(std::move(items)));
}

// Rounds down, as Python does; C++ rounds towards zero. REQUIRES: b != 0, not (lowest, -1).
std::int64_t FloorDivide(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Result<Value> IntegerOperator(std::string_view name, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflow = false;
  if (name == "+") {
    overflow = __builtin_add_overflow(a, b, &result);
  } else if (name == "-") {
    overflow = __builtin_sub_overflow(a, b, &result);
  } else if (name == "*") {
    overflow = __builtin_mul_overflow(a, b, &result);
  } else if (b == 0) {
    return Error("division by zero");
  } else if (b == -1) {  // The lowest integer has no positive counterpart.
    overflow = __builtin_sub_overflow(std::int64_t{0}, a, &result);
    if (name == "%") return Value(std::int64_t{0});
  } else {
    result = FloorDivide(a, b);
    if (name == "%") result = a - result * b;
  }
  if (overflow) return Error("this number would be too large");
  return Value(result);
}

Result<Value> FloatOperator(std::string_view name, double a, double b) {
  if (name == "+") return Value(a + b);
  if (name == "-") return Value(a - b);
  if (name == "*") return Value(a * b);
  if (name == "**") return Value(std::pow(a, b));
  if (b == 0) return Error("division by zero");
  if (name == "/") return Value(a / b);
  if (name == "//") return Value(std::floor(a / b));
  return Value(a - b * std::floor(a / b));
}

// Small powers, as templates use them.
Result<Value> IntegerPower(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  for (std::int64_t i = 0; i < exponent; ++i) {
    if (i >= 64 && base != 0 && base != 1 && base != -1)
      return Error("this number would be too large");
    if (i >= 64) return Value(base == -1 && exponent % 2 == 0 ? std::int64_t{1} : base);
    if (__builtin_mul_overflow(result, base, &result))
      return Error("this number would be too large");
  }
  return Value(result);
}

Result<Value> NumberOperator(std::string_view name, const Value& left, const Value& right) {
  const auto a = left.Integer();
  const auto b = right.Integer();
  if (a && b && name == "**" && *b >= 0) return IntegerPower(*a, *b);
  if (a && b && name != "/" && name != "**") return IntegerOperator(name, *a, *b);
  return FloatOperator(name, *left.Number(), *right.Number());
}

// Python's rule for an index: negative ones count from the end.
std::optional<std::size_t> ResolveIndex(std::int64_t index, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  const std::int64_t at = index < 0 ? index + count : index;
  if (at < 0 || at >= count) return std::nullopt;
  return static_cast<std::size_t>(at);
}

// The indices that a slice takes, in order.
std::vector<std::size_t> SliceIndices(const SliceBounds& bounds, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  const bool forward = bounds.step > 0;
  const auto clamp = [&](std::int64_t at) {
    if (at < 0) at = at < -count ? -1 : at + count;
    return std::clamp<std::int64_t>(at, forward ? 0 : -1, forward ? count : count - 1);
  };
  const std::int64_t begin = bounds.begin ? clamp(*bounds.begin) : forward ? 0 : count - 1;
  const std::int64_t end = bounds.end ? clamp(*bounds.end) : forward ? count : -1;
  // More than the size is as good as the size, and cannot overflow.
  const std::int64_t step = std::clamp<std::int64_t>(bounds.step, -count - 1, count + 1);
  std::vector<std::size_t> indices;
  for (std::int64_t at = begin; forward ? at < end : at > end; at += step) {
    indices.push_back(static_cast<std::size_t>(at));
  }
  return indices;
}

}  // namespace

Status TemplateRuntime::SpendSteps(std::size_t steps) {
  left_.steps -= static_cast<std::int64_t>(std::min<std::size_t>(steps, std::size_t{1} << 40U));
  if (left_.steps >= 0) return Status();
  return Status(Code::kResourceExhausted, "the template takes too many steps");
}

Status TemplateRuntime::SpendBytes(std::size_t bytes) {
  left_.bytes -= static_cast<std::int64_t>(std::min<std::size_t>(bytes, std::size_t{1} << 40U));
  if (left_.bytes >= 0) return Status();
  return Status(Code::kResourceExhausted, "the template makes too much text");
}

const Value* Arguments::Get(std::size_t index, std::string_view name) const {
  if (index < positional.size()) return &positional[index];
  for (const auto& [key, value] : named) {
    if (key == name) return &value;
  }
  return nullptr;
}

Result<std::optional<std::int64_t>> Arguments::GetInteger(std::size_t index,
                                                          std::string_view name) const {
  const Value* value = Get(index, name);
  if (value == nullptr || value->IsNone()) return std::optional<std::int64_t>();
  if (!value->Integer()) return Error(Quote(name) + " must be an integer");
  return value->Integer();
}

Result<const MarkedString*> Arguments::GetString(std::size_t index, std::string_view name) const {
  const Value* value = Get(index, name);
  if (value == nullptr || value->IsNone()) return static_cast<const MarkedString*>(nullptr);
  if (value->String() == nullptr) return Error(Quote(name) + " must be a text");
  return value->String();
}

Result<Value> ApplyOperator(TemplateRuntime& runtime, std::string_view name, const Value& left,
                            const Value& right) {
  if (name == "~") {
    SHOAL_ASSIGN_OR_RETURN(const MarkedString first, Printed(left));
    SHOAL_ASSIGN_OR_RETURN(const MarkedString second, Printed(right));
    return Concatenate(runtime, first, second);
  }
  if (left.IsNumber() && right.IsNumber()) return NumberOperator(name, left, right);
  if (name == "+" && left.String() != nullptr && right.String() != nullptr) {
    return Concatenate(runtime, *left.String(), *right.String());
  }
  if (name == "+" && left.AsList() != nullptr && right.AsList() != nullptr) {
    return Join(runtime, *left.AsList(), *right.AsList());
  }
  if (name == "*" && left.String() != nullptr && right.Integer()) {
    return Repeat(runtime, *left.String(), *right.Integer());
  }
  if (name == "*" && left.Integer() && right.String() != nullptr) {
    return Repeat(runtime, *right.String(), *left.Integer());
  }
  return TypeError(name, left, right);
}

Result<bool> IsIn(const Value& item, const Value& container) {
  if (const MarkedString* text = container.String()) {
    if (item.String() == nullptr) return TypeError("in", item, container);
    return text->text().find(item.String()->text()) != std::string::npos;
  }
  if (const List* list = container.AsList()) {
    return std::any_of(list->items.begin(), list->items.end(),
                       [&](const Value& each) { return Equal(each, item); });
  }
  if (const Dict* dict = container.AsDict()) return dict->Find(item) != nullptr;
  if (container.IsUndefined()) return false;
  return TypeError("in", item, container);
}

Result<std::vector<Value>> Elements(TemplateRuntime& runtime, const Value& value) {
  std::vector<Value> elements;
  if (const List* list = value.AsList()) {
    elements = list->items;
  } else if (const Dict* dict = value.AsDict()) {
    for (const auto& entry : dict->entries) elements.push_back(entry.first);
  } else if (const MarkedString* text = value.String()) {
    SHOAL_RETURN_IF_ERROR(runtime.SpendSteps(text->size()));
    const std::vector<std::size_t> offsets = text->CharacterOffsets();
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      elements.emplace_back(text->Part(offsets[i], offsets[i + 1] - offsets[i]));
    }
  } else if (!value.IsUndefined()) {
    return Error("one cannot go through a value of type " + std::string(value.TypeName()));
  }
  SHOAL_RETURN_IF_ERROR(runtime.SpendSteps(elements.size()));
  return elements;
}

Result<Value> GetField(const Value& value, std::string_view name) {
  if (const Undefined* undefined = value.AsUndefined()) {
    return Error(Quote(undefined->name) + " is undefined, so it has no field " + Quote(name));
  }
  if (const Dict* dict = value.AsDict()) {
    if (const Value* found = dict->Find(name)) return *found;
  }
  return Value(Undefined{std::string(name)});
}

Result<Value> GetItem(TemplateRuntime& runtime, const Value& value, const Value& key) {
  if (const MarkedString* name = key.String(); name != nullptr && value.String() == nullptr) {
    return GetField(value, name->text());
  }
  if (const Undefined* undefined = value.AsUndefined()) {
    return Error(Quote(undefined->name) + " is undefined, so it has no elements");
  }
  if (const Dict* dict = value.AsDict()) {
    const Value* found = dict->Find(key);
    return found == nullptr ? Value() : *found;
  }
  const std::optional<std::size_t> size = LengthOf(value);
  if (!size || !key.Integer()) return Value();
  const auto at = ResolveIndex(*key.Integer(), *size);
  if (!at) return Value();
  if (const List* list = value.AsList()) return list->items[*at];
  SHOAL_RETURN_IF_ERROR(runtime.SpendSteps(value.String()->size() / 16));
  const std::vector<std::size_t> offsets = value.String()->CharacterOffsets();
  return Value(value.String()->Part(offsets[*at], offsets[*at + 1] - offsets[*at]));
}

Result<Value> GetSlice(TemplateRuntime& runtime, const Value& value, const SliceBounds& bounds) {
  if (bounds.step == 0) return Error("the step of a slice is 0");
  if (const Undefined* undefined = value.AsUndefined()) {
    return Error(Quote(undefined->name) + " is undefined, so it has no parts");
  }
  const std::optional<std::size_t> size = LengthOf(value);
  if (!size || value.AsDict() != nullptr) {
    return Error("one cannot take a part of a value of type " + std::string(value.TypeName()));
  }
  SHOAL_RETURN_IF_ERROR(runtime.SpendSteps(*size / 4));
  const std::vector<std::size_t> indices = SliceIndices(bounds, *size);
  if (const List* list = value.AsList()) {
    std::vector<Value> items;
    items.reserve(indices.size());
    for (const std::size_t at : indices) items.push_back(list->items[at]);
    return Value(runtime.heap().NewList(std::move(items)));
  }
  const MarkedString& text = *value.String();
  const std::vector<std::size_t> offsets = text.CharacterOffsets();
  MarkedString part;
  for (const std::size_t at : indices) {
    part.Append(text.Part(offsets[at], offsets[at + 1] - offsets[at]));
  }
  return Value(std::move(part));
}

std::optional<std::size_t> LengthOf(const Value& value) {
  if (const MarkedString* text = value.String()) return text->CharacterCount();
  if (const List* list = value.AsList()) return list->items.size();
  if (const Dict* dict = value.AsDict()) return dict->entries.size();
  if (value.IsUndefined()) return 0;
  return std::nullopt;
}

}  // namespace shoal::llm::internal
