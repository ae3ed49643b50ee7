#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <span>
#include <utility>

#include "llm/template_lexer_internal.h"
#include "llm/template_parser_internal.h"

namespace shoal::llm::internal {
namespace {

using Pointer = ExpressionPointer;

// Left-associative operators, by how tightly they bind.
constexpr std::string_view kSums[] = {"+", "-"};
constexpr std::string_view kConcatenations[] = {"~"};
constexpr std::string_view kProducts[] = {"*", "/", "//", "%"};
constexpr std::string_view kPowers[] = {"**"};
constexpr std::string_view kComparisons[] = {"==", "!=", "<", ">", "<=", ">="};

template <class Texts>
bool Contains(const Texts& texts, std::string_view text) {
  return std::find(std::begin(texts), std::end(texts), text) != std::end(texts);
}

class Parser {
 public:
  Parser(std::string_view source, std::vector<TemplateToken> tokens)
      : source_(source), tokens_(std::move(tokens)) {}

  Result<Body> Run() {
    SHOAL_ASSIGN_OR_RETURN(Body body, ParseBody({}));
    return body;
  }

 private:
  // Counts how deep we are while it lives.
  class Depth {
   public:
    explicit Depth(int& depth) : depth_(++depth) {}
    ~Depth() { --depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

   private:
    int& depth_;
  };

  const TemplateToken& Now() const { return tokens_[at_]; }
  const TemplateToken& Next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  void Advance() { at_ = std::min(at_ + 1, tokens_.size() - 1); }

  bool IsOperator(std::string_view text) const {
    return Now().kind == TokenKind::kOperator && Now().text == text;
  }
  bool IsName(std::string_view text) const {
    return Now().kind == TokenKind::kName && Now().text == text;
  }
  bool TakeOperator(std::string_view text) {
    if (!IsOperator(text)) return false;
    Advance();
    return true;
  }
  bool TakeName(std::string_view text) {
    if (!IsName(text)) return false;
    Advance();
    return true;
  }

  Status Error(std::string_view what) const { return TemplateError(source_, Now().offset, what); }

  Status Expect(std::string_view op) {
    if (TakeOperator(op)) return Status();
    return Error("'" + std::string(op) + "' is missing here");
  }

  Status ExpectKind(TokenKind kind, std::string_view what) {
    if (Now().kind != kind) return Error(std::string(what) + " is missing here");
    Advance();
    return Status();
  }

  Status EndBlock() { return ExpectKind(TokenKind::kBlockEnd, "'%}'"); }

  Result<std::string> ExpectName() {
    if (Now().kind != TokenKind::kName) return Error("a name is missing here");
    std::string name = Now().text;
    Advance();
    return name;
  }

  Status CheckDepth() const {
    if (depth_ <= kMaxTemplateDepth) return Status();
    return Error("nested more than " + std::to_string(kMaxTemplateDepth) + " deep");
  }

  // --- Statements ---

  // Up to a block tag that begins with one of `ends`, whose name is then the current token; to the
  // end of the template if there are none.
  Result<Body> ParseBody(std::initializer_list<std::string_view> ends) {
    const Depth deeper(depth_);
    SHOAL_RETURN_IF_ERROR(CheckDepth());
    Body body;
    while (Now().kind != TokenKind::kEnd) {
      if (Now().kind == TokenKind::kBlockBegin && Next().kind == TokenKind::kName &&
          Contains(ends, Next().text)) {
        Advance();
        return body;
      }
      SHOAL_ASSIGN_OR_RETURN(Statement statement, ParseStatement());
      body.push_back(std::move(statement));
    }
    if (ends.size() > 0) {
      return Error("the template ends, but '" + std::string(*(ends.end() - 1)) + "' is missing");
    }
    return body;
  }

  Result<Statement> ParseStatement() {
    Statement statement;
    statement.offset = Now().offset;
    if (Now().kind == TokenKind::kText) {
      statement.kind = StatementKind::kText;
      statement.text = MarkedString(Now().text, Origin::kTemplate);
      Advance();
      return statement;
    }
    if (Now().kind == TokenKind::kPrintBegin) {
      Advance();
      statement.kind = StatementKind::kPrint;
      SHOAL_ASSIGN_OR_RETURN(statement.value, ParseTuple());
      SHOAL_RETURN_IF_ERROR(ExpectKind(TokenKind::kPrintEnd, "'}}'"));
      return statement;
    }
    Advance();  // {%
    SHOAL_ASSIGN_OR_RETURN(const std::string name, ExpectName());
    SHOAL_RETURN_IF_ERROR(ParseBlock(name, statement));
    return statement;
  }

