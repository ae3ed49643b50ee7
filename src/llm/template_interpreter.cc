#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "llm/template_interpreter_internal.h"
#include "llm/template_lexer_internal.h"

namespace shoal::llm::internal {
namespace {

// Expressions in expressions, blocks in blocks and macros in macros, together: each is one call of
// ours. A macro that calls itself ends here.
constexpr int kMaxRunDepth = 200;

// The names that a part of the template sees. A loop's body has its own, which ends with each
// round; so has a macro, whose parent is the template itself.
struct Scope {
  Scope* parent = nullptr;
  std::vector<std::pair<std::string, Value>> variables = {};

  // Of this scope; null if there is none.
  const Value* Find(const std::string& name) const {
    for (const auto& [key, value] : variables) {
      if (key == name) return &value;
    }
    return nullptr;
  }

  void Set(const std::string& name, Value value) {
    for (auto& [key, old] : variables) {
      if (key != name) continue;
      old = std::move(value);
      return;
    }
    variables.emplace_back(name, std::move(value));
  }
};

enum class Flow : std::uint8_t { kNext, kBreak, kContinue };

class Interpreter {
 public:
  Interpreter(std::string_view source, TemplateRuntime& runtime, Scope& root)
      : source_(source), runtime_(runtime), root_(root) {}

  Result<Flow> Run(const Body& body, Scope& scope, MarkedString& out) {
    for (const Statement& statement : body) {
      SHOAL_ASSIGN_OR_RETURN(const Flow flow, RunStatement(statement, scope, out));
      if (flow != Flow::kNext) return flow;
    }
    return Flow::kNext;
  }

 private:
  class Deeper {
   public:
    explicit Deeper(int& depth) : depth_(++depth) {}
    ~Deeper() { --depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    int& depth_;
  };

  // Adds the place to an error that has none.
  Status At(std::size_t offset, const Status& status) const {
    return Status(status.code(),
                  std::string(TemplateError(source_, offset, status.message()).message()));
  }
  Status Error(std::size_t offset, std::string_view what) const {
    return TemplateError(source_, offset, what);
  }
  template <class T>
  Result<T> At(std::size_t offset, Result<T> result) const {
    if (!result.ok()) return At(offset, result.status());
    return result;
  }

  Status Enter(std::size_t offset) {
    if (Status spent = runtime_.SpendSteps(1); !spent.ok()) return At(offset, spent);
    if (depth_ > kMaxRunDepth) return At(offset, {Code::kResourceExhausted, "nested too deep"});
    return Status();
  }

  // --- Statements ---

  Status Write(std::size_t offset, const MarkedString& text, MarkedString& out) {
    if (Status spent = runtime_.SpendBytes(text.size()); !spent.ok()) return At(offset, spent);
    out.Append(text);
    return Status();
  }

  Result<Flow> RunStatement(const Statement& statement, Scope& scope, MarkedString& out) {
    const Deeper deeper(depth_);
    SHOAL_RETURN_IF_ERROR(Enter(statement.offset));
    switch (statement.kind) {
      case StatementKind::kText:
        SHOAL_RETURN_IF_ERROR(Write(statement.offset, statement.text, out));
        return Flow::kNext;
      case StatementKind::kPrint: {
        SHOAL_ASSIGN_OR_RETURN(const Value value, Evaluate(*statement.value, scope));
        SHOAL_ASSIGN_OR_RETURN(const MarkedString text, At(statement.offset, Printed(value)));
        SHOAL_RETURN_IF_ERROR(Write(statement.offset, text, out));
        return Flow::kNext;
      }
      case StatementKind::kIf:
        return RunIf(statement, scope, out);
      case StatementKind::kFor:
        return RunFor(statement, scope, out);
      case StatementKind::kSet:
        return RunSet(statement, scope);
      case StatementKind::kSetBlock:
        return RunSetBlock(statement, scope);
      case StatementKind::kMacro:
        scope.Set(statement.macro->name, Value(statement.macro.get()));
        return Flow::kNext;
      case StatementKind::kBlock: {
        Scope inner{.parent = &scope};
        return Run(statement.bodies[0], inner, out);
      }
      case StatementKind::kBreak:
        return Flow::kBreak;
      case StatementKind::kContinue:
        return Flow::kContinue;
    }
    return Flow::kNext;
  }

