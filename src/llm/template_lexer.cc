#include <algorithm>
#include <array>
#include <optional>

#include "llm/template_lexer_internal.h"
#include "llm/utf8.h"

namespace shoal::llm::internal {
namespace {

bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Longer ones first.
constexpr std::array<std::string_view, 29> kOperators = {
    "==", "!=", "<=", ">=", "//", "**", "+", "-", "*", "/", "%", "~", "<", ">", "=",
    "(",  ")",  "[",  "]",  "{",  "}",  ",", ".", ":", "|", "!", ";", "&", "^"};

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Result<std::vector<TemplateToken>> Run() {
    // One newline at the end belongs to the file, not to the text.
    if (source_.ends_with('\n')) source_.remove_suffix(1);
    while (at_ < source_.size()) {
      SHOAL_RETURN_IF_ERROR(LexText());
      if (at_ < source_.size()) SHOAL_RETURN_IF_ERROR(LexTag());
    }
    Put(TokenKind::kEnd, "", source_.size());
    return std::move(tokens_);
  }

 private:
  char Peek(std::size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }

  void Put(TokenKind kind, std::string text, std::size_t offset) {
    tokens_.push_back({.kind = kind, .text = std::move(text), .offset = offset});
  }

  Status Error(std::size_t offset, std::string_view what) const {
    return TemplateError(source_, offset, what);
  }

  // Where the next {{, {% or {# is.
  std::size_t FindTag() const {
    for (std::size_t at = at_; at + 1 < source_.size(); ++at) {
      const char next = source_[at + 1];
      if (source_[at] == '{' && (next == '{' || next == '%' || next == '#')) return at;
    }
    return source_.size();
  }

  // Everything up to the next tag, without the white space that the tags on either side take.
  Status LexText() {
    const std::size_t begin = at_;
    const std::size_t tag = FindTag();
    std::string_view text = source_.substr(begin, tag - begin);
    if (strip_next_) {
      text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t\r\n\f\v")));
    } else if (trim_newline_) {
      if (text.starts_with("\r\n"))
        text.remove_prefix(2);
      else if (text.starts_with('\n'))
        text.remove_prefix(1);
    }
    if (tag < source_.size()) text = StripBeforeTag(text, begin, tag);
    if (!text.empty()) Put(TokenKind::kText, std::string(text), begin);
    at_ = tag;
    return Status();
  }

  std::string_view StripBeforeTag(std::string_view text, std::size_t begin, std::size_t tag) const {
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    if (sign == '-') return text.substr(0, text.find_last_not_of(" \t\r\n\f\v") + 1);
    if (sign == '+' || source_[tag + 1] == '{') return text;
    // A block tag that is the first thing on its line takes the blanks before it.
    const std::size_t kept = text.find_last_not_of(" \t") + 1;
    const bool line_start =
        kept > 0 ? text[kept - 1] == '\n' : begin == 0 || BlanksFollowNewline(tag);
    return line_start ? text.substr(0, kept) : text;
  }

  // Looking back from a tag over blanks in the source: is there a line start?
  bool BlanksFollowNewline(std::size_t tag) const {
    std::size_t at = tag;
    while (at > 0 && (source_[at - 1] == ' ' || source_[at - 1] == '\t')) --at;
    return at == 0 || source_[at - 1] == '\n';
  }

  Status LexTag() {
    const std::size_t begin = at_;
    const char kind = source_[at_ + 1];
    at_ += 2;
    if (kind == '#') return SkipComment(begin);
    if (Peek() == '-' || Peek() == '+') ++at_;
    Put(kind == '{' ? TokenKind::kPrintBegin : TokenKind::kBlockBegin, "", begin);
    return LexCode(begin, kind == '{' ? '}' : '%');
  }

  Status SkipComment(std::size_t begin) {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string_view::npos) return Error(begin, "a comment does not end");
    strip_next_ = source_[end - 1] == '-';
    trim_newline_ = source_[end - 1] != '+';
    at_ = end + 2;
    return Status();
  }

  // Tokens up to the end of the tag, which begins with `first` ("}}" or "%}").
  Status LexCode(std::size_t begin, char first) {
    int open = 0;  // Brackets: "}}" may close two dictionaries.
    while (true) {
      while (at_ < source_.size() && IsSpace(source_[at_])) ++at_;
      if (at_ >= source_.size()) return Error(begin, "a tag does not end");
      const bool sign = (Peek() == '-' || Peek() == '+') && Peek(1) == first && Peek(2) == '}';
      if (open == 0 && (sign || (Peek() == first && Peek(1) == '}'))) {
        EndTag(sign, first);
        return Status();
      }
      SHOAL_RETURN_IF_ERROR(LexToken());
      open += Opens(tokens_.back());
    }
  }

