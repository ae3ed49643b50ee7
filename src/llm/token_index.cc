#include "llm/token_index.h"

#include <string>

#include "llm/utf8.h"

namespace shoal::llm {
namespace {

Status Error(std::size_t number, const std::string& what) {
  return Status(Code::kInvalidArgument, "merge " + std::to_string(number) + ": " + what);
}

Result<TokenId> FindPart(const TokenIndex& index, std::string_view text, std::size_t number) {
  if (text.empty()) return Error(number, "one side is empty");
  const std::optional<TokenId> id = index.Find(text);
  if (!id) return Error(number, Quoted(text) + " is not in the vocabulary");
  return *id;
}

}  // namespace

Result<TokenIndex> TokenIndex::Make(std::span<const std::string> tokens) {
  TokenIndex index;
  index.ids_.reserve(tokens.size());
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (tokens[id].empty()) continue;
    const auto [at, fresh] = index.ids_.emplace(tokens[id], static_cast<TokenId>(id));
    if (fresh) continue;
    return Status(Code::kInvalidArgument, "tokens " + std::to_string(at->second) + " and " +
                                              std::to_string(id) + " are both " +
                                              Quoted(tokens[id]));
  }
  return index;
}

std::optional<TokenId> TokenIndex::Find(std::string_view text) const {
  const auto found = ids_.find(text);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

Result<Merge> FindMerge(const TokenIndex& index, std::string_view left, std::string_view right,
                        std::size_t number) {
  Merge merge;
  SHOAL_ASSIGN_OR_RETURN(merge.left, FindPart(index, left, number));
  SHOAL_ASSIGN_OR_RETURN(merge.right, FindPart(index, right, number));
  SHOAL_ASSIGN_OR_RETURN(merge.merged, FindPart(index, std::string(left).append(right), number));
  return merge;
}

Result<Merge> ParseMerge(const TokenIndex& index, std::string_view text, std::size_t number) {
  // The left side may itself begin with a space.
  const std::size_t space = text.find(' ', 1);
  if (text.size() < 3 || space == std::string_view::npos) {
    return Error(number, Quoted(text) + " is not two texts with a space between them");
  }
  return FindMerge(index, text.substr(0, space), text.substr(space + 1), number);
}

std::string Quoted(std::string_view text, std::size_t bytes_max) {
  std::string out = "\"";
  std::string_view rest = text.substr(0, bytes_max);
  rest.remove_suffix(UnfinishedBytes(rest));
  while (!rest.empty()) {
    const DecodedCharacter character = DecodeCharacter(rest);
    rest.remove_prefix(character.size);
    if (character.code == '\n') {
      out += "\\n";
    } else if (character.code < 0x20 || character.code == 0x7F) {
      out += '?';
    } else {
      AppendCharacter(character.code, out);
    }
  }
  return out + (text.size() > bytes_max ? "…\"" : "\"");
}

}  // namespace shoal::llm