  Result<Flow> RunIf(const Statement& statement, Scope& scope, MarkedString& out) {
    for (std::size_t i = 0; i < statement.conditions.size(); ++i) {
      SHOAL_ASSIGN_OR_RETURN(const Value condition, Evaluate(*statement.conditions[i], scope));
      if (condition.IsTrue()) return Run(statement.bodies[i], scope, out);
    }
    if (statement.bodies.size() == statement.conditions.size()) return Flow::kNext;
    return Run(statement.bodies.back(), scope, out);
  }

  // A value to one name, or its elements to as many names.
  Status Assign(const Statement& statement, const Value& value, Scope& scope) {
    if (statement.names.size() == 1) {
      scope.Set(statement.names[0], value);
      return Status();
    }
    SHOAL_ASSIGN_OR_RETURN(const std::vector<Value> parts,
                           At(statement.offset, Elements(runtime_, value)));
    if (parts.size() != statement.names.size()) {
      return Error(statement.offset, std::to_string(parts.size()) + " values for " +
                                         std::to_string(statement.names.size()) + " names");
    }
    for (std::size_t i = 0; i < parts.size(); ++i) scope.Set(statement.names[i], parts[i]);
    return Status();
  }

  // The elements that the loop's own condition lets through.
  Result<std::vector<Value>> LoopElements(const Statement& statement, Scope& scope) {
    SHOAL_ASSIGN_OR_RETURN(const Value value, Evaluate(*statement.value, scope));
    SHOAL_ASSIGN_OR_RETURN(std::vector<Value> all, At(statement.offset, Elements(runtime_, value)));
    if (statement.conditions.empty()) return all;
    std::vector<Value> chosen;
    for (const Value& element : all) {
      Scope inner{.parent = &scope};
      SHOAL_RETURN_IF_ERROR(Assign(statement, element, inner));
      SHOAL_ASSIGN_OR_RETURN(const Value condition, Evaluate(*statement.conditions[0], inner));
      if (condition.IsTrue()) chosen.push_back(element);
    }
    return chosen;
  }

  // `loop`: one dictionary for all rounds.
  static void FillLoop(const std::vector<Value>& elements, std::size_t i, Dict& loop) {
    const auto index = static_cast<std::int64_t>(i);
    const auto count = static_cast<std::int64_t>(elements.size());
    const std::array<std::pair<std::string_view, Value>, 9> fields = {{
        {"index0", Value(index)},
        {"index", Value(index + 1)},
        {"revindex0", Value(count - index - 1)},
        {"revindex", Value(count - index)},
        {"first", Value(i == 0)},
        {"last", Value(i + 1 == elements.size())},
        {"length", Value(count)},
        {"previtem", i == 0 ? Value(Undefined{"previtem"}) : elements[i - 1]},
        {"nextitem", i + 1 == elements.size() ? Value(Undefined{"nextitem"}) : elements[i + 1]},
    }};
    loop.entries.clear();
    for (const auto& [name, value] : fields) {
      loop.entries.emplace_back(TemplateText(std::string(name)), value);
    }
  }

  Result<Flow> RunFor(const Statement& statement, Scope& scope, MarkedString& out) {
    SHOAL_ASSIGN_OR_RETURN(const std::vector<Value> elements, LoopElements(statement, scope));
    if (elements.empty()) {
      if (statement.bodies.size() < 2) return Flow::kNext;
      return Run(statement.bodies[1], scope, out);
    }
    Dict* loop = runtime_.heap().NewDict();
    for (std::size_t i = 0; i < elements.size(); ++i) {
      SHOAL_RETURN_IF_ERROR(Enter(statement.offset));
      Scope inner{.parent = &scope};
      FillLoop(elements, i, *loop);
      inner.Set("loop", Value(loop));
      SHOAL_RETURN_IF_ERROR(Assign(statement, elements[i], inner));
      SHOAL_ASSIGN_OR_RETURN(const Flow flow, Run(statement.bodies[0], inner, out));
      if (flow == Flow::kBreak) break;
    }
    return Flow::kNext;
  }

