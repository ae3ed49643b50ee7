// What filters, tests and methods of templates share: memory, and a budget that a hostile template
// runs out of before we run out of time or memory. Their errors have no place in the source; the
// interpreter adds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "llm/marked_string.h"
#include "llm/template_value_internal.h"

namespace shoal::llm::internal {

struct TemplateLimits {
  // Evaluated expressions and elements touched. A chat of a thousand messages takes some 100,000.
  std::int64_t steps = 5'000'000;
  // Of all texts made on the way, the prompt among them.
  std::int64_t bytes = std::int64_t{256} << 20;
};

struct CalendarDate {
  int year = 0;
  int month = 1;  // From 1.
  int day = 1;    // From 1.
};

class TemplateRuntime {
 public:
  explicit TemplateRuntime(const TemplateLimits& limits) : left_(limits) {}

  TemplateHeap& heap() { return heap_; }

  // kResourceExhausted: that was too much.
  Status SpendSteps(std::size_t steps);
  Status SpendBytes(std::size_t bytes);

  std::optional<CalendarDate> today;

 private:
  TemplateLimits left_;
  TemplateHeap heap_;
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string_view, Value>> named;

  // Argument `index`, or the one called `name`; null if neither is given.
  const Value* Get(std::size_t index, std::string_view name) const;
  // The same as an integer or a text; `what` is for the message.
  Result<std::optional<std::int64_t>> GetInteger(std::size_t index, std::string_view name) const;
  Result<const MarkedString*> GetString(std::size_t index, std::string_view name) const;
};

// value|name(arguments). kInvalidArgument: no such filter, or not for such a value.
Result<Value> ApplyFilter(TemplateRuntime& runtime, std::string_view name, const Value& value,
                          const Arguments& arguments);

// value is name(arguments)
Result<bool> ApplyTest(std::string_view name, const Value& value, const Arguments& arguments);

// value.name(arguments), for texts, lists and dictionaries. Nothing if there is no such method.
Result<std::optional<Value>> CallMethod(TemplateRuntime& runtime, const Value& value,
                                        std::string_view name, const Arguments& arguments);

// range(...), dict(...), namespace(...), raise_exception(...), strftime_now(...)
Result<Value> CallBuiltin(TemplateRuntime& runtime, std::string_view name,
                          const Arguments& arguments);
std::span<const std::string_view> BuiltinNames();

// left name right, for the operators of Python's arithmetic and ~.
Result<Value> ApplyOperator(TemplateRuntime& runtime, std::string_view name, const Value& left,
                            const Value& right);

// item in container
Result<bool> IsIn(const Value& item, const Value& container);

// The elements that a loop over `value` sees: of a list, the keys of a dictionary, the characters
// of a text; none if it is undefined.
Result<std::vector<Value>> Elements(TemplateRuntime& runtime, const Value& value);

// value.name or value[key]: undefined if there is none. kInvalidArgument: `value` is undefined.
Result<Value> GetField(const Value& value, std::string_view name);
Result<Value> GetItem(TemplateRuntime& runtime, const Value& value, const Value& key);
struct SliceBounds {
  std::optional<std::int64_t> begin = {};
  std::optional<std::int64_t> end = {};
  std::int64_t step = 1;
};
Result<Value> GetSlice(TemplateRuntime& runtime, const Value& value, const SliceBounds& bounds);

// How many elements or characters; nothing if `value` has no length.
std::optional<std::size_t> LengthOf(const Value& value);

}  // namespace shoal::llm::internal
