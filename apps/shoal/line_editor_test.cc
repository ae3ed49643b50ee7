#include "shoal/line_editor.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

TEST(EditedLineTest, EditsByCharactersNotBytes) {
  EditedLine line;
  line.Insert("Grüße");
  line.Left();
  line.EraseBefore();
  EXPECT_EQ(line.text(), "Grüe");
  line.Left();
  line.EraseAfter();
  EXPECT_EQ(line.text(), "Gre");
  line.Insert("ö");
  EXPECT_EQ(line.text(), "Gröe");
  line.Home();
  line.Left();
  line.EraseBefore();
  line.Right();
  line.Insert("!");
  EXPECT_EQ(line.text(), "G!röe");
}

TEST(EditedLineTest, ErasesWordsAndEnds) {
  EditedLine line;
  line.Set("tell me a  ");
  line.EraseWordBefore();
  EXPECT_EQ(line.text(), "tell me ");
  line.Set("tell me");
  line.Home();
  line.Right();
  line.EraseToEnd();
  EXPECT_EQ(line.text(), "t");
  line.Set("tell me");
  line.Left();
  line.EraseToHome();
  EXPECT_EQ(line.text(), "e");
  line.EraseWordBefore();
  EXPECT_EQ(line.text(), "e");
}

TEST(EditedLineTest, TheCursorIsAlwaysVisible) {
  EditedLine line;
  line.Set("äbcdefgh");
  EXPECT_EQ(line.Visible(4).text, "efgh");
  EXPECT_EQ(line.Visible(4).cursor, 4U);
  line.Home();
  EXPECT_EQ(line.Visible(4).text, "äbcd");
  EXPECT_EQ(line.Visible(4).cursor, 0U);
  EXPECT_EQ(line.Visible(80).text, "äbcdefgh");
}

}  // namespace
}  // namespace shoal
