#include "shoal/screen_terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "os/loop.h"

namespace shoal {
namespace {

constexpr std::size_t kColumnsOfFiles = 120;
constexpr char kControlC = 3;

bool ReadSize(winsize& size) {
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
}

void Put(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

bool IsScreen() { return isatty(STDOUT_FILENO) != 0; }

std::size_t ScreenColumns() {
  winsize size = {};
  return IsScreen() && ReadSize(size) ? size.ws_col : kColumnsOfFiles;
}

ScreenTerminal::ScreenTerminal() : keys_(isatty(STDIN_FILENO) != 0) {
  if (keys_) {
    tcgetattr(STDIN_FILENO, &before_);
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  }
  Put("\x1b[?25l\x1b[2J");  // No cursor; an empty screen.
}

ScreenTerminal::~ScreenTerminal() {
  Put("\x1b[?25h");
  if (keys_) tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

TerminalSize ScreenTerminal::size() const {
  winsize size = {};
  if (!ReadSize(size)) return {};
  return {.columns = size.ws_col, .rows = size.ws_row};
}

// From the upper left corner over what was there: clearing first would flicker.
void ScreenTerminal::Draw(const std::string& lines) {
  std::string out = "\x1b[H";
  const std::size_t rows = size().rows;
  std::size_t row = 1;
  for (std::size_t at = 0; at < lines.size() && row < rows; ++row) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    out += lines.substr(at, end - at) + "\x1b[K\r\n";
    at = end + 1;
  }
  Put(out + "\x1b[J");
}

bool ScreenTerminal::QuitWithin(Duration time) {
  if (!keys_) {
    os::Loop loop;
    loop.RunOne(time);
    return false;
  }
  pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(time);
  if (poll(&input, 1, static_cast<int>(limit.count())) <= 0) return false;
  char key = 0;
  return read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q' || key == kControlC;
}

}  // namespace shoal
