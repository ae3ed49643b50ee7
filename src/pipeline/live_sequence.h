// LiveSequence: one answer on its way through a pipeline: which of its tokens are in the stages,
// which were guessed, and what a result that comes back means. Several windows of one sequence can
// be in flight; guesses that turn out wrong, and everything sent after them, are as if they had
// never been. The tokens are the same with and without guesses.
//
// Pure; belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "llm/sampler.h"

namespace shoal::pipeline {

// Positions of a sequence that go through the stages together.
struct Window {
  std::uint64_t attempt = 0;
  std::size_t begin = 0;
  std::vector<std::int32_t> tokens;
  std::size_t wanted = 0;  // After so many of the last tokens, the next one is drawn.
};

class LiveSequence {
 public:
  // `history`: the prompt and what was drawn so far. REQUIRES: it is not empty.
  explicit LiveSequence(std::vector<std::int32_t> history) : history_(std::move(history)) {}

  const std::vector<std::int32_t>& history() const { return history_; }

  // Whether more than the next token is to be fed: a prompt, or a history after a failure.
  bool Prefilling() const { return sent_ + 1 < history_.size(); }
  // Whether nothing is in flight and one token is to be fed.
  bool Ready() const { return sent_ + 1 == history_.size(); }
  // Whether Replay has something.
  bool Replaying() const { return replayed_ < replay_end_; }

  // The next tokens to feed, at most `rows`, and then at most `guesses` guessed ones, if the
  // history's end is among them. REQUIRES: Prefilling() or Ready(), !Replaying(), rows > 0.
  Window Feed(std::size_t rows, std::size_t guesses);
  // Guesses beyond those in flight; nothing if there are none. REQUIRES: something is in flight.
  std::optional<Window> FeedAhead(std::size_t guesses);
  // Tokens that new stages have not seen. Nothing is wanted of them. REQUIRES: Replaying().
  Window Replay(std::size_t rows);

  // Whether a result of this window still counts.
  bool Counts(const Window& window) const { return window.attempt == attempt_; }
  // A window came back, with the tokens drawn after its wanted ones until the first that was
  // guessed wrong. Adds them to the history. REQUIRES: Counts(window).
  void Returned(const Window& window, std::span<const llm::SampledToken> drawn);

  // The pipeline broke. Which of its stages still hold what every stage held: the others must see
  // the positions that they all had again, and if there are no such stages, all is fed again.
  enum class Kept : std::uint8_t { kNone, kSome, kAll };
  void Restart(Kept kept);

  // Positions that every stage of this pipeline holds, as far as results have told.
  std::size_t confirmed() const { return confirmed_; }
  // Windows in flight of which tokens are wanted.
  std::size_t windows() const { return windows_; }

 private:
  std::vector<std::int32_t> history_;
  std::deque<std::int32_t> ahead_;  // Guesses that were sent, from position history_.size() on.
  std::size_t sent_ = 0;            // Positions that were sent, guesses included.
  std::size_t confirmed_ = 0;
  bool whole_ = false;  // A window has come back since the last Restart.
  std::size_t replayed_ = 0;
  std::size_t replay_end_ = 0;
  std::size_t windows_ = 0;
  std::uint64_t attempt_ = 0;
};

}  // namespace shoal::pipeline
