#include "wire/join_token.h"

#include <gtest/gtest.h>

namespace shoal::wire {
namespace {

JoinToken Example() {
  JoinToken token;
  for (std::size_t i = 0; i < kAuthorityHashBytes; ++i) token.authority[i] = std::byte(i * 17);
  for (std::size_t i = 0; i < kJoinSecretBytes; ++i) token.secret[i] = std::byte(255 - i * 13);
  return token;
}

TEST(JoinToken, ComesBackFromItsText) {
  const std::string text = EncodeJoinToken(Example());
  EXPECT_EQ(text.size(), std::string("SHOAL1").size() + 7 * 9);
  const Result<JoinToken> token = DecodeJoinToken(text);
  ASSERT_TRUE(token.ok()) << token.status().ToString();
  EXPECT_EQ(*token, Example());
}

TEST(JoinToken, IsReadAsPeopleWriteIt) {
  std::string text = EncodeJoinToken(Example());
  for (char& c : text) {
    if (c == '-') c = ' ';
    if (c == '0') c = 'o';
    if (c == '1' && &c != &text[5]) c = 'l';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const Result<JoinToken> token = DecodeJoinToken(text);
  ASSERT_TRUE(token.ok()) << token.status().ToString();
  EXPECT_EQ(*token, Example());
}

TEST(JoinToken, EveryWrongLetterIsFound) {
  const std::string text = EncodeJoinToken(Example());
  for (std::size_t i = 7; i < text.size(); ++i) {
    if (text[i] == '-') continue;
    std::string wrong = text;
    wrong[i] = wrong[i] == 'Z' ? 'Y' : 'Z';
    EXPECT_FALSE(DecodeJoinToken(wrong).ok()) << wrong;
  }
}

TEST(JoinToken, SwappedNeighboursAreFound) {
  const std::string text = EncodeJoinToken(Example());
  for (std::size_t i = 7; i + 1 < text.size(); ++i) {
    std::string wrong = text;
    std::swap(wrong[i], wrong[i + 1]);
    if (wrong[i] == '-' || wrong[i + 1] == '-' || wrong[i] == wrong[i + 1]) continue;
    EXPECT_FALSE(DecodeJoinToken(wrong).ok()) << wrong;
  }
}

TEST(JoinToken, SaysWhatIsWrong) {
  const auto message = [](std::string_view text) {
    const Result<JoinToken> token = DecodeJoinToken(text);
    return token.ok() ? "fine" : std::string(token.status().message());
  };
  const std::string text = EncodeJoinToken(Example());
  EXPECT_NE(message("").find("does not begin with SHOAL1-"), std::string::npos);
  EXPECT_NE(message("hunter2").find("does not begin with SHOAL1-"), std::string::npos);
  EXPECT_NE(message("SHOAL2" + text.substr(6)).find("another version"), std::string::npos);
  EXPECT_NE(message(text.substr(0, text.size() - 4)).find("52 of 56 letters"), std::string::npos);
  EXPECT_NE(message(text + "0").find("too long"), std::string::npos);
  EXPECT_NE(message(text + "!").find("a character that no token has"), std::string::npos);
  // Nothing of a nearly right token shows up in a message.
  std::string wrong = text;
  wrong.back() = wrong.back() == 'Z' ? 'Y' : 'Z';
  EXPECT_EQ(message(wrong).find(text.substr(20, 8)), std::string::npos);
}

}  // namespace
}  // namespace shoal::wire
