// Filters and tests of templates.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <span>

#include "llm/template_runtime_internal.h"

namespace shoal::llm::internal {
namespace {

Status Error(std::string what) { return Status(Code::kInvalidArgument, std::move(what)); }

using Filter = Result<Value> (*)(TemplateRuntime&, const Value&, const Arguments&);

// Python's str(): filters for texts take anything. Undefined is the empty text.
Result<MarkedString> TextOf(const Value& value) { return Printed(value); }

using TextChange = MarkedString (*)(const MarkedString&);

template <TextChange kChange>
Result<Value> ChangeText(TemplateRuntime&, const Value& value, const Arguments&) {
  SHOAL_ASSIGN_OR_RETURN(const MarkedString text, TextOf(value));
  return Value(kChange(text));
}

MarkedString Same(const MarkedString& text) { return text; }

// Escaping is for HTML, which prompts are not.
Result<Value> Unchanged(TemplateRuntime&, const Value& value, const Arguments&) { return value; }

Result<Value> NewList(TemplateRuntime& runtime, std::vector<Value> items) {
  SHOAL_RETURN_IF_ERROR(runtime.SpendSteps(items.size()));
  return Value(runtime.heap().NewList(std::move(items)));
}

Result<Value> Trim(TemplateRuntime&, const Value& value, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const MarkedString* set, arguments.GetString(0, "chars"));
  SHOAL_ASSIGN_OR_RETURN(const MarkedString text, TextOf(value));
  if (set == nullptr) return Value(Strip(text, Sides::kBoth));
  return Value(Strip(text, Sides::kBoth, set->text()));
}

Result<Value> Length(TemplateRuntime&, const Value& value, const Arguments&) {
  const auto length = LengthOf(value);
  if (!length) return Error("a value of type " + std::string(value.TypeName()) + " has no length");
  return Value(static_cast<std::int64_t>(*length));
}

Result<Value> Default(TemplateRuntime&, const Value& value, const Arguments& arguments) {
  const Value* otherwise = arguments.Get(0, "default_value");
  const Value* also_false = arguments.Get(1, "boolean");
  const bool replace =
      value.IsUndefined() || (also_false != nullptr && also_false->IsTrue() && !value.IsTrue());
  if (!replace) return value;
  return otherwise == nullptr ? TemplateText("") : *otherwise;
}

Result<Value> ToJsonFilter(TemplateRuntime&, const Value& value, const Arguments& arguments) {
  JsonStyle style;
  SHOAL_ASSIGN_OR_RETURN(const auto indent, arguments.GetInteger(0, "indent"));
  if (indent && *indent >= 0) style.indent = static_cast<std::size_t>(*indent);
  const Value* sort = arguments.Get(3, "sort_keys");
  style.sort_keys = sort != nullptr && sort->IsTrue();
  SHOAL_ASSIGN_OR_RETURN(MarkedString json, ToJson(value, style));
  return Value(std::move(json));
}

// The value at "a.b" inside `value`.
Result<Value> FollowPath(TemplateRuntime& runtime, Value value, const MarkedString& path) {
  for (const MarkedString& name : Split(path, {.separator = "."})) {
    std::int64_t index = 0;
    const std::string& digits = name.text();
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    const bool is_index = parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size();
    SHOAL_ASSIGN_OR_RETURN(value, GetItem(runtime, value, is_index ? Value(index) : Value(name)));
  }
  return value;
}

Result<Value> JoinFilter(TemplateRuntime& runtime, const Value& value, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const MarkedString* separator, arguments.GetString(0, "d"));
  SHOAL_ASSIGN_OR_RETURN(const MarkedString* attribute, arguments.GetString(1, "attribute"));
  SHOAL_ASSIGN_OR_RETURN(std::vector<Value> items, Elements(runtime, value));
  MarkedString out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (attribute != nullptr) {
      SHOAL_ASSIGN_OR_RETURN(items[i], FollowPath(runtime, items[i], *attribute));
    }
    const std::size_t before = out.size();
    if (i > 0 && separator != nullptr) out.Append(*separator);
    SHOAL_ASSIGN_OR_RETURN(const MarkedString text, TextOf(items[i]));
    out.Append(text);
    SHOAL_RETURN_IF_ERROR(runtime.SpendBytes(out.size() - before));
  }
  return Value(std::move(out));
}

