// What templates call on values, and the functions that come with the interpreter.
#include <algorithm>
#include <array>

#include "llm/template_runtime_internal.h"

namespace shoal::llm::internal {
namespace {

using Answer = Result<std::optional<Value>>;

Status Error(std::string what) { return Status(Code::kInvalidArgument, std::move(what)); }

// Enough for a sentence; what a template says is shown to people.
constexpr std::size_t kMaxReasonBytes = 1000;

Value TextList(TemplateRuntime& runtime, std::vector<MarkedString> texts) {
  std::vector<Value> items;
  items.reserve(texts.size());
  for (MarkedString& text : texts) items.emplace_back(std::move(text));
  return runtime.heap().NewList(std::move(items));
}

Answer StripMethod(const MarkedString& text, Sides sides, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const MarkedString* set, arguments.GetString(0, "chars"));
  return std::optional<Value>(Strip(
      text, sides, set == nullptr ? std::nullopt : std::optional<std::string_view>(set->text())));
}

Answer SplitMethod(TemplateRuntime& runtime, const MarkedString& text, bool from_right,
                   const Arguments& arguments) {
  SplitOptions options{.from_right = from_right};
  SHOAL_ASSIGN_OR_RETURN(const MarkedString* separator, arguments.GetString(0, "sep"));
  SHOAL_ASSIGN_OR_RETURN(const auto cuts, arguments.GetInteger(1, "maxsplit"));
  if (separator != nullptr && separator->empty()) return Error("split: the separator is empty");
  if (separator != nullptr) options.separator = separator->text();
  if (cuts && *cuts >= 0) options.cuts_max = static_cast<std::size_t>(*cuts);
  SHOAL_RETURN_IF_ERROR(runtime.SpendSteps(text.size()));
  return std::optional<Value>(TextList(runtime, Split(text, options)));
}

// "x".startswith("y") or with a list of which one suffices.
Answer AffixMethod(const MarkedString& text, bool at_end, const Arguments& arguments) {
  const Value* affix = arguments.Get(0, "prefix");
  if (affix == nullptr) return Error("startswith and endswith need a text");
  const auto matches = [&](const Value& each) {
    if (each.String() == nullptr) return false;
    const std::string& part = each.String()->text();
    return at_end ? text.text().ends_with(part) : text.text().starts_with(part);
  };
  if (const List* list = affix->AsList()) {
    return std::optional<Value>(std::any_of(list->items.begin(), list->items.end(), matches));
  }
  return std::optional<Value>(matches(*affix));
}

Answer ReplaceMethod(TemplateRuntime& runtime, const MarkedString& text,
                     const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const MarkedString* from, arguments.GetString(0, "old"));
  SHOAL_ASSIGN_OR_RETURN(const MarkedString* to, arguments.GetString(1, "new"));
  SHOAL_ASSIGN_OR_RETURN(const auto count, arguments.GetInteger(2, "count"));
  if (from == nullptr || to == nullptr) return Error("replace needs two texts");
  // In the worst case each byte is replaced.
  SHOAL_RETURN_IF_ERROR(runtime.SpendBytes(text.size()));
  if (!from->empty()) {
    SHOAL_RETURN_IF_ERROR(runtime.SpendBytes(text.size() / from->size() * to->size()));
  }
  std::optional<std::size_t> limit;
  if (count && *count >= 0) limit = static_cast<std::size_t>(*count);
  return std::optional<Value>(Replace(text, from->text(), *to, limit));
}

// In characters; -1 if it is not there.
Answer FindMethod(const MarkedString& text, bool last, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const MarkedString* part, arguments.GetString(0, "sub"));
  if (part == nullptr) return Error("find needs a text");
  const std::size_t found = last ? text.text().rfind(part->text()) : text.text().find(part->text());
  if (found == std::string::npos) return std::optional<Value>(std::int64_t{-1});
  return std::optional<Value>(static_cast<std::int64_t>(text.Part(0, found).CharacterCount()));
}

