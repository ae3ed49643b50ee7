#include "pipeline/live_sequence.h"

#include <algorithm>

#include "base/check.h"
#include "llm/draft.h"

namespace shoal::pipeline {
namespace {

std::ptrdiff_t Offset(std::size_t value) { return static_cast<std::ptrdiff_t>(value); }

}  // namespace

Window LiveSequence::Feed(std::size_t rows, std::size_t guesses) {
  SHOAL_CHECK(sent_ < history_.size() && !Replaying() && rows > 0);
  const std::size_t end = sent_ + std::min(rows, history_.size() - sent_);
  Window window = {.attempt = attempt_, .begin = sent_, .tokens = {}, .wanted = 0};
  window.tokens.assign(history_.begin() + Offset(sent_), history_.begin() + Offset(end));
  sent_ = end;
  if (end < history_.size()) return window;
  const std::vector<std::int32_t> guess = llm::GuessNext(history_, guesses);
  window.tokens.insert(window.tokens.end(), guess.begin(), guess.end());
  window.wanted = 1 + guess.size();
  ahead_.assign(guess.begin(), guess.end());
  sent_ += guess.size();
  ++windows_;
  return window;
}

std::optional<Window> LiveSequence::FeedAhead(std::size_t guesses) {
  SHOAL_CHECK_GE(sent_, history_.size());
  std::vector<std::int32_t> all = history_;
  all.insert(all.end(), ahead_.begin(), ahead_.end());
  const std::vector<std::int32_t> guess = llm::GuessNext(all, guesses);
  if (guess.empty()) return std::nullopt;
  Window window = {.attempt = attempt_, .begin = sent_, .tokens = guess, .wanted = guess.size()};
  ahead_.insert(ahead_.end(), guess.begin(), guess.end());
  sent_ += guess.size();
  ++windows_;
  return window;
}

Window LiveSequence::Replay(std::size_t rows) {
  SHOAL_CHECK(Replaying());
  const std::size_t end = replayed_ + std::min(rows, replay_end_ - replayed_);
  Window window = {.attempt = attempt_, .begin = replayed_, .tokens = {}, .wanted = 0};
  window.tokens.assign(history_.begin() + Offset(replayed_), history_.begin() + Offset(end));
  replayed_ = end;
  return window;
}

void LiveSequence::Returned(const Window& window, std::span<const llm::SampledToken> drawn) {
  SHOAL_CHECK(Counts(window));
  const std::size_t end = window.begin + window.tokens.size();
  whole_ = true;
  if (window.wanted > 0) --windows_;
  for (const llm::SampledToken& token : drawn) {
    history_.push_back(token.token);
    if (ahead_.empty()) break;
    const bool right = ahead_.front() == token.token;
    ahead_.pop_front();
    if (right) continue;
    // What was sent from here on never was.
    ahead_.clear();
    sent_ = history_.size() - 1;
    windows_ = 0;
    ++attempt_;
    break;
  }
  confirmed_ = std::max(confirmed_, std::min(end, history_.size() - 1));
}

void LiveSequence::Restart(Kept kept) {
  ++attempt_;
  ahead_.clear();
  windows_ = 0;
  if (kept == Kept::kNone || !whole_) confirmed_ = 0;
  whole_ = false;
  sent_ = confirmed_;
  replayed_ = 0;
  replay_end_ = kept == Kept::kAll ? 0 : confirmed_;
}

}  // namespace shoal::pipeline
