// The parts of a parsed template.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "llm/template_value_internal.h"

namespace shoal::llm::internal {

enum class ExpressionKind : std::uint8_t {
  kLiteral,    // literal
  kName,       // name
  kList,       // operands
  kDict,       // operands: key, value, key, value ...
  kAttribute,  // operands[0].name
  kItem,       // operands[0][operands[1]]
  kSlice,      // operands[0][operands[1]:operands[2]:operands[3]], each of the three may be null
  kCall,       // operands[0](operands[1...], arguments)
  kFilter,     // operands[0]|name(operands[1...], arguments)
  kTest,       // operands[0] is name(operands[1...])
  kNot,        // operands[0]
  kNegative,   // operands[0]
  kAnd,        // operands[0], operands[1]
  kOr,
  kBinary,   // operands[0] name operands[1], name is + - * / // % ** ~
  kCompare,  // operands[0] names[0] operands[1] names[1] ...
  kChoice,   // operands[0] if operands[1] else operands[2], which may be null
};

struct Expression;
using ExpressionPointer = std::unique_ptr<const Expression>;

struct Expression {
  ExpressionKind kind = ExpressionKind::kLiteral;
  std::size_t offset = 0;
  Value literal = {};
  std::string name = {};
  std::vector<std::string> names = {};
  std::vector<ExpressionPointer> operands = {};
  std::vector<std::pair<std::string, ExpressionPointer>> arguments = {};  // name=value
};

enum class StatementKind : std::uint8_t {
  kText,      // text
  kPrint,     // value
  kIf,        // branches: conditions[i] with bodies[i]; one more body is the else
  kFor,       // for names in value if conditions[0]: bodies[0] else bodies[1]
  kSet,       // names = value; with `field`: names[0].field = value
  kSetBlock,  // names[0] = what bodies[0] prints, through `value`'s filters if it is there
  kMacro,     // macro
  kBlock,     // bodies[0], in its own scope: {% generation %}
  kBreak,
  kContinue,
};

struct Statement;
using Body = std::vector<Statement>;

struct MacroParameter {
  std::string name;
  ExpressionPointer otherwise;  // Null: undefined if not given.
};

struct MacroNode {
  std::string name;
  std::vector<MacroParameter> parameters;
  Body body;
};

struct Statement {
  StatementKind kind = StatementKind::kText;
  std::size_t offset = 0;
  MarkedString text = {};
  ExpressionPointer value = {};
  std::vector<std::string> names = {};
  std::string field = {};
  std::vector<ExpressionPointer> conditions = {};
  std::vector<Body> bodies = {};
  std::unique_ptr<const MacroNode> macro = {};
};

}  // namespace shoal::llm::internal