Answer CountMethod(const MarkedString& text, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const MarkedString* part, arguments.GetString(0, "sub"));
  if (part == nullptr || part->empty()) return Error("count needs a text");
  std::int64_t count = 0;
  for (std::size_t at = text.text().find(part->text()); at != std::string::npos;
       at = text.text().find(part->text(), at + part->size())) {
    ++count;
  }
  return std::optional<Value>(count);
}

// "{} of {}".format(a, b): what stands in braces otherwise is not supported.
Answer FormatMethod(TemplateRuntime& runtime, const MarkedString& text,
                    const Arguments& arguments) {
  const std::vector<MarkedString> parts = Split(text, {.separator = "{}"});
  if (text.text().find_first_of("{}") != std::string::npos &&
      parts.size() != arguments.positional.size() + 1) {
    return Error("format: only '{}' is supported, once for each argument");
  }
  MarkedString out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    out.Append(parts[i]);
    if (i + 1 == parts.size()) break;
    SHOAL_ASSIGN_OR_RETURN(const MarkedString value, Printed(arguments.positional[i]));
    SHOAL_RETURN_IF_ERROR(runtime.SpendBytes(value.size()));
    out.Append(value);
  }
  return std::optional<Value>(std::move(out));
}

bool AllAscii(const MarkedString& text, bool (*is)(char)) {
  return !text.empty() && std::all_of(text.text().begin(), text.text().end(), is);
}

Answer StringMethod(TemplateRuntime& runtime, const MarkedString& text, std::string_view name,
                    const Arguments& arguments) {
  if (name == "strip") return StripMethod(text, Sides::kBoth, arguments);
  if (name == "lstrip") return StripMethod(text, Sides::kLeft, arguments);
  if (name == "rstrip") return StripMethod(text, Sides::kRight, arguments);
  if (name == "split") return SplitMethod(runtime, text, false, arguments);
  if (name == "rsplit") return SplitMethod(runtime, text, true, arguments);
  if (name == "splitlines") return std::optional<Value>(TextList(runtime, SplitLines(text)));
  if (name == "startswith") return AffixMethod(text, false, arguments);
  if (name == "endswith") return AffixMethod(text, true, arguments);
  if (name == "replace") return ReplaceMethod(runtime, text, arguments);
  if (name == "find" || name == "rfind") return FindMethod(text, name == "rfind", arguments);
  if (name == "count") return CountMethod(text, arguments);
  if (name == "format") return FormatMethod(runtime, text, arguments);
  if (name == "lower") return std::optional<Value>(Lower(text));
  if (name == "upper") return std::optional<Value>(Upper(text));
  if (name == "title") return std::optional<Value>(Title(text));
  if (name == "capitalize") return std::optional<Value>(Capitalize(text));
  if (name == "isdigit") {
    return std::optional<Value>(AllAscii(text, [](char c) { return c >= '0' && c <= '9'; }));
  }
  if (name == "join") {
    Arguments separator{.positional = {Value(text)}, .named = {}};
    const Value* list = arguments.Get(0, "iterable");
    if (list == nullptr) return Error("join needs a list");
    SHOAL_ASSIGN_OR_RETURN(Value joined, ApplyFilter(runtime, "join", *list, separator));
    return std::optional<Value>(std::move(joined));
  }
  return std::optional<Value>();
}

Answer ListMethod(TemplateRuntime& runtime, List& list, std::string_view name,
                  const Arguments& arguments) {
  const Value* first = arguments.Get(0, "item");
  if (name == "append" && first != nullptr) {
    SHOAL_RETURN_IF_ERROR(runtime.SpendSteps(1));
    list.items.push_back(*first);
    return std::optional<Value>(None{});
  }
  if (name == "pop" && !list.items.empty()) {
    SHOAL_ASSIGN_OR_RETURN(const auto index, arguments.GetInteger(0, "index"));
    const auto size = static_cast<std::int64_t>(list.items.size());
    const std::int64_t at = index.value_or(-1) < 0 ? index.value_or(-1) + size : *index;
    if (at < 0 || at >= size) return Error("pop: there is no such element");
    Value popped = list.items[static_cast<std::size_t>(at)];
    list.items.erase(list.items.begin() + at);
    return std::optional<Value>(std::move(popped));
  }
  if (name == "index" && first != nullptr) {
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      if (Equal(list.items[i], *first)) return std::optional<Value>(static_cast<std::int64_t>(i));
    }
    return Error("index: there is no such element");
  }
  return std::optional<Value>();
}

