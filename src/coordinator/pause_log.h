// PauseLog: where the time went when a pipeline broke while answers ran: until it was noticed,
// until others had the layers, until the first token after it was there.
//
// A plain value: it is told what happened, and when.
#pragma once

#include <optional>
#include <string>

#include "base/time.h"

namespace shoal::coordinator {

struct Pause {
  Duration detect;  // From the last sign of life to the stop.
  Duration load;    // To the epoch that went on; those that broke on the way are in it.
  Duration replay;  // To the first token.

  Duration total() const { return detect + load + replay; }
  // One line for the operator, in seconds.
  std::string ToString() const;
};

class PauseLog {
 public:
  // Answers stand still from `now` on; all was well until `alive`. Nothing new if they stood
  // already.
  void Stopped(Instant alive, Instant now);
  // A new epoch runs.
  void Resumed(Instant now);
  // A token was drawn; the pause that it ended, if it did.
  std::optional<Pause> Drawn(Instant now);
  // Nobody waits any more.
  void Forget() { open_.reset(); }

 private:
  struct Open {
    Instant alive;
    Instant stopped;
    std::optional<Instant> resumed = {};
  };
  std::optional<Open> open_;
};

}  // namespace shoal::coordinator
