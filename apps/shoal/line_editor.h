// LineEditor: asks for a line at a terminal, with editing and a history of earlier lines. Where
// standard input is no terminal it just reads lines.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace shoal {

// The line under the cursor, and what keys do to it. Positions are between characters of UTF-8.
class EditedLine {
 public:
  const std::string& text() const { return text_; }
  std::size_t cursor() const { return cursor_; }
  void Set(std::string text);

  void Insert(const std::string& bytes);
  void Left();
  void Right();
  void Home() { cursor_ = 0; }
  void End() { cursor_ = text_.size(); }
  void EraseBefore();      // Backspace.
  void EraseAfter();       // Delete.
  void EraseWordBefore();  // Ctrl-W.
  void EraseToHome();      // Ctrl-U.
  void EraseToEnd();       // Ctrl-K.

  // What fits `columns`, with the cursor in it, and the column the cursor is in. Every character
  // counts as one column.
  struct View {
    std::string text;
    std::size_t cursor;
  };
  View Visible(std::size_t columns) const;

 private:
  std::size_t Before(std::size_t at) const;
  std::size_t After(std::size_t at) const;

  std::string text_;
  std::size_t cursor_ = 0;
};

class LineEditor {
 public:
  // Nothing at the end of input (Ctrl-D on an empty line). Ctrl-C empties the line.
  std::optional<std::string> Ask(const std::string& prompt);

 private:
  std::optional<std::string> AskTerminal(const std::string& prompt);

  std::vector<std::string> history_;
};

}  // namespace shoal