// As Jinja has it, these filters find nothing in what is false, none among it.
Result<std::vector<Value>> ElementsOrNone(TemplateRuntime& runtime, const Value& value) {
  if (!value.IsTrue()) return std::vector<Value>();
  return Elements(runtime, value);
}

Result<Value> Map(TemplateRuntime& runtime, const Value& value, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(std::vector<Value> items, ElementsOrNone(runtime, value));
  const Value* attribute = arguments.Get(std::size_t{1} << 20U, "attribute");
  const Value* otherwise = arguments.Get(std::size_t{1} << 20U, "default");
  const Value* filter = arguments.Get(0, "filter");
  const bool by_filter = attribute == nullptr && filter != nullptr && filter->String() != nullptr;
  if (!by_filter && (attribute == nullptr || attribute->String() == nullptr)) {
    return Error("map needs an attribute or the name of a filter");
  }
  Arguments rest{.positional = {}, .named = arguments.named};
  if (by_filter)
    rest.positional.assign(arguments.positional.begin() + 1, arguments.positional.end());
  for (Value& item : items) {
    SHOAL_RETURN_IF_ERROR(runtime.SpendSteps(1));
    if (by_filter) {
      SHOAL_ASSIGN_OR_RETURN(item, ApplyFilter(runtime, filter->String()->text(), item, rest));
      continue;
    }
    SHOAL_ASSIGN_OR_RETURN(item, FollowPath(runtime, item, *attribute->String()));
    if (item.IsUndefined() && otherwise != nullptr) item = *otherwise;
  }
  return NewList(runtime, std::move(items));
}

// Those items whose test comes out as `wanted`: of the item itself, or of one of its fields.
Result<Value> Choose(TemplateRuntime& runtime, const Value& value, const Arguments& arguments,
                     bool by_field, bool wanted) {
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Value> items, ElementsOrNone(runtime, value));
  const std::size_t skip = by_field ? 1 : 0;
  SHOAL_ASSIGN_OR_RETURN(const MarkedString* path, arguments.GetString(0, "attribute"));
  if (by_field && path == nullptr) return Error("selectattr and rejectattr need a field");
  SHOAL_ASSIGN_OR_RETURN(const MarkedString* test, arguments.GetString(skip, "test"));
  Arguments rest;
  if (arguments.positional.size() > skip + 1) {
    rest.positional.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(skip) + 1,
                           arguments.positional.end());
  }
  std::vector<Value> chosen;
  for (const Value& item : items) {
    SHOAL_RETURN_IF_ERROR(runtime.SpendSteps(1));
    Value tested = item;
    if (by_field) {
      SHOAL_ASSIGN_OR_RETURN(tested, FollowPath(runtime, item, *path));
    }
    bool passes = tested.IsTrue();
    if (test != nullptr) {
      SHOAL_ASSIGN_OR_RETURN(passes, ApplyTest(test->text(), tested, rest));
    }
    if (passes == wanted) chosen.push_back(item);
  }
  return NewList(runtime, std::move(chosen));
}

Result<Value> End(TemplateRuntime& runtime, const Value& value, bool last) {
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Value> items, Elements(runtime, value));
  if (items.empty()) return Value();
  return last ? items.back() : items.front();
}

// The least, or the greatest; undefined of nothing.
Result<Value> Extreme(TemplateRuntime& runtime, const Value& value, bool greatest) {
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Value> items, Elements(runtime, value));
  if (items.empty()) return Value();
  Value best = items.front();
  for (const Value& item : items) {
    const auto better = greatest ? Less(best, item) : Less(item, best);
    if (!better) return Error("these values cannot be compared");
    if (*better) best = item;
  }
  return best;
}

