#include "shoal/line_editor.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

namespace shoal {
namespace {

constexpr std::size_t kHistoryMax = 1000;

bool Continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80; }

// The terminal gives keys one by one while this lives.
class RawTerminal {
 public:
  RawTerminal() {
    tcgetattr(STDIN_FILENO, &before_);
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG | IEXTEN);
    raw.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  }
  ~RawTerminal() { tcsetattr(STDIN_FILENO, TCSADRAIN, &before_); }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

 private:
  termios before_ = {};
};

std::size_t Columns() {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 80;
  return size.ws_col;
}

void Write(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = write(STDOUT_FILENO, text.data() + at, text.size() - at);
    if (n <= 0) return;
    at += static_cast<std::size_t>(n);
  }
}

void Draw(const std::string& prompt, const EditedLine& line) {
  const std::size_t columns = Columns();
  const std::size_t room = columns > prompt.size() + 1 ? columns - prompt.size() - 1 : 1;
  const EditedLine::View view = line.Visible(room);
  std::string out = "\r" + prompt + view.text + "\x1b[K\r";
  out += "\x1b[" + std::to_string(prompt.size() + view.cursor) + "C";
  Write(out);
}

enum class Key { kNone, kUp, kDown, kLeft, kRight, kHome, kEnd, kDelete };

// What follows an escape: "[A", "[3~", "OH".
Key ReadEscape() {
  char first = 0;
  char second = 0;
  if (read(STDIN_FILENO, &first, 1) != 1 || read(STDIN_FILENO, &second, 1) != 1) return Key::kNone;
  if (first != '[' && first != 'O') return Key::kNone;
  if (second >= '0' && second <= '9') {
    char last = 0;
    while (read(STDIN_FILENO, &last, 1) == 1 && last != '~' && (last < 'A' || last > 'Z')) {
    }
    if (second == '3') return Key::kDelete;
    if (second == '1' || second == '7') return Key::kHome;
    return second == '4' || second == '8' ? Key::kEnd : Key::kNone;
  }
  switch (second) {
    case 'A':
      return Key::kUp;
    case 'B':
      return Key::kDown;
    case 'C':
      return Key::kRight;
    case 'D':
      return Key::kLeft;
    case 'H':
      return Key::kHome;
    case 'F':
      return Key::kEnd;
    default:
      return Key::kNone;
  }
}

constexpr char Control(char letter) { return static_cast<char>(letter - 'a' + 1); }

// Keys that edit the line in place.
void Edit(char key, EditedLine& line) {
  switch (key) {
    case Control('a'):
      return line.Home();
    case Control('b'):
      return line.Left();
    case Control('e'):
      return line.End();
    case Control('f'):
      return line.Right();
    case Control('h'):
    case 127:
      return line.EraseBefore();
    case Control('k'):
      return line.EraseToEnd();
    case Control('u'):
      return line.EraseToHome();
    case Control('w'):
      return line.EraseWordBefore();
    default:
      if (static_cast<unsigned char>(key) >= 32 || key == '\t') {
        line.Insert(std::string(1, key == '\t' ? ' ' : key));
      }
  }
}

void Move(Key key, EditedLine& line) {
  if (key == Key::kLeft) line.Left();
  if (key == Key::kRight) line.Right();
  if (key == Key::kHome) line.Home();
  if (key == Key::kEnd) line.End();
  if (key == Key::kDelete) line.EraseAfter();
}

}  // namespace

void EditedLine::Set(std::string text) {
  text_ = std::move(text);
  cursor_ = text_.size();
}

void EditedLine::Insert(const std::string& bytes) {
  text_.insert(cursor_, bytes);
  cursor_ += bytes.size();
}

void EditedLine::Left() { cursor_ = Before(cursor_); }
void EditedLine::Right() { cursor_ = After(cursor_); }

void EditedLine::EraseBefore() {
  const std::size_t at = Before(cursor_);
  text_.erase(at, cursor_ - at);
  cursor_ = at;
}

void EditedLine::EraseAfter() { text_.erase(cursor_, After(cursor_) - cursor_); }

void EditedLine::EraseWordBefore() {
  std::size_t at = cursor_;
  while (at > 0 && text_[at - 1] == ' ') --at;
  while (at > 0 && text_[at - 1] != ' ') --at;
  text_.erase(at, cursor_ - at);
  cursor_ = at;
}

void EditedLine::EraseToHome() {
  text_.erase(0, cursor_);
  cursor_ = 0;
}

void EditedLine::EraseToEnd() { text_.erase(cursor_); }

std::size_t EditedLine::Before(std::size_t at) const {
  if (at > 0) --at;
  while (at > 0 && Continues(text_[at])) --at;
  return at;
}

std::size_t EditedLine::After(std::size_t at) const {
  if (at < text_.size()) ++at;
  while (at < text_.size() && Continues(text_[at])) ++at;
  return at;
}

EditedLine::View EditedLine::Visible(std::size_t columns) const {
  std::size_t begin = cursor_;
  std::size_t before = 0;
  while (begin > 0 && before < columns) {
    begin = Before(begin);
    ++before;
  }
  std::size_t end = cursor_;
  for (std::size_t shown = before; end < text_.size() && shown < columns; ++shown) end = After(end);
  return {text_.substr(begin, end - begin), before};
}

std::optional<std::string> LineEditor::Ask(const std::string& prompt) {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) {
    std::string line;
    if (!std::getline(std::cin, line)) return std::nullopt;
    return line;
  }
  std::optional<std::string> line = AskTerminal(prompt);
  if (line && !line->empty() && (history_.empty() || history_.back() != *line)) {
    history_.push_back(*line);
    if (history_.size() > kHistoryMax) history_.erase(history_.begin());
  }
  return line;
}

std::optional<std::string> LineEditor::AskTerminal(const std::string& prompt) {
  const RawTerminal raw;
  EditedLine line;
  std::size_t place = history_.size();  // In the history; its size: the new line.
  std::string unfinished;
  const auto recall = [&](std::size_t to) {
    if (place == history_.size()) unfinished = line.text();
    place = to;
    line.Set(place == history_.size() ? unfinished : history_[place]);
  };
  while (true) {
    Draw(prompt, line);
    char key = 0;
    const bool ended = read(STDIN_FILENO, &key, 1) != 1;
    if (ended || (key == Control('d') && line.text().empty())) {
      Write("\r\n");
      return std::nullopt;
    }
    if (key == '\r' || key == '\n') {
      Write("\r\n");
      return line.text();
    }
    if (key == Control('c')) {
      line.Set("");
    } else if (key == Control('d')) {
      line.EraseAfter();
    } else if (key == '\x1b') {
      const Key escape = ReadEscape();
      if (escape == Key::kUp && place > 0) recall(place - 1);
      if (escape == Key::kDown && place < history_.size()) recall(place + 1);
      Move(escape, line);
    } else {
      Edit(key, line);
    }
  }
}

}  // namespace shoal
