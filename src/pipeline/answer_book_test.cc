// Goal: every listener is told every token once and in order, whatever it does while it is told,
// and a restarted head knows what it had accepted.
#include "pipeline/answer_book.h"

#include <gtest/gtest.h>

#include <utility>

#include "sim/manual_clock_for_test.h"

namespace shoal::pipeline {
namespace {

class MemoryStore final : public AnswerStore {
 public:
  Status Save(const std::string& id, std::string_view bytes) override {
    if (full) return {Code::kResourceExhausted, "full"};
    saved[id] = bytes;
    return {};
  }
  void Remove(const std::string& id) override { saved.erase(id); }
  std::vector<std::string> LoadAll() override {
    std::vector<std::string> all;
    for (const auto& [id, bytes] : saved) all.push_back(bytes);
    return all;
  }

  std::map<std::string, std::string> saved;
  bool full = false;
};

// Writes down what it is told: "0:5 1:6 waits(why) goes-on end(length)".
class Listener final : public AnswerEvents {
 public:
  void OnToken(std::size_t index, const llm::SampledToken& token) override {
    Note(std::to_string(index) + ":" + std::to_string(token.token));
    if (on_token) on_token(index);
  }
  void OnEnd(AnswerEnd how, const Status& status) override {
    constexpr const char* kNames[] = {"token", "length", "stopped", "failed", "cancelled"};
    Note(std::string("end(") + kNames[static_cast<std::size_t>(how)] + ")");
    why = status;
    if (on_end) on_end();
  }
  void OnWaiting(const std::string& reason) override {
    Note(reason.empty() ? "goes-on" : "waits(" + reason + ")");
  }

  std::string told;
  Status why;
  std::function<void(std::size_t)> on_token;
  std::function<void()> on_end;

