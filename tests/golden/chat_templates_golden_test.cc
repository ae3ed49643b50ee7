// What Jinja makes of chat templates (scripts/golden/make_templates.py), made again. Published
// templates, which are not part of this repository, are compared if SHOAL_CHAT_TEMPLATES names
// a file that the script wrote about them.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "llm/chat_template.h"
#include "os/file.h"

namespace shoal::llm {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kBytesMax = std::size_t{256} << 20;

Result<ChatPrompt> Render(const std::string& source, Json variables) {
  SHOAL_ASSIGN_OR_RETURN(const ChatTemplate parsed, ChatTemplate::Parse(source));
  ChatOptions options{.bos_token = variables.at("bos_token").get<std::string>(),
                      .eos_token = variables.at("eos_token").get<std::string>()};
  const std::string today = variables.at("today").get<std::string>();
  ChatDate date;
  std::sscanf(today.c_str(), "%d-%d-%d", &date.year, &date.month, &date.day);
  options.today = date;
  variables.erase("bos_token");
  variables.erase("eos_token");
  options.variables = variables.dump();  // The messages, too: there they may hold anything.
  return parsed.Render({}, options);
}

void CompareAll(const std::string& path) {
  const auto text = os::ReadFile(path, kBytesMax);
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  std::size_t compared = 0;
  std::size_t refused = 0;
  const Json golden = Json::parse(*text);
  for (const Json& each : golden.at("cases")) {
    const std::string name = each.at("name").get<std::string>();
    const Json& source = golden.at("templates").at(each.at("template").get<std::string>());
    const auto prompt = Render(source.get<std::string>(), each.at("variables"));
    if (each.contains("error")) {
      EXPECT_FALSE(prompt.ok()) << name << ": Jinja says " << each.at("error");
      ++refused;
      continue;
    }
    ++compared;
    EXPECT_TRUE(prompt.ok()) << name << ": " << prompt.status().ToString();
    if (!prompt.ok()) continue;
    EXPECT_EQ(prompt->Text(), each.at("text").get<std::string>()) << name;
  }
  std::printf("%zu prompts equal, %zu refused\n", compared, refused);
}

TEST(ChatTemplatesGolden, OurOwn) { CompareAll(SHOAL_GOLDEN "/chat_templates.json"); }

TEST(ChatTemplatesGolden, Published) {
  const char* path = std::getenv("SHOAL_CHAT_TEMPLATES");
  if (path == nullptr) GTEST_SKIP() << "SHOAL_CHAT_TEMPLATES names no file";
  CompareAll(path);
}

}  // namespace
}  // namespace shoal::llm
