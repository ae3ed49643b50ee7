// Goal: whatever is guessed, lost or fed again, an answer has the tokens that one device would
// draw.
#include "pipeline/live_sequence.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <numeric>

#include "base/random.h"

namespace shoal::pipeline {
namespace {

using Tokens = std::vector<std::int32_t>;

// Repeats itself, so that guesses are often right, and now and then does not. Depends on all of it.
std::int32_t NextToken(std::span<const std::int32_t> history) {
  const std::size_t n = history.size();
  if (n % 13 == 0) return std::accumulate(history.begin(), history.end(), 0) % 7;
  return history[n >= 4 ? n - 4 : 0];
}

Tokens Text(Tokens prompt, std::size_t size) {
  while (prompt.size() < size) prompt.push_back(NextToken(prompt));
  return prompt;
}

std::vector<llm::SampledToken> Drawn(const Tokens& tokens) {
  std::vector<llm::SampledToken> drawn;
  for (const std::int32_t token : tokens)
    drawn.push_back({.token = token, .logprob = 0, .top = {}});
  return drawn;
}

// What a stage holds of the sequence: the tokens themselves stand for keys and values.
struct FakeStage {
  Tokens held;
  void Take(const Window& window) {
    ASSERT_LE(window.begin, held.size()) << "a gap";
    held.resize(window.begin);
    held.insert(held.end(), window.tokens.begin(), window.tokens.end());
  }
};

// The tokens after the wanted rows, until one is not the guess that follows it.
std::vector<llm::SampledToken> Draw(const Window& window, const Tokens& held) {
  const std::size_t end = window.begin + window.tokens.size();
  Tokens drawn;
  for (std::size_t row = end - window.wanted; row < end; ++row) {
    drawn.push_back(NextToken(std::span(held).first(row + 1)));
    if (row + 1 < end && held[row + 1] != drawn.back()) break;
  }
  return Drawn(drawn);
}

TEST(LiveSequenceTest, APromptGoesInChunksAndOnlyAfterItsEndATokenIsWanted) {
  LiveSequence live({1, 2, 3, 4, 5});
  EXPECT_TRUE(live.Prefilling());
  const Window first = live.Feed(2, 0);
  EXPECT_EQ(first.begin, 0U);
  EXPECT_EQ(first.tokens, (Tokens{1, 2}));
  EXPECT_EQ(first.wanted, 0U);
  EXPECT_EQ(live.windows(), 0U);
  const Window last = live.Feed(10, 0);
  EXPECT_EQ(last.begin, 2U);
  EXPECT_EQ(last.tokens, (Tokens{3, 4, 5}));
  EXPECT_EQ(last.wanted, 1U);
  EXPECT_EQ(live.windows(), 1U);
  EXPECT_FALSE(live.Prefilling());
  EXPECT_FALSE(live.Ready()) << "something is in flight";

  live.Returned(first, {});
  EXPECT_EQ(live.confirmed(), 2U);
  live.Returned(last, Drawn({6}));
  EXPECT_EQ(live.history(), (Tokens{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(live.confirmed(), 5U);
  EXPECT_EQ(live.windows(), 0U);
  EXPECT_TRUE(live.Ready());
  const Window next = live.Feed(1, 0);
  EXPECT_EQ(next.begin, 5U);
  EXPECT_EQ(next.tokens, Tokens{6});
}

// The ending 1 2 was followed by 3 1 2 before.
const Tokens kRepeats = {1, 2, 3, 1, 2};

TEST(LiveSequenceTest, RightGuessesCountAsTokens) {
  LiveSequence live(kRepeats);
  const Window window = live.Feed(8, 3);
  EXPECT_EQ(window.tokens, (Tokens{1, 2, 3, 1, 2, 3, 1, 2}));
  EXPECT_EQ(window.wanted, 4U);
  live.Returned(window, Drawn({3, 1, 2, 9}));
  EXPECT_EQ(live.history(), (Tokens{1, 2, 3, 1, 2, 3, 1, 2, 9}));
  EXPECT_EQ(live.confirmed(), 8U);
  EXPECT_TRUE(live.Ready());
  EXPECT_EQ(live.Feed(1, 0).begin, 8U);
}

TEST(LiveSequenceTest, AfterAWrongGuessItIsFedAgainFromThere) {
  LiveSequence live(kRepeats);
  const Window window = live.Feed(8, 3);
  live.Returned(window, Drawn({3, 7}));
  EXPECT_EQ(live.history(), (Tokens{1, 2, 3, 1, 2, 3, 7}));
  EXPECT_EQ(live.confirmed(), 6U) << "stages hold the wrong one at 6";
  EXPECT_TRUE(live.Ready());
  const Window next = live.Feed(1, 0);
  EXPECT_EQ(next.begin, 6U);
  EXPECT_EQ(next.tokens, Tokens{7});
}

TEST(LiveSequenceTest, WithTheFirstOfTwoWindowsWrongTheSecondDoesNotCount) {
  LiveSequence live(kRepeats);
  const Window first = live.Feed(8, 1);
  const std::optional<Window> second = live.FeedAhead(2);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->begin, 6U);
  EXPECT_EQ(second->wanted, 2U);
  EXPECT_EQ(live.windows(), 2U);
  EXPECT_TRUE(live.Counts(*second));
  live.Returned(first, Drawn({8}));
  EXPECT_EQ(live.windows(), 0U);
  EXPECT_FALSE(live.Counts(*second));
  EXPECT_EQ(live.Feed(1, 0).begin, 5U);
}

TEST(LiveSequenceTest, WithTheFirstOfTwoWindowsRightTheSecondGoesOn) {
  LiveSequence live(kRepeats);
  const Window first = live.Feed(8, 1);
  const std::optional<Window> second = live.FeedAhead(2);
  ASSERT_TRUE(second.has_value());
  live.Returned(first, Drawn({3, 1}));
  EXPECT_EQ(live.windows(), 1U);
  ASSERT_TRUE(live.Counts(*second));
  live.Returned(*second, Drawn({2, 5}));
  EXPECT_EQ(live.history(), (Tokens{1, 2, 3, 1, 2, 3, 1, 2, 5}));
  EXPECT_TRUE(live.Ready());
}

TEST(LiveSequenceTest, NothingIsSentAheadWithoutAGuess) {
  LiveSequence live({1, 2, 3});
  EXPECT_EQ(live.Feed(8, 4).wanted, 1U);
  EXPECT_FALSE(live.FeedAhead(4).has_value());
  EXPECT_EQ(live.windows(), 1U);
}

TEST(LiveSequenceTest, WhatEveryStageHeldIsReplayedAndTheRestFed) {
  LiveSequence live({1, 2, 3, 4, 5, 6});
  const Window first = live.Feed(4, 0);
  const Window lost = live.Feed(4, 0);
  live.Returned(first, {});
  live.Restart(LiveSequence::Kept::kSome);
  EXPECT_FALSE(live.Counts(lost));
  ASSERT_TRUE(live.Replaying());
  const Window replay = live.Replay(3);
  EXPECT_EQ(replay.begin, 0U);
  EXPECT_EQ(replay.tokens, (Tokens{1, 2, 3}));
  EXPECT_EQ(replay.wanted, 0U);
  EXPECT_EQ(live.Replay(3).tokens, Tokens{4});
  EXPECT_FALSE(live.Replaying());
  const Window rest = live.Feed(9, 0);
  EXPECT_EQ(rest.begin, 4U);
  EXPECT_EQ(rest.tokens, (Tokens{5, 6}));
  EXPECT_EQ(rest.wanted, 1U);
}

TEST(LiveSequenceTest, WhenNothingIsKeptAllIsFedAgain) {
  LiveSequence live({1, 2, 3});
  live.Returned(live.Feed(9, 0), Drawn({4}));
  live.Restart(LiveSequence::Kept::kNone);
  EXPECT_FALSE(live.Replaying());
  EXPECT_EQ(live.confirmed(), 0U);
  EXPECT_EQ(live.Feed(9, 0).tokens, (Tokens{1, 2, 3, 4}));
}

TEST(LiveSequenceTest, StagesThatKeptAllSeeNothingAgain) {
  LiveSequence live({1, 2, 3});
  live.Returned(live.Feed(9, 0), Drawn({4}));
  live.Restart(LiveSequence::Kept::kAll);
  EXPECT_FALSE(live.Replaying());
  const Window next = live.Feed(9, 0);
  EXPECT_EQ(next.begin, 3U);
  EXPECT_EQ(next.tokens, Tokens{4});
}

TEST(LiveSequenceTest, ARestartBeforeAnythingCameBackFeedsAllAgain) {
  LiveSequence live({1, 2, 3});
  live.Returned(live.Feed(9, 0), Drawn({4}));
  live.Restart(LiveSequence::Kept::kSome);
  ASSERT_TRUE(live.Replaying());
  live.Replay(2);
  // Of the new stages nobody knows how far they got.
  live.Restart(LiveSequence::Kept::kSome);
  EXPECT_FALSE(live.Replaying());
  const Window all = live.Feed(9, 0);
  EXPECT_EQ(all.begin, 0U);
  EXPECT_EQ(all.tokens, (Tokens{1, 2, 3, 4}));
}

// Two stages, of which the pipeline loses one or both at any time.
class Journey {
 public:
  Journey(std::uint64_t seed, std::size_t guesses) : random_(seed), guesses_(guesses) {}

  Tokens Run(std::size_t size) {
    while (live_.history().size() < size && !testing::Test::HasFatalFailure()) Step();
    Tokens text = live_.history();
    text.resize(size);
    return text;
  }

 private:
  struct Flight {
    Window window;
    bool replay = false;
    std::vector<llm::SampledToken> drawn = {};
  };

  void Step() {
    const std::uint64_t what = random_.Below(40);
    if (what == 0) {
      Break();
    } else if (what < 15) {
      Send();
    } else if (what < 25) {
      Compute();
    } else {
      Return();
    }
  }

  void Break() {
    flights_.clear();
    computed_ = 0;
    const std::size_t gone = random_.Below(3);
    if (gone == stages_.size()) {
      stages_ = {};
    } else {
      stages_[gone] = {};
    }
    cold_ = gone + 1;
    live_.Restart(gone < stages_.size() ? LiveSequence::Kept::kSome : LiveSequence::Kept::kNone);
  }

  void Send() {
    if (flights_.size() == 4) return;
    const std::size_t rows = 1 + random_.Below(5);
    if (live_.Replaying()) {
      flights_.push_back({live_.Replay(rows), true});
    } else if (live_.Prefilling() || live_.Ready()) {
      flights_.push_back({live_.Feed(rows, guesses_)});
    } else if (std::optional<Window> window = live_.FeedAhead(guesses_)) {
      flights_.push_back({*std::move(window)});
    }
  }

  // The stages work on the next flight.
  void Compute() {
    if (computed_ == flights_.size()) return;
    Flight& flight = flights_[computed_++];
    const std::size_t reached = flight.replay ? cold_ : stages_.size();
    for (std::size_t s = 0; s < reached; ++s) stages_[s].Take(flight.window);
    if (flight.replay) return;
    EXPECT_EQ(stages_[0].held, stages_[1].held);
    flight.drawn = Draw(flight.window, stages_[1].held);
  }

  void Return() {
    if (computed_ == 0) return;
    const Flight flight = std::move(flights_.front());
    flights_.pop_front();
    --computed_;
    if (!flight.replay && live_.Counts(flight.window)) live_.Returned(flight.window, flight.drawn);
  }

  Random random_;
  const std::size_t guesses_;
  LiveSequence live_{kRepeats};
  std::array<FakeStage, 2> stages_;
  std::size_t cold_ = 0;  // Stages that a replay reaches.
  std::deque<Flight> flights_;
  std::size_t computed_ = 0;  // Of the flights, the first ones.
};

TEST(LiveSequenceTest, TheTextIsTheSameWithGuessesAndFailuresAndWithout) {
  constexpr std::size_t kSize = 120;
  const Tokens text = Text(kRepeats, kSize);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (const std::size_t guesses : {0U, 1U, 4U}) {
      EXPECT_EQ(Journey(seed, guesses).Run(kSize), text) << "seed " << seed << ", " << guesses;
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace shoal::pipeline