Result<Value> Reverse(TemplateRuntime& runtime, const Value& value, const Arguments&) {
  return GetSlice(runtime, value, {.step = -1});
}

Result<Value> ToInteger(TemplateRuntime&, const Value& value, const Arguments& arguments) {
  const Value* otherwise = arguments.Get(0, "default");
  const Value fallback = otherwise == nullptr ? Value(std::int64_t{0}) : *otherwise;
  if (value.Integer()) return Value(*value.Integer());
  if (const double* number = value.AsFloat()) {
    if (!(std::abs(*number) < 9e18)) return fallback;
    return Value(static_cast<std::int64_t>(*number));
  }
  if (value.String() == nullptr) return fallback;
  const std::string text = Strip(*value.String(), Sides::kBoth).text();
  std::int64_t integer = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), integer);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return fallback;
  return Value(integer);
}

Result<Value> ToFloat(TemplateRuntime&, const Value& value, const Arguments&) {
  if (value.Number()) return Value(*value.Number());
  double number = 0;
  if (const MarkedString* text = value.String()) {
    const std::string stripped = Strip(*text, Sides::kBoth).text();
    number = std::strtod(stripped.c_str(), nullptr);
  }
  return Value(number);
}

Result<Value> Items(TemplateRuntime& runtime, const Value& value, const Arguments&) {
  if (value.IsUndefined()) return NewList(runtime, {});
  if (value.AsDict() == nullptr) return Error("items is for dictionaries");
  SHOAL_ASSIGN_OR_RETURN(auto items, CallMethod(runtime, value, "items", {}));
  return *items;
}

Result<Value> SortItems(TemplateRuntime& runtime, std::vector<Value> items, const Value* key) {
  const MarkedString* path = key == nullptr ? nullptr : key->String();
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value& item : items) {
    Value by = item;
    if (path != nullptr) {
      SHOAL_ASSIGN_OR_RETURN(by, FollowPath(runtime, item, *path));
    }
    if (by.String() != nullptr) by = Value(Lower(*by.String()));
    if (!Less(by, keyed.empty() ? by : keyed.front().first)) {
      return Error("sort: these values cannot be compared");
    }
    keyed.emplace_back(std::move(by), item);
  }
  SHOAL_RETURN_IF_ERROR(runtime.SpendSteps(items.size() * 20));
  std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) {
    return Less(a.first, b.first).value_or(false);
  });
  for (std::size_t i = 0; i < items.size(); ++i) items[i] = keyed[i].second;
  return NewList(runtime, std::move(items));
}

Result<Value> Sort(TemplateRuntime& runtime, const Value& value, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(std::vector<Value> items, Elements(runtime, value));
  SHOAL_ASSIGN_OR_RETURN(Value sorted,
                         SortItems(runtime, std::move(items), arguments.Get(2, "attribute")));
  const Value* reverse = arguments.Get(0, "reverse");
  if (reverse != nullptr && reverse->IsTrue()) {
    std::reverse(sorted.AsList()->items.begin(), sorted.AsList()->items.end());
  }
  return sorted;
}

Result<Value> DictSort(TemplateRuntime& runtime, const Value& value, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const Value items, Items(runtime, value, arguments));
  const Value by_key = TemplateText("0");
  return SortItems(runtime, items.AsList()->items, &by_key);
}

Result<Value> Unique(TemplateRuntime& runtime, const Value& value, const Arguments&) {
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Value> items, Elements(runtime, value));
  std::vector<Value> unique;
  for (const Value& item : items) {
    SHOAL_RETURN_IF_ERROR(runtime.SpendSteps(unique.size()));
    const auto same = [&](const Value& each) { return Equal(each, item); };
    if (std::none_of(unique.begin(), unique.end(), same)) unique.push_back(item);
  }
  return NewList(runtime, std::move(unique));
}