  Status ParseBlock(const std::string& name, Statement& statement) {
    if (name == "if") return ParseIf(statement);
    if (name == "for") return ParseFor(statement);
    if (name == "set") return ParseSet(statement);
    if (name == "macro") return ParseMacro(statement);
    if (name == "generation") return ParseGeneration(statement);
    if (name == "break" || name == "continue") {
      if (loops_ == 0) return Error("'" + name + "' outside a loop");
      statement.kind = name == "break" ? StatementKind::kBreak : StatementKind::kContinue;
      return EndBlock();
    }
    --at_;
    return Error("'" + name + "' is not a statement that is supported here");
  }

  Status ParseIf(Statement& statement) {
    statement.kind = StatementKind::kIf;
    bool more = true;
    while (more) {
      SHOAL_ASSIGN_OR_RETURN(Pointer condition, ParseTuple());
      SHOAL_RETURN_IF_ERROR(EndBlock());
      SHOAL_ASSIGN_OR_RETURN(Body body, ParseBody({"elif", "else", "endif"}));
      statement.conditions.push_back(std::move(condition));
      statement.bodies.push_back(std::move(body));
      more = TakeName("elif");
    }
    if (TakeName("else")) {
      SHOAL_RETURN_IF_ERROR(EndBlock());
      SHOAL_ASSIGN_OR_RETURN(Body body, ParseBody({"endif"}));
      statement.bodies.push_back(std::move(body));
    }
    Advance();  // endif
    return EndBlock();
  }

  Result<std::vector<std::string>> ParseTargets() {
    std::vector<std::string> names;
    const bool bracketed = TakeOperator("(");
    do {
      SHOAL_ASSIGN_OR_RETURN(std::string name, ExpectName());
      names.push_back(std::move(name));
    } while (TakeOperator(","));
    if (bracketed) SHOAL_RETURN_IF_ERROR(Expect(")"));
    return names;
  }

  Status ParseFor(Statement& statement) {
    statement.kind = StatementKind::kFor;
    SHOAL_ASSIGN_OR_RETURN(statement.names, ParseTargets());
    if (!TakeName("in")) return Error("'in' is missing here");
    // Not a whole expression: the `if` of a loop is its filter.
    SHOAL_ASSIGN_OR_RETURN(statement.value, ParseOr());
    if (TakeName("if")) {
      SHOAL_ASSIGN_OR_RETURN(Pointer condition, ParseExpression());
      statement.conditions.push_back(std::move(condition));
    }
    if (IsName("recursive")) return Error("recursive loops are not supported");
    SHOAL_RETURN_IF_ERROR(EndBlock());
    ++loops_;
    SHOAL_ASSIGN_OR_RETURN(Body body, ParseBody({"else", "endfor"}));
    --loops_;
    statement.bodies.push_back(std::move(body));
    if (TakeName("else")) {
      SHOAL_RETURN_IF_ERROR(EndBlock());
      SHOAL_ASSIGN_OR_RETURN(Body otherwise, ParseBody({"endfor"}));
      statement.bodies.push_back(std::move(otherwise));
    }
    Advance();  // endfor
    return EndBlock();
  }

  Status ParseSet(Statement& statement) {
    statement.kind = StatementKind::kSet;
    SHOAL_ASSIGN_OR_RETURN(statement.names, ParseTargets());
    if (TakeOperator(".")) {
      SHOAL_ASSIGN_OR_RETURN(statement.field, ExpectName());
    }
    if (TakeOperator("=")) {
      SHOAL_ASSIGN_OR_RETURN(statement.value, ParseTuple());
      return EndBlock();
    }
    statement.kind = StatementKind::kSetBlock;
    if (statement.names.size() != 1 || !statement.field.empty())
      return Error("'=' is missing here");
    if (IsOperator("|")) {
      SHOAL_ASSIGN_OR_RETURN(statement.value, ParseFilters(nullptr));
    }
    SHOAL_RETURN_IF_ERROR(EndBlock());
    SHOAL_ASSIGN_OR_RETURN(Body body, ParseBody({"endset"}));
    statement.bodies.push_back(std::move(body));
    Advance();  // endset
    return EndBlock();
  }