Answer GetMethod(const Dict& dict, const Arguments& arguments) {
  const Value* key = arguments.Get(0, "key");
  const Value* otherwise = arguments.Get(1, "default");
  if (key == nullptr) return Error("get needs a key");
  if (const Value* found = dict.Find(*key)) return std::optional<Value>(*found);
  return std::optional<Value>(otherwise == nullptr ? Value(None{}) : *otherwise);
}

// `part(key, value)` of each entry.
template <class Part>
Answer EntriesMethod(TemplateRuntime& runtime, const Dict& dict, const Part& part) {
  SHOAL_RETURN_IF_ERROR(runtime.SpendSteps(dict.entries.size()));
  std::vector<Value> items;
  items.reserve(dict.entries.size());
  for (const auto& [key, value] : dict.entries) items.push_back(part(key, value));
  return std::optional<Value>(runtime.heap().NewList(std::move(items)));
}

Answer UpdateMethod(TemplateRuntime& runtime, Dict& dict, const Arguments& arguments) {
  const Value* other = arguments.Get(0, "other");
  if (other != nullptr && other->AsDict() != nullptr) {
    const auto entries = other->AsDict()->entries;  // A copy: it may be the same one.
    SHOAL_RETURN_IF_ERROR(runtime.SpendSteps(entries.size() * (dict.entries.size() + 1)));
    for (const auto& [key, value] : entries) dict.Set(key, value);
  }
  for (const auto& [key, value] : arguments.named) {
    dict.Set(TemplateText(std::string(key)), value);
  }
  return std::optional<Value>(None{});
}

Answer DictMethod(TemplateRuntime& runtime, Dict& dict, std::string_view name,
                  const Arguments& arguments) {
  if (name == "get") return GetMethod(dict, arguments);
  if (name == "update") return UpdateMethod(runtime, dict, arguments);
  if (name == "keys") {
    return EntriesMethod(runtime, dict, [](const Value& key, const Value&) { return key; });
  }
  if (name == "values") {
    return EntriesMethod(runtime, dict, [](const Value&, const Value& value) { return value; });
  }
  if (name == "items") {
    return EntriesMethod(runtime, dict, [&runtime](const Value& key, const Value& value) {
      return Value(runtime.heap().NewList({key, value}));
    });
  }
  return std::optional<Value>();
}

Result<Value> Range(TemplateRuntime& runtime, const Arguments& arguments) {
  std::array<std::int64_t, 3> bounds = {0, 0, 1};
  const std::size_t count = arguments.positional.size();
  if (count < 1 || count > 3) return Error("range takes one to three integers");
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = arguments.positional[i].Integer();
    if (!value) return Error("range takes integers");
    bounds[count == 1 ? 1 : i] = *value;
  }
  const auto [begin, end, step] = bounds;
  if (step == 0) return Error("range: the step is 0");
  std::vector<Value> items;
  for (std::int64_t at = begin; step > 0 ? at < end : at > end;) {
    SHOAL_RETURN_IF_ERROR(runtime.SpendSteps(1));
    items.emplace_back(at);
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return Value(runtime.heap().NewList(std::move(items)));
}

Result<Value> MakeDict(TemplateRuntime& runtime, const Arguments& arguments, bool is_namespace) {
  Dict* dict = runtime.heap().NewDict();
  dict->is_namespace = is_namespace;
  if (const Value* first = arguments.Get(0, "mapping"); first != nullptr && first->AsDict()) {
    SHOAL_RETURN_IF_ERROR(runtime.SpendSteps(first->AsDict()->entries.size()));
    dict->entries = first->AsDict()->entries;
  }
  for (const auto& [name, value] : arguments.named) {
    dict->Set(TemplateText(std::string(name)), value);
  }
  return Value(dict);
}

