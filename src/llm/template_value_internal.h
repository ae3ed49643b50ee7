// The values of a template: those of Python that templates use. Lists and dictionaries belong to a
// TemplateHeap and die with it, so that a template cannot leak by tying a knot.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "llm/marked_string.h"

namespace shoal::llm::internal {

struct MacroNode;
class Value;

struct List {
  std::vector<Value> items;
};

// In the order of insertion, as in Python. Looked up one by one: templates' are small.
struct Dict {
  std::vector<std::pair<Value, Value>> entries;
  bool is_namespace = false;  // Its fields may be set from inside loops.

  const Value* Find(std::string_view key) const;
  const Value* Find(const Value& key) const;
  void Set(const Value& key, Value value);
};

// What a name that nobody has set evaluates to: prints as nothing, is false, has no fields.
struct Undefined {
  std::string name;
};
struct None {};
// A function that comes with the interpreter, by name.
struct Builtin {
  std::string_view name;
};

class Value {
 public:
  Value() : data_(Undefined{}) {}
  Value(Undefined undefined) : data_(std::move(undefined)) {}  // NOLINT: implicit by design
  Value(None none) : data_(none) {}                            // NOLINT: implicit by design
  Value(bool value) : data_(value) {}                          // NOLINT: implicit by design
  Value(std::int64_t value) : data_(value) {}                  // NOLINT: implicit by design
  Value(double value) : data_(value) {}                        // NOLINT: implicit by design
  Value(MarkedString text)                                     // NOLINT: implicit by design
      : data_(std::make_shared<const MarkedString>(std::move(text))) {}
  Value(List* list) : data_(list) {}               // NOLINT: implicit by design
  Value(Dict* dict) : data_(dict) {}               // NOLINT: implicit by design
  Value(const MacroNode* macro) : data_(macro) {}  // NOLINT: implicit by design
  Value(Builtin builtin) : data_(builtin) {}       // NOLINT: implicit by design
  Value(const char*) = delete;                     // Whose text is it?

  bool IsUndefined() const { return std::holds_alternative<Undefined>(data_); }
  bool IsNone() const { return std::holds_alternative<None>(data_); }
  bool IsNumber() const { return Integer() || std::holds_alternative<double>(data_); }

  // The value if it is of that type, else null or nothing. A bool is an integer, as in Python.
  const Undefined* AsUndefined() const { return std::get_if<Undefined>(&data_); }
  const bool* AsBool() const { return std::get_if<bool>(&data_); }
  const double* AsFloat() const { return std::get_if<double>(&data_); }
  std::optional<std::int64_t> Integer() const;
  std::optional<double> Number() const;
  const MarkedString* String() const;
  List* AsList() const;
  Dict* AsDict() const;
  const MacroNode* AsMacro() const;
  const Builtin* AsBuiltin() const { return std::get_if<Builtin>(&data_); }

  bool IsTrue() const;
  // "str", "list", as in Python's messages.
  std::string_view TypeName() const;

 private:
  std::variant<Undefined, None, bool, std::int64_t, double, std::shared_ptr<const MarkedString>,
               List*, Dict*, const MacroNode*, Builtin>
      data_;
};

class TemplateHeap {
 public:
  List* NewList(std::vector<Value> items = {});
  Dict* NewDict();

 private:
  std::deque<List> lists_;
  std::deque<Dict> dicts_;
};

// A text that a template's author wrote, or that is as good as that.
inline Value TemplateText(std::string text) {
  return MarkedString(std::move(text), Origin::kTemplate);
}

// A list can hold the same list many times and that one again: what a template makes in a few
// steps may take forever to go through. So this much, and no more.
inline constexpr int kMaxValueDepth = 64;
inline constexpr std::size_t kMaxValueParts = std::size_t{1} << 20;
inline constexpr std::size_t kMaxValueBytes = std::size_t{32} << 20;

// Values beyond the limits are different.
bool Equal(const Value& a, const Value& b);
// Numbers or texts; nothing if they cannot be ordered.
std::optional<bool> Less(const Value& a, const Value& b);

// As {{ value }} prints it: None, True, 1.5; lists and dictionaries as Python writes them.
// kResourceExhausted: beyond the limits; also ToJson.
Result<MarkedString> Printed(const Value& value);

// As json.dumps does with ensure_ascii=False; everything but what the template wrote itself is
// marked as the user's. kInvalidArgument: a value has no JSON form.
struct JsonStyle {
  std::optional<std::size_t> indent = {};
  bool sort_keys = false;
};
Result<MarkedString> ToJson(const Value& value, const JsonStyle& style);

// What a caller brings: all texts in it are the user's. kInvalidArgument: nested too deep.
Result<Value> FromJson(const nlohmann::ordered_json& json, TemplateHeap& heap, int depth = 0);

}  // namespace shoal::llm::internal
