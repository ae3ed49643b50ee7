// MarkedString: a UTF-8 text of which each byte knows who wrote it. Whatever a chat template does
// with a text, cutting, joining, changing case, the marks go along; in the end they tell what may
// be read as special tokens and what is only what a user said.
//
// An immutable value except for Append; thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shoal::llm {

enum class Origin : char {
  kTemplate = 't',  // The model's author: literals of the template.
  kUser = 'u',      // Everyone else: messages, tools, variables.
};

class MarkedString {
 public:
  MarkedString() = default;
  MarkedString(std::string text, Origin origin)
      : text_(std::move(text)), origins_(text_.size(), static_cast<char>(origin)) {}

  const std::string& text() const { return text_; }
  std::size_t size() const { return text_.size(); }
  bool empty() const { return text_.empty(); }
  // Of byte `i`. REQUIRES: i < size().
  Origin OriginAt(std::size_t i) const { return static_cast<Origin>(origins_[i]); }

  void Append(const MarkedString& more);
  void Append(std::string_view more, Origin origin);

  // Bytes [begin, begin + size), cut to what is there.
  MarkedString Part(std::size_t begin, std::size_t size = std::string::npos) const;

  // Where each character begins, and the end of the text: characters + 1 numbers.
  std::vector<std::size_t> CharacterOffsets() const;
  std::size_t CharacterCount() const;

 private:
  std::string text_;
  std::string origins_;  // As long as text_.
};

enum class Sides : std::uint8_t { kLeft = 1, kRight = 2, kBoth = 3 };

// Python's strip, lstrip, rstrip: without white space, or the characters of `set`, at the ends.
MarkedString Strip(const MarkedString& text, Sides sides, std::optional<std::string_view> set = {});

// Python's split: at `separator`, or at runs of white space, which then leave no empty parts; at
// most `cuts_max` cuts, from the right if `from_right`. REQUIRES: the separator is not empty.
struct SplitOptions {
  std::optional<std::string_view> separator = {};
  std::optional<std::size_t> cuts_max = {};
  bool from_right = false;
};
std::vector<MarkedString> Split(const MarkedString& text, const SplitOptions& options);
// At line ends, which are dropped.
std::vector<MarkedString> SplitLines(const MarkedString& text);

// The first `count` (or all) occurrences of `from`. An empty `from` is found nowhere.
MarkedString Replace(const MarkedString& text, std::string_view from, const MarkedString& to,
                     std::optional<std::size_t> count = {});

MarkedString Upper(const MarkedString& text);
MarkedString Lower(const MarkedString& text);
// The first letter of the text, or of each word, upper, the rest lower.
MarkedString Capitalize(const MarkedString& text);
MarkedString Title(const MarkedString& text);

}  // namespace shoal::llm