std::string TwoDigits(int number) {
  return std::string(number < 10 ? "0" : "") + std::to_string(number);
}

// Weekday of a date, Monday first (Zeller's congruence, shifted).
int Weekday(const CalendarDate& date) {
  const int year = date.month < 3 ? date.year - 1 : date.year;
  const int month = date.month < 3 ? date.month + 12 : date.month;
  const int century = year / 100;
  const int rest = year % 100;
  const int h = (date.day + 13 * (month + 1) / 5 + rest + rest / 4 + century / 4 + 5 * century) % 7;
  return (h + 5) % 7;
}

std::string FormatField(const CalendarDate& date, char field) {
  static constexpr std::array<std::string_view, 12> kMonths = {
      "January", "February", "March",     "April",   "May",      "June",
      "July",    "August",   "September", "October", "November", "December"};
  static constexpr std::array<std::string_view, 7> kDays = {
      "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
  const std::string_view month =
      kMonths[static_cast<std::size_t>(std::clamp(date.month, 1, 12) - 1)];
  const std::string_view day = kDays[static_cast<std::size_t>(Weekday(date))];
  switch (field) {
    case 'Y':
      return std::to_string(date.year);
    case 'y':
      return TwoDigits(date.year % 100);
    case 'm':
      return TwoDigits(date.month);
    case 'd':
      return TwoDigits(date.day);
    case 'B':
      return std::string(month);
    case 'b':
      return std::string(month.substr(0, 3));
    case 'A':
      return std::string(day);
    case 'a':
      return std::string(day.substr(0, 3));
    case 'H':
    case 'M':
    case 'S':
      return "00";  // Midnight: a prompt that changes each second could not be cached.
    case '%':
      return "%";
    default:
      return std::string("%") + field;
  }
}

Result<Value> FormatToday(TemplateRuntime& runtime, const Arguments& arguments) {
  SHOAL_ASSIGN_OR_RETURN(const MarkedString* format, arguments.GetString(0, "format"));
  if (format == nullptr || !runtime.today) return Error("strftime_now needs a format and a date");
  std::string out;
  const std::string& text = format->text();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%' || i + 1 == text.size()) {
      out += text[i];
    } else {
      out += FormatField(*runtime.today, text[++i]);
    }
  }
  return TemplateText(std::move(out));
}

}  // namespace

Result<std::optional<Value>> CallMethod(TemplateRuntime& runtime, const Value& value,
                                        std::string_view name, const Arguments& arguments) {
  if (const MarkedString* text = value.String()) {
    SHOAL_RETURN_IF_ERROR(runtime.SpendSteps(text->size() / 16));
    return StringMethod(runtime, *text, name, arguments);
  }
  if (List* list = value.AsList()) return ListMethod(runtime, *list, name, arguments);
  if (Dict* dict = value.AsDict()) return DictMethod(runtime, *dict, name, arguments);
  return std::optional<Value>();
}

std::span<const std::string_view> BuiltinNames() {
  static constexpr std::string_view kNames[] = {"range", "dict", "namespace", "raise_exception",
                                                "strftime_now"};
  return kNames;
}

Result<Value> CallBuiltin(TemplateRuntime& runtime, std::string_view name,
                          const Arguments& arguments) {
  if (name == "range") return Range(runtime, arguments);
  if (name == "dict") return MakeDict(runtime, arguments, false);
  if (name == "namespace") return MakeDict(runtime, arguments, true);
  if (name == "strftime_now") return FormatToday(runtime, arguments);
  SHOAL_CHECK(name == "raise_exception");
  const Value* message = arguments.Get(0, "message");
  if (message == nullptr) return Error("the template refuses and gives no reason");
  SHOAL_ASSIGN_OR_RETURN(const MarkedString reason, Printed(*message));
  return Error("the template refuses: " + reason.text().substr(0, kMaxReasonBytes));
}

}  // namespace shoal::llm::internal