  Status ParseMacro(Statement& statement) {
    statement.kind = StatementKind::kMacro;
    auto macro = std::make_unique<MacroNode>();
    SHOAL_ASSIGN_OR_RETURN(macro->name, ExpectName());
    SHOAL_RETURN_IF_ERROR(Expect("("));
    while (!TakeOperator(")")) {
      MacroParameter parameter;
      SHOAL_ASSIGN_OR_RETURN(parameter.name, ExpectName());
      if (TakeOperator("=")) {
        SHOAL_ASSIGN_OR_RETURN(parameter.otherwise, ParseExpression());
      }
      macro->parameters.push_back(std::move(parameter));
      if (!IsOperator(")")) SHOAL_RETURN_IF_ERROR(Expect(","));
    }
    SHOAL_RETURN_IF_ERROR(EndBlock());
    const int loops = std::exchange(loops_, 0);
    SHOAL_ASSIGN_OR_RETURN(macro->body, ParseBody({"endmacro"}));
    loops_ = loops;
    Advance();                                      // endmacro
    if (Now().kind == TokenKind::kName) Advance();  // Its name again.
    statement.macro = std::move(macro);
    return EndBlock();
  }

  // Hugging Face's own tag: it marks what the assistant said, for training.
  Status ParseGeneration(Statement& statement) {
    statement.kind = StatementKind::kBlock;
    SHOAL_RETURN_IF_ERROR(EndBlock());
    SHOAL_ASSIGN_OR_RETURN(Body body, ParseBody({"endgeneration"}));
    statement.bodies.push_back(std::move(body));
    Advance();
    return EndBlock();
  }

  // --- Expressions, from what binds least to what binds most ---

  std::unique_ptr<Expression> New(ExpressionKind kind) const {
    auto node = std::make_unique<Expression>();
    node->kind = kind;
    node->offset = Now().offset;
    return node;
  }

  // "a, b" without brackets is a list of two.
  Result<Pointer> ParseTuple() {
    auto tuple = New(ExpressionKind::kList);
    SHOAL_ASSIGN_OR_RETURN(Pointer first, ParseExpression());
    if (!IsOperator(",")) return first;
    tuple->operands.push_back(std::move(first));
    while (TakeOperator(",")) {
      SHOAL_ASSIGN_OR_RETURN(Pointer next, ParseExpression());
      tuple->operands.push_back(std::move(next));
    }
    return Pointer(std::move(tuple));
  }

  Result<Pointer> ParseExpression() {
    const Depth deeper(depth_);
    SHOAL_RETURN_IF_ERROR(CheckDepth());
    SHOAL_ASSIGN_OR_RETURN(Pointer value, ParseOr());
    int choices = 0;
    while (IsName("if")) {
      if (++choices > kMaxTemplateDepth) return Error("too many 'if' in one expression");
      auto choice = New(ExpressionKind::kChoice);
      Advance();
      SHOAL_ASSIGN_OR_RETURN(Pointer condition, ParseOr());
      Pointer otherwise;
      if (TakeName("else")) {
        SHOAL_ASSIGN_OR_RETURN(otherwise, ParseExpression());
      }
      choice->operands.push_back(std::move(value));
      choice->operands.push_back(std::move(condition));
      choice->operands.push_back(std::move(otherwise));
      value = std::move(choice);
    }
    return value;
  }

  // "a op b op c" over what `parse` gives, where `matches` takes an operator. Long chains nest
  // to the left; they count as depth, because they are evaluated by recursion.
  template <class Parse, class Take>
  Result<Pointer> ParseChain(ExpressionKind kind, const Parse& parse, const Take& take) {
    SHOAL_ASSIGN_OR_RETURN(Pointer left, parse());
    int links = 0;
    while (true) {
      auto node = New(kind);
      if (!take(*node)) return left;
      if (++links > kMaxChain) return Error("an expression with too many operators");
      SHOAL_ASSIGN_OR_RETURN(Pointer right, parse());
      node->operands.push_back(std::move(left));
      node->operands.push_back(std::move(right));
      left = std::move(node);
    }
  }

  auto TakeOneOf(std::span<const std::string_view> operators) {
    return [this, operators](Expression& node) {
      if (Now().kind != TokenKind::kOperator || !Contains(operators, Now().text)) {
        return false;
      }
      node.name = Now().text;
      Advance();
      return true;
    };
  }

  Result<Pointer> ParseOr() {
    return ParseChain(
        ExpressionKind::kOr, [this] { return ParseAnd(); },
        [this](Expression&) { return TakeName("or"); });
  }