  Result<Flow> RunSet(const Statement& statement, Scope& scope) {
    SHOAL_ASSIGN_OR_RETURN(const Value value, Evaluate(*statement.value, scope));
    if (statement.field.empty()) {
      SHOAL_RETURN_IF_ERROR(Assign(statement, value, scope));
      return Flow::kNext;
    }
    const Value target = Lookup(statement.names[0], scope);
    if (target.AsDict() == nullptr || !target.AsDict()->is_namespace) {
      return Error(statement.offset, "'" + statement.names[0] + "' is not a namespace");
    }
    target.AsDict()->Set(TemplateText(statement.field), value);
    return Flow::kNext;
  }

  Result<Flow> RunSetBlock(const Statement& statement, Scope& scope) {
    MarkedString text;
    {
      Scope inner{.parent = &scope};
      SHOAL_ASSIGN_OR_RETURN(const Flow flow, Run(statement.bodies[0], inner, text));
      if (flow != Flow::kNext) return flow;
    }
    Value value(std::move(text));
    if (statement.value != nullptr) {
      SHOAL_ASSIGN_OR_RETURN(value, EvaluateFilter(*statement.value, scope, &value));
    }
    scope.Set(statement.names[0], std::move(value));
    return Flow::kNext;
  }

  // --- Expressions ---

  Value Lookup(const std::string& name, const Scope& scope) const {
    for (const Scope* at = &scope; at != nullptr; at = at->parent) {
      if (const Value* found = at->Find(name)) return *found;
    }
    for (const std::string_view builtin : BuiltinNames()) {
      const bool there = builtin != "strftime_now" || runtime_.today.has_value();
      if (builtin == name && there) return Builtin{builtin};
    }
    return Undefined{name};
  }

  Result<Value> Evaluate(const Expression& node, Scope& scope) {
    const Deeper deeper(depth_);
    SHOAL_RETURN_IF_ERROR(Enter(node.offset));
    switch (node.kind) {
      case ExpressionKind::kLiteral:
        return node.literal;
      case ExpressionKind::kName:
        return Lookup(node.name, scope);
      case ExpressionKind::kList:
        return EvaluateList(node, scope);
      case ExpressionKind::kDict:
        return EvaluateDict(node, scope);
      case ExpressionKind::kAttribute:
      case ExpressionKind::kItem:
        return EvaluatePart(node, scope);
      case ExpressionKind::kSlice:
        return EvaluateSlice(node, scope);
      case ExpressionKind::kCall:
        return EvaluateCall(node, scope);
      case ExpressionKind::kFilter:
        return EvaluateFilter(node, scope, nullptr);
      case ExpressionKind::kTest:
        return EvaluateTest(node, scope);
      case ExpressionKind::kNot: {
        SHOAL_ASSIGN_OR_RETURN(const Value value, Evaluate(*node.operands[0], scope));
        return Value(!value.IsTrue());
      }
      case ExpressionKind::kNegative: {
        SHOAL_ASSIGN_OR_RETURN(const Value value, Evaluate(*node.operands[0], scope));
        return At(node.offset, ApplyOperator(runtime_, "-", Value(std::int64_t{0}), value));
      }
      case ExpressionKind::kAnd:
      case ExpressionKind::kOr: {
        SHOAL_ASSIGN_OR_RETURN(Value left, Evaluate(*node.operands[0], scope));
        if (left.IsTrue() == (node.kind == ExpressionKind::kOr)) return left;
        return Evaluate(*node.operands[1], scope);
      }
      case ExpressionKind::kBinary: {
        SHOAL_ASSIGN_OR_RETURN(const Value left, Evaluate(*node.operands[0], scope));
        SHOAL_ASSIGN_OR_RETURN(const Value right, Evaluate(*node.operands[1], scope));
        return At(node.offset, ApplyOperator(runtime_, node.name, left, right));
      }
      case ExpressionKind::kCompare:
        return EvaluateCompare(node, scope);
      case ExpressionKind::kChoice:
        return EvaluateChoice(node, scope);
    }
    return Value();
  }

  Result<Value> EvaluatePart(const Expression& node, Scope& scope) {
    SHOAL_ASSIGN_OR_RETURN(const Value value, Evaluate(*node.operands[0], scope));
    if (node.kind == ExpressionKind::kAttribute) {
      return At(node.offset, GetField(value, node.name));
    }
    SHOAL_ASSIGN_OR_RETURN(const Value key, Evaluate(*node.operands[1], scope));
    return At(node.offset, GetItem(runtime_, value, key));
  }