// Lines after the first (or all) moved right; empty ones only on request.
Result<Value> Indent(TemplateRuntime& runtime, const Value& value, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const auto width, arguments.GetInteger(0, "width"));
  const Value* first = arguments.Get(1, "first");
  const Value* blank = arguments.Get(2, "blank");
  const auto size = static_cast<std::size_t>(std::clamp<std::int64_t>(width.value_or(4), 0, 1000));
  SHOAL_ASSIGN_OR_RETURN(const MarkedString text, TextOf(value));
  const std::vector<MarkedString> lines = Split(text, {.separator = "\n"});
  SHOAL_RETURN_IF_ERROR(runtime.SpendBytes(text.size() + lines.size() * size));
  MarkedString out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out.Append("\n", Origin::kUser);
    const bool wanted = i > 0 || (first != nullptr && first->IsTrue());
    const bool filled = !lines[i].empty() || (blank != nullptr && blank->IsTrue());
    if (wanted && filled) out.Append(std::string(size, ' '), Origin::kTemplate);
    out.Append(lines[i]);
  }
  return Value(std::move(out));
}

Result<Value> Absolute(TemplateRuntime&, const Value& value, const Arguments&) {
  if (const double* number = value.AsFloat()) return Value(std::abs(*number));
  const auto integer = value.Integer();
  if (!integer || *integer == std::numeric_limits<std::int64_t>::min()) {
    return Error("abs is for numbers");
  }
  return Value(*integer < 0 ? -*integer : *integer);
}

struct NamedFilter {
  std::string_view name;
  Filter apply;
};

constexpr NamedFilter kFilters[] = {
    {"abs", Absolute},
    {"capitalize", ChangeText<Capitalize>},
    {"count", Length},
    {"d", Default},
    {"default", Default},
    {"dictsort", DictSort},
    {"e", Unchanged},
    {"first",
     [](TemplateRuntime& r, const Value& v, const Arguments&) { return End(r, v, false); }},
    {"float", ToFloat},
    {"indent", Indent},
    {"int", ToInteger},
    {"items", Items},
    {"join", JoinFilter},
    {"last", [](TemplateRuntime& r, const Value& v, const Arguments&) { return End(r, v, true); }},
    {"length", Length},
    {"list",
     [](TemplateRuntime& r, const Value& v, const Arguments&) -> Result<Value> {
       SHOAL_ASSIGN_OR_RETURN(std::vector<Value> items, Elements(r, v));
       return NewList(r, std::move(items));
     }},
    {"lower", ChangeText<Lower>},
    {"map", Map},
    {"max",
     [](TemplateRuntime& r, const Value& v, const Arguments&) { return Extreme(r, v, true); }},
    {"min",
     [](TemplateRuntime& r, const Value& v, const Arguments&) { return Extreme(r, v, false); }},
    {"reject", [](TemplateRuntime& r, const Value& v,
                  const Arguments& a) { return Choose(r, v, a, false, false); }},
    {"rejectattr", [](TemplateRuntime& r, const Value& v,
                      const Arguments& a) { return Choose(r, v, a, true, false); }},
    {"replace",
     [](TemplateRuntime& r, const Value& v, const Arguments& a) -> Result<Value> {
       SHOAL_ASSIGN_OR_RETURN(const MarkedString text, TextOf(v));
       SHOAL_ASSIGN_OR_RETURN(auto replaced, CallMethod(r, Value(text), "replace", a));
       return *replaced;
     }},
    {"reverse", Reverse},
    {"safe", Unchanged},
    {"select", [](TemplateRuntime& r, const Value& v,
                  const Arguments& a) { return Choose(r, v, a, false, true); }},
    {"selectattr", [](TemplateRuntime& r, const Value& v,
                      const Arguments& a) { return Choose(r, v, a, true, true); }},
    {"sort", Sort},
    {"string", ChangeText<Same>},
    {"title", ChangeText<Title>},
    {"tojson", ToJsonFilter},
    {"trim", Trim},
    {"unique", Unique},
    {"upper", ChangeText<Upper>},
};