  Result<Pointer> ParseAnd() {
    return ParseChain(
        ExpressionKind::kAnd, [this] { return ParseNot(); },
        [this](Expression&) { return TakeName("and"); });
  }

  Result<Pointer> ParseNot() {
    if (!IsName("not")) return ParseCompare();
    const Depth deeper(depth_);
    SHOAL_RETURN_IF_ERROR(CheckDepth());
    auto node = New(ExpressionKind::kNot);
    Advance();
    SHOAL_ASSIGN_OR_RETURN(Pointer operand, ParseNot());
    node->operands.push_back(std::move(operand));
    return Pointer(std::move(node));
  }

  // "in", "not in", "==" and so on, or nothing.
  std::string TakeComparison() {
    if (Now().kind == TokenKind::kOperator && Contains(kComparisons, Now().text)) {
      std::string op = Now().text;
      Advance();
      return op;
    }
    if (TakeName("in")) return "in";
    if (IsName("not") && Next().kind == TokenKind::kName && Next().text == "in") {
      Advance();
      Advance();
      return "not in";
    }
    return {};
  }

  Result<Pointer> ParseCompare() {
    auto node = New(ExpressionKind::kCompare);
    SHOAL_ASSIGN_OR_RETURN(Pointer first, ParseSum());
    node->operands.push_back(std::move(first));
    for (std::string op = TakeComparison(); !op.empty(); op = TakeComparison()) {
      SHOAL_ASSIGN_OR_RETURN(Pointer next, ParseSum());
      node->names.push_back(std::move(op));
      node->operands.push_back(std::move(next));
    }
    if (node->names.empty()) return std::move(node->operands[0]);
    return Pointer(std::move(node));
  }

  Result<Pointer> ParseSum() {
    return ParseChain(
        ExpressionKind::kBinary, [this] { return ParseConcatenation(); }, TakeOneOf(kSums));
  }

  Result<Pointer> ParseConcatenation() {
    return ParseChain(
        ExpressionKind::kBinary, [this] { return ParseProduct(); }, TakeOneOf(kConcatenations));
  }

  Result<Pointer> ParseProduct() {
    return ParseChain(
        ExpressionKind::kBinary, [this] { return ParsePower(); }, TakeOneOf(kProducts));
  }

  Result<Pointer> ParsePower() {
    return ParseChain(
        ExpressionKind::kBinary, [this] { return ParseUnary(Filters::kTake); }, TakeOneOf(kPowers));
  }

  // Filters and tests bind less than a sign: "-3|abs" is 3.
  enum class Filters : std::uint8_t { kTake, kLeave };

  Result<Pointer> ParseUnary(Filters filters) {
    const Depth deeper(depth_);
    SHOAL_RETURN_IF_ERROR(CheckDepth());
    Pointer value;
    if (IsOperator("-") || IsOperator("+")) {
      auto node = New(ExpressionKind::kNegative);
      const bool negative = IsOperator("-");
      Advance();
      SHOAL_ASSIGN_OR_RETURN(value, ParseUnary(Filters::kLeave));
      if (negative) {
        node->operands.push_back(std::move(value));
        value = std::move(node);
      }
    } else {
      SHOAL_ASSIGN_OR_RETURN(value, ParsePrimary());
    }
    return ParsePostfix(std::move(value), filters);
  }

  // Attributes, items, calls, and filters and tests, behind a value.
  Result<Pointer> ParsePostfix(Pointer value, Filters filters) {
    for (int links = 0; StartsPostfix(filters); ++links) {
      if (links > kMaxChain) return Error("an expression with too many parts");
      SHOAL_ASSIGN_OR_RETURN(value, ParseOnePostfix(std::move(value)));
    }
    return value;
  }

  bool StartsPostfix(Filters filters) const {
    return IsOperator(".") || IsOperator("[") || IsOperator("(") ||
           (filters == Filters::kTake && (IsOperator("|") || IsName("is")));
  }

  // REQUIRES: StartsPostfix(kTake).
  Result<Pointer> ParseOnePostfix(Pointer value) {
    if (IsOperator(".")) return ParseAttribute(std::move(value));
    if (IsOperator("[")) return ParseSubscript(std::move(value));
    if (IsOperator("|")) return ParseFilter(std::move(value));
    if (IsName("is")) return ParseTest(std::move(value));
    auto call = New(ExpressionKind::kCall);
    call->operands.push_back(std::move(value));
    SHOAL_RETURN_IF_ERROR(ParseArguments(*call));
    return Pointer(std::move(call));
  }