  Result<Value> EvaluateChoice(const Expression& node, Scope& scope) {
    SHOAL_ASSIGN_OR_RETURN(const Value condition, Evaluate(*node.operands[1], scope));
    if (condition.IsTrue()) return Evaluate(*node.operands[0], scope);
    if (node.operands[2] == nullptr) return Value();
    return Evaluate(*node.operands[2], scope);
  }

  Result<Value> EvaluateList(const Expression& node, Scope& scope) {
    std::vector<Value> items;
    for (const ExpressionPointer& operand : node.operands) {
      SHOAL_ASSIGN_OR_RETURN(Value item, Evaluate(*operand, scope));
      items.push_back(std::move(item));
    }
    return Value(runtime_.heap().NewList(std::move(items)));
  }

  Result<Value> EvaluateDict(const Expression& node, Scope& scope) {
    Dict* dict = runtime_.heap().NewDict();
    for (std::size_t i = 0; i < node.operands.size(); i += 2) {
      SHOAL_ASSIGN_OR_RETURN(const Value key, Evaluate(*node.operands[i], scope));
      SHOAL_ASSIGN_OR_RETURN(Value value, Evaluate(*node.operands[i + 1], scope));
      dict->Set(key, std::move(value));
    }
    return Value(dict);
  }

  Result<Value> EvaluateSlice(const Expression& node, Scope& scope) {
    SHOAL_ASSIGN_OR_RETURN(const Value value, Evaluate(*node.operands[0], scope));
    std::array<std::optional<std::int64_t>, 3> numbers;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (node.operands[i + 1] == nullptr) continue;
      SHOAL_ASSIGN_OR_RETURN(const Value bound, Evaluate(*node.operands[i + 1], scope));
      if (bound.IsNone()) continue;
      numbers[i] = bound.Integer();
      if (!numbers[i]) return Error(node.offset, "the bounds of a slice are integers");
    }
    return At(node.offset,
              GetSlice(runtime_, value,
                       {.begin = numbers[0], .end = numbers[1], .step = numbers[2].value_or(1)}));
  }

  // The operands from the second on, and the named arguments.
  Result<Arguments> EvaluateArguments(const Expression& node, Scope& scope) {
    Arguments arguments;
    for (std::size_t i = 1; i < node.operands.size(); ++i) {
      SHOAL_ASSIGN_OR_RETURN(Value value, Evaluate(*node.operands[i], scope));
      arguments.positional.push_back(std::move(value));
    }
    for (const auto& [name, expression] : node.arguments) {
      SHOAL_ASSIGN_OR_RETURN(Value value, Evaluate(*expression, scope));
      arguments.named.emplace_back(name, std::move(value));
    }
    return arguments;
  }

  Result<Value> EvaluateCall(const Expression& node, Scope& scope) {
    const Expression& callee = *node.operands[0];
    if (callee.kind != ExpressionKind::kAttribute) {
      SHOAL_ASSIGN_OR_RETURN(const Value function, Evaluate(callee, scope));
      SHOAL_ASSIGN_OR_RETURN(const Arguments arguments, EvaluateArguments(node, scope));
      return Call(node, function, callee.name, arguments);
    }
    SHOAL_ASSIGN_OR_RETURN(const Value object, Evaluate(*callee.operands[0], scope));
    SHOAL_ASSIGN_OR_RETURN(const Arguments arguments, EvaluateArguments(node, scope));
    SHOAL_ASSIGN_OR_RETURN(std::optional<Value> answer,
                           At(node.offset, CallMethod(runtime_, object, callee.name, arguments)));
    if (answer) return *std::move(answer);
    SHOAL_ASSIGN_OR_RETURN(const Value field, At(node.offset, GetField(object, callee.name)));
    return Call(node, field, callee.name, arguments);
  }

  Result<Value> Call(const Expression& node, const Value& function, const std::string& name,
                     const Arguments& arguments) {
    if (const MacroNode* macro = function.AsMacro()) return CallMacro(node, *macro, arguments);
    if (const Builtin* builtin = function.AsBuiltin()) {
      return At(node.offset, CallBuiltin(runtime_, builtin->name, arguments));
    }
    return Error(node.offset, "'" + name + "' is not a function");
  }

