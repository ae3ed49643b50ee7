#include <algorithm>
#include <charconv>
#include <cmath>

#include "llm/template_value_internal.h"
#include "llm/utf8.h"

namespace shoal::llm::internal {
namespace {

std::string PrintedFloat(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto [end, error] = std::to_chars(std::begin(buffer), std::end(buffer), value);
  std::string text(std::begin(buffer), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// A text as Python writes it inside a list.
MarkedString Repr(const MarkedString& text) {
  const bool has_single = text.text().find('\'') != std::string::npos;
  const bool has_double = text.text().find('"') != std::string::npos;
  const std::string quote = has_single && !has_double ? "\"" : "'";
  MarkedString out(quote, Origin::kUser);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text.text()[i];
    const Origin origin = text.OriginAt(i);
    switch (c) {
      case '\n':
        out.Append("\\n", origin);
        break;
      case '\t':
        out.Append("\\t", origin);
        break;
      case '\r':
        out.Append("\\r", origin);
        break;
      case '\\':
        out.Append("\\\\", origin);
        break;
      default:
        if (c == quote[0]) out.Append("\\", origin);
        out.Append({&c, 1}, origin);
    }
  }
  out.Append(quote, Origin::kUser);
  return out;
}

// Counts what a printer writes. Brackets and quotes count as the user's, too: nothing is lost, and
// no mistake can give them a meaning.
class LimitedOutput {
 public:
  MarkedString Take() { return std::move(out_); }

 protected:
  void Put(std::string_view text) { out_.Append(text, Origin::kUser); }
  MarkedString& out() { return out_; }

  // Before each part of a value.
  Status Count(int depth) {
    ++parts_;
    if (depth <= kMaxValueDepth && parts_ <= kMaxValueParts && out_.size() <= kMaxValueBytes) {
      return Status();
    }
    return Status(Code::kResourceExhausted, "this value is too large to be written");
  }

 private:
  std::size_t parts_ = 0;
  MarkedString out_;
};

class Printer : public LimitedOutput {
 public:
  Status Print(const Value& value, bool nested, int depth) {
    SHOAL_RETURN_IF_ERROR(Count(depth));
    if (const MarkedString* text = value.String()) {
      out().Append(nested ? Repr(*text) : *text);
    } else if (const bool* flag = value.AsBool()) {
      Put(*flag ? "True" : "False");
    } else if (const auto integer = value.Integer()) {
      Put(std::to_string(*integer));
    } else if (const double* number = value.AsFloat()) {
      Put(PrintedFloat(*number));
    } else if (value.IsNone()) {
      Put("None");
    } else if (const List* list = value.AsList()) {
      return PrintList(*list, depth);
    } else if (const Dict* dict = value.AsDict()) {
      return PrintDict(*dict, depth);
    }
    return Status();
  }

 private:
  Status PrintList(const List& list, int depth) {
    Put("[");
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) Put(", ");
      SHOAL_RETURN_IF_ERROR(Print(list.items[i], true, depth + 1));
    }
    Put("]");
    return Status();
  }

  Status PrintDict(const Dict& dict, int depth) {
    Put("{");
    bool first = true;
    for (const auto& [key, value] : dict.entries) {
      if (!std::exchange(first, false)) Put(", ");
      SHOAL_RETURN_IF_ERROR(Print(key, true, depth + 1));
      Put(": ");
      SHOAL_RETURN_IF_ERROR(Print(value, true, depth + 1));
    }
    Put("}");
    return Status();
  }
};

class JsonPrinter : public LimitedOutput {
 public:
  explicit JsonPrinter(const JsonStyle& style) : style_(style) {}

  Status Print(const Value& value, int depth) {
    SHOAL_RETURN_IF_ERROR(Count(depth));
    if (const MarkedString* text = value.String()) {
      PrintString(*text);
    } else if (const bool* flag = value.AsBool()) {
      Put(*flag ? "true" : "false");
    } else if (const auto integer = value.Integer()) {
      Put(std::to_string(*integer));
    } else if (const double* number = value.AsFloat()) {
      Put(PrintedFloat(*number));
    } else if (value.IsNone()) {
      Put("null");
    } else if (const List* list = value.AsList()) {
      return PrintList(*list, depth);
    } else if (const Dict* dict = value.AsDict()) {
      return PrintDict(*dict, depth);
    } else {
      return Error("a value of type " + std::string(value.TypeName()) + " has no JSON form");
    }
    return Status();
  }