  Result<Pointer> ParseAttribute(Pointer value) {
    auto node = New(ExpressionKind::kAttribute);
    Advance();
    if (Now().kind == TokenKind::kInteger) {  // a.0 is a[0]
      node->kind = ExpressionKind::kItem;
      node->operands.push_back(std::move(value));
      SHOAL_ASSIGN_OR_RETURN(Pointer index, ParsePrimary());
      node->operands.push_back(std::move(index));
      return Pointer(std::move(node));
    }
    SHOAL_ASSIGN_OR_RETURN(node->name, ExpectName());
    node->operands.push_back(std::move(value));
    return Pointer(std::move(node));
  }

  Result<Pointer> ParseSubscript(Pointer value) {
    auto node = New(ExpressionKind::kItem);
    Advance();  // [
    node->operands.push_back(std::move(value));
    for (int part = 0; part < 3; ++part) {
      Pointer bound;
      if (!IsOperator(":") && !IsOperator("]")) {
        SHOAL_ASSIGN_OR_RETURN(bound, ParseExpression());
      }
      node->operands.push_back(std::move(bound));
      if (!TakeOperator(":")) break;
      node->kind = ExpressionKind::kSlice;
    }
    if (node->kind == ExpressionKind::kItem && node->operands[1] == nullptr) {
      return Error("an index is missing here");
    }
    if (node->kind == ExpressionKind::kSlice) node->operands.resize(4);
    SHOAL_RETURN_IF_ERROR(Expect("]"));
    return Pointer(std::move(node));
  }

  // "(a, b, name=c)" into the operands and arguments of `node`.
  Status ParseArguments(Expression& node) {
    SHOAL_RETURN_IF_ERROR(Expect("("));
    while (!TakeOperator(")")) {
      const bool named = Now().kind == TokenKind::kName && Next().kind == TokenKind::kOperator &&
                         Next().text == "=";
      std::string name;
      if (named) {
        name = Now().text;
        Advance();
        Advance();
      }
      SHOAL_ASSIGN_OR_RETURN(Pointer value, ParseExpression());
      if (named) {
        node.arguments.emplace_back(std::move(name), std::move(value));
      } else {
        node.operands.push_back(std::move(value));
      }
      if (!IsOperator(")")) SHOAL_RETURN_IF_ERROR(Expect(","));
    }
    return Status();
  }

  // `value` may be null: the input of a {% set %} block.
  Result<Pointer> ParseFilter(Pointer value) {
    Advance();  // |
    auto node = New(ExpressionKind::kFilter);
    SHOAL_ASSIGN_OR_RETURN(node->name, ExpectName());
    node->operands.push_back(std::move(value));
    if (IsOperator("(")) SHOAL_RETURN_IF_ERROR(ParseArguments(*node));
    return Pointer(std::move(node));
  }

  Result<Pointer> ParseFilters(Pointer value) {
    for (int links = 0; IsOperator("|"); ++links) {
      if (links > kMaxChain) return Error("too many filters");
      SHOAL_ASSIGN_OR_RETURN(value, ParseFilter(std::move(value)));
    }
    return value;
  }

  Result<Pointer> ParseTest(Pointer value) {
    Advance();  // is
    auto negation = New(ExpressionKind::kNot);
    const bool negated = TakeName("not");
    auto node = New(ExpressionKind::kTest);
    SHOAL_ASSIGN_OR_RETURN(node->name, ExpectName());
    node->operands.push_back(std::move(value));
    if (IsOperator("(")) {
      SHOAL_RETURN_IF_ERROR(ParseArguments(*node));
    } else if (StartsTestArgument()) {  // "is divisibleby 3"
      const Depth deeper(depth_);
      SHOAL_RETURN_IF_ERROR(CheckDepth());
      SHOAL_ASSIGN_OR_RETURN(Pointer argument, ParsePrimary());
      node->operands.push_back(std::move(argument));
    }
    if (!negated) return Pointer(std::move(node));
    negation->operands.push_back(std::move(node));
    return Pointer(std::move(negation));
  }

  bool StartsTestArgument() const {
    switch (Now().kind) {
      case TokenKind::kString:
      case TokenKind::kInteger:
      case TokenKind::kFloat:
        return true;
      case TokenKind::kOperator:
        return Now().text == "[" || Now().text == "{";
      case TokenKind::kName: {
        static constexpr std::string_view kOthers[] = {"and", "or", "not",  "in",
                                                       "is",  "if", "else", "recursive"};
        return !Contains(kOthers, Now().text);
      }
      default:
        return false;
    }
  }