 private:
  void Note(const std::string& text) { told += (told.empty() ? "" : " ") + text; }
};

Question Asked(const std::string& id) {
  Question question;
  question.id = id;
  question.prompt = {1, 2};
  return question;
}

class AnswerBookTest : public testing::Test {
 protected:
  void Open(const std::string& id, AnswerEvents* events) {
    const Status status = book_.Open(Asked(id), events);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  void Add(const std::string& id, std::int32_t token) {
    book_.Add(id, {.token = token, .logprob = 0, .top = {}});
  }
  void Run() { time_.Pass(Duration{0}); }

  sim::ManualClock time_;
  MemoryStore store_;
  AnswerBook book_{time_.clock(), store_, "model"};
};

TEST_F(AnswerBookTest, TokensComeInOrderOnceAndThenTheEnd) {
  Listener listener;
  Open("a", &listener);
  Add("a", 5);
  Add("a", 6);
  book_.End("a", AnswerEnd::kLength, {});
  EXPECT_EQ(book_.open(), 0U);
  Run();
  Run();
  EXPECT_EQ(listener.told, "0:5 1:6 end(length)");
}

TEST_F(AnswerBookTest, AnIdIsTakenOnce) {
  Listener listener;
  Open("a", &listener);
  EXPECT_EQ(book_.Open(Asked("a"), &listener).code(), Code::kInvalidArgument);
  book_.End("a", AnswerEnd::kStopped, {});
  EXPECT_EQ(book_.Open(Asked("a"), &listener).code(), Code::kInvalidArgument);
}

// A stop string in wrong rows is no reason to believe them.
TEST_F(AnswerBookTest, WhatSomebodyWantedBeginsAnew) {
  for (const AnswerEnd how : {AnswerEnd::kLength, AnswerEnd::kStopped, AnswerEnd::kCancelled}) {
    const std::string id = std::to_string(static_cast<int>(how));
    Listener listener;
    Open(id, &listener);
    Add(id, 5);
    book_.End(id, how, {});
    Run();
    EXPECT_EQ(book_.Restart(id, {Code::kCorruption, "wrong"}), how != AnswerEnd::kCancelled);
    EXPECT_EQ(book_.Find(id)->ended, how == AnswerEnd::kCancelled);
  }
}

TEST_F(AnswerBookTest, WhatCannotBeStoredIsNotAccepted) {
  Listener listener;
  store_.full = true;
  EXPECT_EQ(book_.Open(Asked("a"), &listener).code(), Code::kResourceExhausted);
  EXPECT_EQ(book_.Find("a"), nullptr);
  EXPECT_EQ(book_.open(), 0U);
  store_.full = false;
  Open("a", &listener);
  EXPECT_TRUE(store_.saved.contains("a"));
}

TEST_F(AnswerBookTest, AFullStoreLaterLosesNoToken) {
  Listener listener;
  Open("a", &listener);
  store_.full = true;
  for (std::size_t i = 0; i <= AnswerBook::kTokensPerSave; ++i) Add("a", 3);
  book_.End("a", AnswerEnd::kLength, {});
  Run();
  EXPECT_EQ(book_.Find("a")->tokens.size(), AnswerBook::kTokensPerSave + 1);
  EXPECT_TRUE(listener.told.ends_with("64:3 end(length)")) << listener.told;
}

TEST_F(AnswerBookTest, ThoseWhoComeLaterGetAllFromWhereTheyWant) {
  Listener first;
  Open("a", &first);
  Add("a", 5);
  Add("a", 6);
  Listener all;
  Listener rest;
  Listener ahead;
  ASSERT_TRUE(book_.Listen("a", 0, &all).ok());
  ASSERT_TRUE(book_.Listen("a", 1, &rest).ok());
  ASSERT_TRUE(book_.Listen("a", 3, &ahead).ok());
  EXPECT_EQ(all.told, "") << "never inside the call";
  Run();
  EXPECT_EQ(all.told, "0:5 1:6");
  Add("a", 7);
  Add("a", 8);
  book_.End("a", AnswerEnd::kEndToken, {});
  Run();
  EXPECT_EQ(first.told, "0:5 1:6 2:7 3:8 end(token)");
  EXPECT_EQ(all.told, first.told);
  EXPECT_EQ(rest.told, "1:6 2:7 3:8 end(token)");
  EXPECT_EQ(ahead.told, "3:8 end(token)");

  Listener late;
  Listener beyond;
  ASSERT_TRUE(book_.Listen("a", 2, &late).ok());
  ASSERT_TRUE(book_.Listen("a", 9, &beyond).ok());
  Run();
  EXPECT_EQ(late.told, "2:7 3:8 end(token)");
  EXPECT_EQ(beyond.told, "end(token)");
  EXPECT_EQ(book_.Listen("nobody's", 0, &late).code(), Code::kNotFound);
}

TEST_F(AnswerBookTest, AListenerMayForgetItselfAndOthersWhileItIsTold) {
  Listener first;
  Listener second;
  Open("a", &first);
  ASSERT_TRUE(book_.Listen("a", 0, &second).ok());
  Run();
  first.on_token = [&](std::size_t index) {
    book_.Forget(&first);
    if (index == 0) book_.Forget(&second);
  };
  Add("a", 5);
  Add("a", 6);
  book_.End("a", AnswerEnd::kLength, {});
  Run();
  EXPECT_EQ(first.told, "0:5");
  EXPECT_EQ(second.told, "");
  EXPECT_EQ(book_.Find("a")->tokens.size(), 2U) << "the answer goes on";
}

TEST_F(AnswerBookTest, AnAnswerMayBeEndedWhileItsTokenIsTold) {
  Listener first;
  Listener second;
  Open("a", &first);
  ASSERT_TRUE(book_.Listen("a", 0, &second).ok());
  first.on_token = [&](std::size_t) { book_.End("a", AnswerEnd::kStopped, {}); };
  Add("a", 5);
  Run();
  EXPECT_EQ(first.told, "0:5 end(stopped)");
  EXPECT_EQ(second.told, first.told);
}

TEST_F(AnswerBookTest, AListenerMayListenAgainAndAskWhileItIsTold) {
  Listener first;
  Listener again;
  Listener other;
  Open("a", &first);
  first.on_end = [&] {
    ASSERT_TRUE(book_.Listen("a", 0, &again).ok());
    Open("b", &other);
  };
  Add("a", 5);
  book_.End("a", AnswerEnd::kLength, {});
  Run();
  EXPECT_EQ(first.told, "0:5 end(length)");
  EXPECT_EQ(again.told, first.told);
  EXPECT_EQ(book_.open(), 1U);
}

TEST_F(AnswerBookTest, WaitingIsToldOncePerReasonAndSoIsItsEnd) {
  Listener listener;
  Listener done;
  Open("a", &listener);
  Open("b", &done);
  book_.End("b", AnswerEnd::kLength, {});
  Run();
  book_.SetWaiting("1 phone");
  book_.SetWaiting("1 phone");
  Run();
  book_.SetWaiting("2 phones");
  Run();
  Listener late;
  ASSERT_TRUE(book_.Listen("a", 0, &late).ok());
  Listener asker;
  Open("c", &asker);
  Run();
  book_.SetWaiting("");
  book_.SetWaiting("");
  Run();
  Add("a", 5);
  EXPECT_EQ(listener.told, "waits(1 phone) waits(2 phones) goes-on 0:5");
  EXPECT_EQ(late.told, "waits(2 phones) goes-on 0:5");
  EXPECT_EQ(asker.told, "waits(2 phones) goes-on");
  EXPECT_EQ(done.told, "end(length)");
}

TEST_F(AnswerBookTest, AWaitThatIsOverBeforeItIsToldIsNotTold) {
  Listener listener;
  Open("a", &listener);
  book_.SetWaiting("1 phone");
  book_.SetWaiting("");
  Run();
  EXPECT_EQ(listener.told, "");
}

TEST_F(AnswerBookTest, ARestartedHeadKnowsWhatItAccepted) {
  Listener listener;
  Open("open", &listener);
  Open("saved", &listener);
  Open("ended", &listener);
  Add("open", 5);
  for (std::size_t i = 0; i < AnswerBook::kTokensPerSave; ++i) Add("saved", 6);
  Add("ended", 7);
  book_.End("ended", AnswerEnd::kEndToken, {});
  store_.saved["junk"] = "no answer";

  AnswerBook restarted(time_.clock(), store_, "model");
  EXPECT_EQ(restarted.Restore(), (std::vector<std::string>{"open", "saved"}));
  EXPECT_EQ(restarted.open(), 2U);
  EXPECT_EQ(restarted.Find("open")->question.prompt, (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(restarted.Find("saved")->tokens.size(), AnswerBook::kTokensPerSave);
  Listener back;
  ASSERT_TRUE(restarted.Listen("ended", 0, &back).ok());
  Run();
  EXPECT_EQ(back.told, "0:7 end(token)");
}

TEST_F(AnswerBookTest, AnAnswerOfAnotherModelHasFailedAfterARestart) {
  Listener listener;
  Open("open", &listener);
  Open("ended", &listener);
  book_.End("ended", AnswerEnd::kLength, {});
  AnswerBook restarted(time_.clock(), store_, "another model");
  EXPECT_TRUE(restarted.Restore().empty());
  EXPECT_EQ(restarted.open(), 0U);
  Listener back;
  ASSERT_TRUE(restarted.Listen("open", 0, &back).ok());
  Run();
  EXPECT_EQ(back.told, "end(failed)");
  EXPECT_EQ(back.why.code(), Code::kUnavailable);
  EXPECT_EQ(restarted.Find("ended")->how, AnswerEnd::kLength);
}

TEST_F(AnswerBookTest, OfThoseThatHaveEndedTheOldestAreDropped) {
  Listener open;
  Open("open", &open);
  for (std::size_t i = 0; i < AnswerBook::kEndedMax + 2; ++i) {
    Listener listener;
    const std::string id = std::to_string(i);
    Open(id, &listener);
    book_.End(id, AnswerEnd::kLength, {});
    Run();
    EXPECT_EQ(listener.told, "end(length)");
  }
  EXPECT_EQ(book_.Find("0"), nullptr);
  EXPECT_EQ(book_.Find("1"), nullptr);
  EXPECT_NE(book_.Find("2"), nullptr);
  EXPECT_FALSE(store_.saved.contains("1"));
  EXPECT_TRUE(store_.saved.contains("2"));
  EXPECT_NE(book_.Find("open"), nullptr);
  EXPECT_EQ(book_.open(), 1U);
}

TEST_F(AnswerBookTest, ThoseThatEndAllAtOnceAreAllTold) {
  std::vector<Listener> listeners(AnswerBook::kEndedMax + 2);
  for (std::size_t i = 0; i < listeners.size(); ++i) Open(std::to_string(i), &listeners[i]);
  for (std::size_t i = 0; i < listeners.size(); ++i) {
    book_.End(std::to_string(i), AnswerEnd::kStopped, {});
  }
  Run();
  for (const Listener& listener : listeners) EXPECT_EQ(listener.told, "end(stopped)");
  EXPECT_EQ(book_.Find("0"), nullptr);
  EXPECT_EQ(store_.saved.size(), AnswerBook::kEndedMax);
}

TEST_F(AnswerBookTest, ABookThatIsGoneTellsNobody) {
  Listener listener;
  {
    AnswerBook book(time_.clock(), store_, "model");
    ASSERT_TRUE(book.Open(Asked("z"), &listener).ok());
    book.End("z", AnswerEnd::kLength, {});
  }
  Run();
  EXPECT_EQ(listener.told, "");
}

}  // namespace
}  // namespace shoal::pipeline