 private:
  static Status Error(std::string what) {
    return Status(Code::kInvalidArgument, "tojson: " + std::move(what));
  }

  void NewLine(int depth) {
    if (!style_.indent) return;
    const std::size_t width = std::min<std::size_t>(*style_.indent, 16);
    Put("\n" + std::string(width * static_cast<std::size_t>(depth), ' '));
  }

  void Separate(bool first, int depth) {
    if (!first) Put(style_.indent ? "," : ", ");
    NewLine(depth);
  }

  void PrintString(const MarkedString& text) {
    Put("\"");
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text.text()[i];
      out().Append(Escaped(c), text.OriginAt(i));
    }
    Put("\"");
  }

  static std::string Escaped(char c) {
    switch (c) {
      case '"':
        return "\\\"";
      case '\\':
        return "\\\\";
      case '\n':
        return "\\n";
      case '\r':
        return "\\r";
      case '\t':
        return "\\t";
      case '\b':
        return "\\b";
      case '\f':
        return "\\f";
      default:
        break;
    }
    if (static_cast<unsigned char>(c) >= 0x20) return {c};
    static constexpr std::string_view kDigits = "0123456789abcdef";
    return std::string("\\u00") + kDigits[static_cast<unsigned char>(c) / 16] +
           kDigits[static_cast<unsigned char>(c) % 16];
  }

  Status PrintList(const List& list, int depth) {
    Put("[");
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      Separate(i == 0, depth + 1);
      SHOAL_RETURN_IF_ERROR(Print(list.items[i], depth + 1));
    }
    if (!list.items.empty()) NewLine(depth);
    Put("]");
    return Status();
  }

  Status PrintDict(const Dict& dict, int depth) {
    auto entries = dict.entries;
    if (style_.sort_keys) {
      std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
        return Less(a.first, b.first).value_or(false);
      });
    }
    Put("{");
    bool first = true;
    for (const auto& [key, value] : entries) {
      Separate(std::exchange(first, false), depth + 1);
      if (key.String() == nullptr) return Error("a key is not a text");
      PrintString(*key.String());
      Put(": ");
      SHOAL_RETURN_IF_ERROR(Print(value, depth + 1));
    }
    if (!entries.empty()) NewLine(depth);
    Put("}");
    return Status();
  }

  JsonStyle style_;
};

// Compares two values part by part.
class Comparison {
 public:
  bool Equal(const Value& a, const Value& b, int depth) {
    if (depth > kMaxValueDepth || ++parts_ > kMaxValueParts) return false;
    if (a.IsNumber() && b.IsNumber()) return *a.Number() == *b.Number();
    if (a.String() != nullptr && b.String() != nullptr) {
      return a.String()->text() == b.String()->text();
    }
    if (a.AsList() != nullptr && b.AsList() != nullptr) {
      return Equal(*a.AsList(), *b.AsList(), depth);
    }
    if (a.AsDict() != nullptr && b.AsDict() != nullptr) {
      return Equal(*a.AsDict(), *b.AsDict(), depth);
    }
    if (a.AsMacro() != nullptr) return a.AsMacro() == b.AsMacro();
    return (a.IsNone() && b.IsNone()) || (a.IsUndefined() && b.IsUndefined());
  }

 private:
  bool Equal(const List& a, const List& b, int depth) {
    return &a == &b ||
           std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
                      [&](const Value& x, const Value& y) { return Equal(x, y, depth + 1); });
  }

  bool Equal(const Dict& a, const Dict& b, int depth) {
    if (&a == &b) return true;
    return a.entries.size() == b.entries.size() &&
           std::all_of(a.entries.begin(), a.entries.end(), [&](const auto& entry) {
             const Value* other = Find(b, entry.first, depth);
             return other != nullptr && Equal(entry.second, *other, depth + 1);
           });
  }

  const Value* Find(const Dict& dict, const Value& key, int depth) {
    for (const auto& [name, value] : dict.entries) {
      if (Equal(name, key, depth + 1)) return &value;
    }
    return nullptr;
  }

  std::size_t parts_ = 0;
};

}  // namespace

const Value* Dict::Find(std::string_view key) const {
  for (const auto& [name, value] : entries) {
    if (name.String() != nullptr && name.String()->text() == key) return &value;
  }
  return nullptr;
}

