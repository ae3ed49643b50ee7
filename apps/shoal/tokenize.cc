// `shoal tokenize`: how a model cuts a text into tokens.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "llm/tokenizer.h"
#include "llm/utf8.h"
#include "shoal/commands.h"
#include "shoal/tokenizer_files.h"

namespace shoal {
namespace {

struct TokenizeOptions {
  std::string model;
  bool ids = false;
  bool no_special = false;
  bool no_ends = false;
  bool json = false;
};

// A book has a few megabytes; whoever pipes in a disk image is told so.
constexpr std::size_t kTextBytesMax = std::size_t{256} << 20;

Result<std::string> ReadStandardInput() {
  std::string text;
  char buffer[65536];
  while (const std::size_t size = std::fread(buffer, 1, sizeof(buffer), stdin)) {
    text.append(buffer, size);
    if (text.size() > kTextBytesMax) {
      return Status(Code::kInvalidArgument,
                    fmt::format("the text is larger than {} MiB", kTextBytesMax >> 20));
    }
  }
  return text;
}

// On one line whatever it holds: control characters and parts of characters are escaped.
std::string Readable(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const llm::DecodedCharacter character = llm::DecodeCharacter(bytes);
    if (!character.valid || character.code < 0x20 || character.code == 0x7F) {
      for (const char byte : bytes.substr(0, character.size)) {
        out += byte == '\n' ? std::string("\\n")
                            : fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
      }
    } else if (character.code == '\\') {
      out += "\\\\";
    } else {
      out += bytes.substr(0, character.size);
    }
    bytes.remove_prefix(character.size);
  }
  return out;
}

void PrintIds(const std::vector<llm::TokenId>& ids) {
  const char* separator = "";
  for (const llm::TokenId id : ids) {
    fmt::print("{}{}", separator, id);
    separator = " ";
  }
  fmt::print("\n");
}

void PrintTable(const llm::Tokenizer& tokenizer, const std::vector<llm::TokenId>& ids) {
  for (const llm::TokenId id : ids) {
    fmt::print("{:>7}  '{}'{}\n", id, Readable(tokenizer.TokenBytes(id)),
               tokenizer.IsControl(id) ? "  control" : "");
  }
  fmt::print("{} tokens\n", ids.size());
}

void PrintJson(const llm::Tokenizer& tokenizer, const std::vector<llm::TokenId>& ids) {
  nlohmann::json tokens = nlohmann::json::array();
  for (const llm::TokenId id : ids) {
    tokens.push_back({{"id", id}, {"piece", Readable(tokenizer.TokenBytes(id))}});
  }
  fmt::print("{}\n", nlohmann::json{{"count", ids.size()}, {"tokens", tokens}}.dump(2));
}

Status Tokenize(const TokenizeOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(const llm::Tokenizer tokenizer, OpenTokenizer(options.model));
  SHOAL_ASSIGN_OR_RETURN(const std::string text, ReadStandardInput());
  const auto special =
      options.no_special ? llm::SpecialTokens::kAsText : llm::SpecialTokens::kParse;
  const std::vector<llm::TokenId> ids = tokenizer.Encode(
      text, {.special = special, .add_ends = !options.no_special && !options.no_ends});
  if (options.json) {
    PrintJson(tokenizer, ids);
  } else if (options.ids) {
    PrintIds(ids);
  } else {
    PrintTable(tokenizer, ids);
  }
  return {};
}

}  // namespace

void AddTokenize(CLI::App& app) {
  auto options = std::make_shared<TokenizeOptions>();  // Lives as long as the callback.
  CLI::App* command =
      app.add_subcommand("tokenize", "Show the tokens of the text on standard input");
  command
      ->add_option("--model", options->model,
                   "GGUF file, tokenizer.json, tokenizer.model, or a folder with one of these")
      ->required();
  CLI::Option* ids = command->add_flag("--ids", options->ids, "Only their numbers, on one line");
  command->add_flag("--no-special", options->no_special,
                    "Special tokens in the text are text, and none is added around it");
  command->add_flag("--no-ends", options->no_ends, "No beginning and end of sequence are added");
  command->add_flag("--json", options->json, "Print one JSON object")->excludes(ids);
  command->callback([options] { ExitOnError(Tokenize(*options)); });
}

}  // namespace shoal