using Test = bool (*)(const Value&);

struct NamedTest {
  std::string_view name;
  Test holds;
};

constexpr NamedTest kTests[] = {
    {"boolean", [](const Value& v) { return v.AsBool() != nullptr; }},
    {"callable", [](const Value& v) { return v.AsMacro() != nullptr || v.AsBuiltin() != nullptr; }},
    {"defined", [](const Value& v) { return !v.IsUndefined(); }},
    {"even", [](const Value& v) { return v.Integer() && *v.Integer() % 2 == 0; }},
    {"false", [](const Value& v) { return v.AsBool() != nullptr && !*v.AsBool(); }},
    {"float", [](const Value& v) { return v.AsFloat() != nullptr; }},
    {"integer", [](const Value& v) { return v.Integer() && v.AsBool() == nullptr; }},
    {"iterable", [](const Value& v) { return LengthOf(v).has_value(); }},
    {"mapping", [](const Value& v) { return v.AsDict() != nullptr; }},
    {"none", [](const Value& v) { return v.IsNone(); }},
    {"number", [](const Value& v) { return v.IsNumber(); }},
    {"odd", [](const Value& v) { return v.Integer() && *v.Integer() % 2 != 0; }},
    {"sequence", [](const Value& v) { return LengthOf(v).has_value() && !v.IsUndefined(); }},
    {"string", [](const Value& v) { return v.String() != nullptr; }},
    {"true", [](const Value& v) { return v.AsBool() != nullptr && *v.AsBool(); }},
    {"undefined", [](const Value& v) { return v.IsUndefined(); }},
};

Result<bool> Compare(std::string_view name, const Value& left, const Value& right) {
  if (name == "eq" || name == "equalto" || name == "sameas") return Equal(left, right);
  if (name == "ne") return !Equal(left, right);
  if (name == "in") return IsIn(left, right);
  if (name == "divisibleby") {
    const auto a = left.Integer();
    const auto b = right.Integer();
    if (!a || !b || *b == 0) return Error("divisibleby is for integers");
    return *b == -1 || *a % *b == 0;
  }
  const bool swapped = name == "gt" || name == "greaterthan" || name == "le";
  const auto less = swapped ? Less(right, left) : Less(left, right);
  if (!less) return Error("these values cannot be compared");
  if (name == "lt" || name == "lessthan" || name == "gt" || name == "greaterthan") return *less;
  if (name == "ge" || name == "le") return !*less;
  return Error("the test '" + std::string(name) + "' is not supported");
}

}  // namespace

Result<Value> ApplyFilter(TemplateRuntime& runtime, std::string_view name, const Value& value,
                          const Arguments& arguments) {
  const auto* found = std::find_if(std::begin(kFilters), std::end(kFilters),
                                   [name](const NamedFilter& each) { return each.name == name; });
  if (found == std::end(kFilters)) {
    return Error("the filter '" + std::string(name) + "' is not supported");
  }
  if (const MarkedString* text = value.String()) {
    SHOAL_RETURN_IF_ERROR(runtime.SpendBytes(text->size()));
  }
  return found->apply(runtime, value, arguments);
}

Result<bool> ApplyTest(std::string_view name, const Value& value, const Arguments& arguments) {
  const auto* found = std::find_if(std::begin(kTests), std::end(kTests),
                                   [name](const NamedTest& each) { return each.name == name; });
  if (found != std::end(kTests)) return found->holds(value);
  const Value* other = arguments.Get(0, "other");
  if (other == nullptr) return Error("the test '" + std::string(name) + "' is not supported");
  return Compare(name, value, *other);
}

}  // namespace shoal::llm::internal