const Value* Dict::Find(const Value& key) const {
  for (const auto& [name, value] : entries) {
    if (Equal(name, key)) return &value;
  }
  return nullptr;
}

void Dict::Set(const Value& key, Value value) {
  for (auto& [name, old] : entries) {
    if (!Equal(name, key)) continue;
    old = std::move(value);
    return;
  }
  entries.emplace_back(key, std::move(value));
}

std::optional<std::int64_t> Value::Integer() const {
  if (const bool* flag = AsBool()) return *flag ? 1 : 0;
  if (const auto* integer = std::get_if<std::int64_t>(&data_)) return *integer;
  return std::nullopt;
}

std::optional<double> Value::Number() const {
  if (const auto integer = Integer()) return static_cast<double>(*integer);
  if (const double* number = AsFloat()) return *number;
  return std::nullopt;
}

const MarkedString* Value::String() const {
  const auto* text = std::get_if<std::shared_ptr<const MarkedString>>(&data_);
  return text == nullptr ? nullptr : text->get();
}

List* Value::AsList() const {
  List* const* list = std::get_if<List*>(&data_);
  return list == nullptr ? nullptr : *list;
}

Dict* Value::AsDict() const {
  Dict* const* dict = std::get_if<Dict*>(&data_);
  return dict == nullptr ? nullptr : *dict;
}

const MacroNode* Value::AsMacro() const {
  const MacroNode* const* macro = std::get_if<const MacroNode*>(&data_);
  return macro == nullptr ? nullptr : *macro;
}

bool Value::IsTrue() const {
  if (IsUndefined() || IsNone()) return false;
  if (const auto number = Number()) return *number != 0;
  if (const MarkedString* text = String()) return !text->empty();
  if (const List* list = AsList()) return !list->items.empty();
  if (const Dict* dict = AsDict()) return dict->is_namespace || !dict->entries.empty();
  return true;
}

std::string_view Value::TypeName() const {
  static constexpr std::string_view kNames[] = {"undefined", "None", "bool", "int",   "float",
                                                "str",       "list", "dict", "macro", "function"};
  return kNames[data_.index()];
}

List* TemplateHeap::NewList(std::vector<Value> items) {
  return &lists_.emplace_back(List{std::move(items)});
}

Dict* TemplateHeap::NewDict() { return &dicts_.emplace_back(); }

bool Equal(const Value& a, const Value& b) { return Comparison().Equal(a, b, 0); }

std::optional<bool> Less(const Value& a, const Value& b) {
  if (a.IsNumber() && b.IsNumber()) return *a.Number() < *b.Number();
  if (a.String() != nullptr && b.String() != nullptr)
    return a.String()->text() < b.String()->text();
  return std::nullopt;
}

Result<MarkedString> Printed(const Value& value) {
  Printer printer;
  SHOAL_RETURN_IF_ERROR(printer.Print(value, false, 0));
  return printer.Take();
}

Result<MarkedString> ToJson(const Value& value, const JsonStyle& style) {
  JsonPrinter printer(style);
  SHOAL_RETURN_IF_ERROR(printer.Print(value, 0));
  return printer.Take();
}

Result<Value> FromJson(const nlohmann::ordered_json& json, TemplateHeap& heap, int depth) {
  if (depth > kMaxValueDepth) {
    return Status(Code::kInvalidArgument, "the JSON is nested too deep");
  }
  if (json.is_string()) return Value(MarkedString(json.get<std::string>(), Origin::kUser));
  if (json.is_boolean()) return Value(json.get<bool>());
  if (json.is_number_integer()) return Value(json.get<std::int64_t>());
  if (json.is_number_float()) return Value(json.get<double>());
  if (json.is_array()) {
    List* list = heap.NewList();
    for (const auto& item : json) {
      SHOAL_ASSIGN_OR_RETURN(Value value, FromJson(item, heap, depth + 1));
      list->items.push_back(std::move(value));
    }
    return Value(list);
  }
  if (json.is_object()) {
    Dict* dict = heap.NewDict();
    for (const auto& [key, item] : json.items()) {
      SHOAL_ASSIGN_OR_RETURN(Value value, FromJson(item, heap, depth + 1));
      dict->entries.emplace_back(MarkedString(key, Origin::kUser), std::move(value));
    }
    return Value(dict);
  }
  return Value(None{});
}

}  // namespace shoal::llm::internal