  // 1 for an opening bracket, -1 for a closing one.
  static int Opens(const TemplateToken& token) {
    if (token.kind != TokenKind::kOperator) return 0;
    if (token.text == "{" || token.text == "[" || token.text == "(") return 1;
    return token.text == "}" || token.text == "]" || token.text == ")" ? -1 : 0;
  }

  void EndTag(bool sign, char first) {
    strip_next_ = sign && Peek() == '-';
    trim_newline_ = first == '%' && !(sign && Peek() == '+');
    if (sign) ++at_;
    Put(first == '}' ? TokenKind::kPrintEnd : TokenKind::kBlockEnd, "", at_);
    at_ += 2;
  }

  Status LexToken() {
    const std::size_t begin = at_;
    const char c = Peek();
    if (c == '"' || c == '\'') return LexString(c);
    if (IsDigit(c)) return LexNumber();
    if (IsNameStart(c)) {
      while (IsNameStart(Peek()) || IsDigit(Peek())) ++at_;
      Put(TokenKind::kName, std::string(source_.substr(begin, at_ - begin)), begin);
      return Status();
    }
    for (const std::string_view op : kOperators) {
      if (!source_.substr(at_).starts_with(op)) continue;
      at_ += op.size();
      Put(TokenKind::kOperator, std::string(op), begin);
      return Status();
    }
    return Error(begin, "this character has no meaning here");
  }

  Status LexNumber() {
    const std::size_t begin = at_;
    while (IsDigit(Peek()) || Peek() == '_') ++at_;
    TokenKind kind = TokenKind::kInteger;
    if (Peek() == '.' && IsDigit(Peek(1))) {
      kind = TokenKind::kFloat;
      ++at_;
      while (IsDigit(Peek())) ++at_;
    }
    if ((Peek() == 'e' || Peek() == 'E') &&
        (IsDigit(Peek(1)) || (Peek(1) == '-' && IsDigit(Peek(2))))) {
      kind = TokenKind::kFloat;
      at_ += 2;
      while (IsDigit(Peek())) ++at_;
    }
    std::string digits(source_.substr(begin, at_ - begin));
    std::erase(digits, '_');
    Put(kind, std::move(digits), begin);
    return Status();
  }

  Status LexString(char quote) {
    const std::size_t begin = at_++;
    std::string value;
    while (at_ < source_.size() && source_[at_] != quote) {
      const char c = source_[at_++];
      if (c != '\\' || at_ >= source_.size()) {
        value += c;
      } else {
        AppendEscape(source_[at_++], value);
      }
    }
    if (at_ >= source_.size()) return Error(begin, "a string does not end");
    ++at_;
    Put(TokenKind::kString, std::move(value), begin);
    return Status();
  }

  // What follows a backslash, as in Python; an unknown escape stays as it is.
  void AppendEscape(char c, std::string& value) {
    switch (c) {
      case 'n':
        value += '\n';
        return;
      case 't':
        value += '\t';
        return;
      case 'r':
        value += '\r';
        return;
      case 'b':
        value += '\b';
        return;
      case 'f':
        value += '\f';
        return;
      case 'v':
        value += '\v';
        return;
      case '\\':
      case '\'':
      case '"':
        value += c;
        return;
      case '\n':
        return;
      default:
        break;
    }
    const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (const auto code = HexNumber(digits)) {
      AppendCharacter(*code, value);
      at_ += digits;
    } else {
      value += '\\';
      value += c;
    }
  }

  // A character by its number in `digits` digits from here; nothing if that is none.
  std::optional<char32_t> HexNumber(std::size_t digits) const {
    if (digits == 0 || at_ + digits > source_.size()) return std::nullopt;
    char32_t code = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const char c = source_[at_ + i];
      const std::size_t digit =
          std::string_view("0123456789abcdef").find(IsDigit(c) ? c : static_cast<char>(c | 0x20));
      if (digit == std::string_view::npos || code > 0xFFFFFF) return std::nullopt;
      code = code * 16 + static_cast<char32_t>(digit);
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return std::nullopt;
    return code;
  }

  std::string_view source_;
  std::size_t at_ = 0;
  bool strip_next_ = false;    // The tag before ended with a dash.
  bool trim_newline_ = false;  // It was a block tag or a comment.
  std::vector<TemplateToken> tokens_;
};

}  // namespace

Status TemplateError(std::string_view source, std::size_t offset, std::string_view what) {
  const std::string_view before = source.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0.
  return Status(Code::kInvalidArgument, "line " + std::to_string(line) + ", column " +
                                            std::to_string(before.size() - line_start + 1) + ": " +
                                            std::string(what));
}

Result<std::vector<TemplateToken>> LexTemplate(std::string_view source) {
  return Lexer(source).Run();
}

}  // namespace shoal::llm::internal
