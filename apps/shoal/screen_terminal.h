// ScreenTerminal: a terminal that is drawn anew again and again until somebody presses q or Ctrl-C.
#pragma once

#include <termios.h>

#include <cstddef>
#include <string>

#include "base/time.h"

namespace shoal {

struct TerminalSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

// Whether standard output is a terminal, and how many columns it has; 120 if it is none: files have
// room.
bool IsScreen();
std::size_t ScreenColumns();

// REQUIRES: IsScreen().
class ScreenTerminal {
 public:
  // Keys come one by one while this lives, if standard input is a terminal, too.
  ScreenTerminal();
  ~ScreenTerminal();
  ScreenTerminal(const ScreenTerminal&) = delete;
  ScreenTerminal& operator=(const ScreenTerminal&) = delete;

  TerminalSize size() const;
  // Replaces what is there by these lines; those that do not fit are left out.
  void Draw(const std::string& lines);
  // Waits so long. True: somebody wants to go, or cannot be asked any more.
  bool QuitWithin(Duration time);

 private:
  const bool keys_;
  termios before_ = {};
};

}  // namespace shoal