  Result<Pointer> ParsePrimary() {
    if (TakeOperator("(")) return ParseBracketed();
    if (IsOperator("[")) return ParseList();
    if (IsOperator("{")) return ParseDict();
    auto node = New(ExpressionKind::kLiteral);
    const TemplateToken& token = Now();
    switch (token.kind) {
      case TokenKind::kString:
        return ParseStrings(std::move(node));
      case TokenKind::kInteger:
      case TokenKind::kFloat:
        return ParseNumber(std::move(node));
      case TokenKind::kName:
        break;
      default:
        return Error("a value is missing here");
    }
    const std::string& name = token.text;
    if (name == "true" || name == "True" || name == "false" || name == "False") {
      node->literal = Value(name == "true" || name == "True");
    } else if (name == "none" || name == "None") {
      node->literal = Value(None{});
    } else {
      node->kind = ExpressionKind::kName;
      node->name = name;
    }
    Advance();
    return Pointer(std::move(node));
  }

  Result<Pointer> ParseBracketed() {
    if (IsOperator(")")) {  // ()
      auto empty = New(ExpressionKind::kList);
      Advance();
      return Pointer(std::move(empty));
    }
    auto tuple = New(ExpressionKind::kList);
    SHOAL_ASSIGN_OR_RETURN(Pointer value, ParseExpression());
    if (TakeOperator(")")) return value;
    tuple->operands.push_back(std::move(value));
    while (TakeOperator(",") && !IsOperator(")")) {
      SHOAL_ASSIGN_OR_RETURN(Pointer next, ParseExpression());
      tuple->operands.push_back(std::move(next));
    }
    SHOAL_RETURN_IF_ERROR(Expect(")"));
    return Pointer(std::move(tuple));
  }

  Result<Pointer> ParseList() {
    auto list = New(ExpressionKind::kList);
    Advance();
    while (!TakeOperator("]")) {
      SHOAL_ASSIGN_OR_RETURN(Pointer item, ParseExpression());
      list->operands.push_back(std::move(item));
      if (!IsOperator("]")) SHOAL_RETURN_IF_ERROR(Expect(","));
    }
    return Pointer(std::move(list));
  }

  Result<Pointer> ParseDict() {
    auto dict = New(ExpressionKind::kDict);
    Advance();
    while (!TakeOperator("}")) {
      SHOAL_ASSIGN_OR_RETURN(Pointer key, ParseExpression());
      SHOAL_RETURN_IF_ERROR(Expect(":"));
      SHOAL_ASSIGN_OR_RETURN(Pointer value, ParseExpression());
      dict->operands.push_back(std::move(key));
      dict->operands.push_back(std::move(value));
      if (!IsOperator("}")) SHOAL_RETURN_IF_ERROR(Expect(","));
    }
    return Pointer(std::move(dict));
  }

  // Neighbours are one string, as in Python.
  Result<Pointer> ParseStrings(std::unique_ptr<Expression> node) {
    std::string text;
    for (; Now().kind == TokenKind::kString; Advance()) text += Now().text;
    node->literal = TemplateText(std::move(text));
    return Pointer(std::move(node));
  }

  Result<Pointer> ParseNumber(std::unique_ptr<Expression> node) {
    const std::string& digits = Now().text;
    if (Now().kind == TokenKind::kInteger) {
      std::int64_t integer = 0;
      const char* end = digits.data() + digits.size();
      const auto parsed = std::from_chars(digits.data(), end, integer);
      if (parsed.ec != std::errc() || parsed.ptr != end) return Error("this number is too large");
      node->literal = Value(integer);
    } else {
      node->literal = Value(std::strtod(digits.c_str(), nullptr));  // libc++ has no from_chars.
    }
    Advance();
    return Pointer(std::move(node));
  }

  // Chains nest as deep as they are long; each link takes a stack frame when it is evaluated.
  static constexpr int kMaxChain = 100;

  std::string_view source_;
  std::vector<TemplateToken> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int loops_ = 0;
};

}  // namespace

Result<Body> ParseTemplate(std::string_view source) {
  SHOAL_ASSIGN_OR_RETURN(std::vector<TemplateToken> tokens, LexTemplate(source));
  return Parser(source, std::move(tokens)).Run();
}

}  // namespace shoal::llm::internal