  Result<Value> CallMacro(const Expression& node, const MacroNode& macro,
                          const Arguments& arguments) {
    Scope scope{.parent = &root_};
    if (arguments.positional.size() > macro.parameters.size()) {
      return Error(node.offset, "macro '" + macro.name + "' takes " +
                                    std::to_string(macro.parameters.size()) + " arguments");
    }
    for (std::size_t i = 0; i < macro.parameters.size(); ++i) {
      const MacroParameter& parameter = macro.parameters[i];
      Value value = Undefined{parameter.name};
      if (const Value* given = arguments.Get(i, parameter.name)) {
        value = *given;
      } else if (parameter.otherwise != nullptr) {
        SHOAL_ASSIGN_OR_RETURN(value, Evaluate(*parameter.otherwise, scope));
      }
      scope.Set(parameter.name, std::move(value));
    }
    MarkedString text;
    SHOAL_ASSIGN_OR_RETURN([[maybe_unused]] const Flow flow, Run(macro.body, scope, text));
    return Value(std::move(text));
  }

  // `input` replaces the innermost value of a chain of filters: what a {% set %} block printed.
  Result<Value> EvaluateFilter(const Expression& node, Scope& scope, const Value* input) {
    Value value;
    if (input != nullptr && node.operands[0] == nullptr) {
      value = *input;
    } else if (input != nullptr) {
      SHOAL_ASSIGN_OR_RETURN(value, EvaluateFilter(*node.operands[0], scope, input));
    } else {
      SHOAL_ASSIGN_OR_RETURN(value, Evaluate(*node.operands[0], scope));
    }
    SHOAL_ASSIGN_OR_RETURN(const Arguments arguments, EvaluateArguments(node, scope));
    return At(node.offset, ApplyFilter(runtime_, node.name, value, arguments));
  }

  Result<Value> EvaluateTest(const Expression& node, Scope& scope) {
    SHOAL_ASSIGN_OR_RETURN(const Value value, Evaluate(*node.operands[0], scope));
    SHOAL_ASSIGN_OR_RETURN(const Arguments arguments, EvaluateArguments(node, scope));
    SHOAL_ASSIGN_OR_RETURN(const bool holds,
                           At(node.offset, ApplyTest(node.name, value, arguments)));
    return Value(holds);
  }

  Result<bool> Compare(std::string_view name, const Value& left, const Value& right) const {
    if (name == "==") return Equal(left, right);
    if (name == "!=") return !Equal(left, right);
    if (name == "in") return IsIn(left, right);
    if (name == "not in") {
      SHOAL_ASSIGN_OR_RETURN(const bool inside, IsIn(left, right));
      return !inside;
    }
    const std::string_view test = name == "<"    ? "lt"
                                  : name == ">"  ? "gt"
                                  : name == "<=" ? "le"
                                                 : "ge";
    return ApplyTest(test, left, {.positional = {right}, .named = {}});
  }

  Result<Value> EvaluateCompare(const Expression& node, Scope& scope) {
    SHOAL_ASSIGN_OR_RETURN(Value left, Evaluate(*node.operands[0], scope));
    for (std::size_t i = 0; i < node.names.size(); ++i) {
      SHOAL_ASSIGN_OR_RETURN(Value right, Evaluate(*node.operands[i + 1], scope));
      if (const MarkedString* text = right.String()) {
        if (Status spent = runtime_.SpendSteps(text->size() / 64); !spent.ok()) {
          return At(node.offset, spent);
        }
      }
      SHOAL_ASSIGN_OR_RETURN(const bool holds,
                             At(node.offset, Compare(node.names[i], left, right)));
      if (!holds) return Value(false);
      left = std::move(right);
    }
    return Value(true);
  }

  std::string_view source_;
  TemplateRuntime& runtime_;
  Scope& root_;
  int depth_ = 0;
};

}  // namespace

Result<MarkedString> RunTemplate(std::string_view source, const Body& body,
                                 TemplateRuntime& runtime,
                                 std::vector<std::pair<std::string, Value>> variables) {
  Scope root{.variables = std::move(variables)};
  MarkedString out;
  SHOAL_ASSIGN_OR_RETURN([[maybe_unused]] const Flow flow,
                         Interpreter(source, runtime, root).Run(body, root, out));
  return out;
}

}  // namespace shoal::llm::internal
