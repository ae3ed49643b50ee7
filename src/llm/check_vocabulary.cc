#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "llm/check_vocabulary_internal.h"
#include "llm/token_index.h"

namespace shoal::llm::internal {
namespace {

Status Error(std::string message) { return Status(Code::kInvalidArgument, std::move(message)); }

Status CheckCount(std::string_view what, std::size_t count, std::size_t wanted) {
  if (count == wanted) return Status();
  return Error(std::to_string(count) + " " + std::string(what) + " for " + std::to_string(wanted) +
               " tokens");
}

Status CheckTokens(const Vocabulary& vocabulary) {
  const std::size_t count = vocabulary.tokens.size();
  if (count == 0) return Error("the vocabulary is empty");
  if (count > kMaxTokens) {
    return Error(std::to_string(count) + " tokens; the limit is " + std::to_string(kMaxTokens));
  }
  SHOAL_RETURN_IF_ERROR(CheckCount("token types", vocabulary.types.size(), count));
  for (std::size_t id = 0; id < count; ++id) {
    const std::size_t size = vocabulary.tokens[id].size();
    if (size > kMaxTokenBytes) {
      return Error("token " + std::to_string(id) + " has " + std::to_string(size) +
                   " bytes; the limit is " + std::to_string(kMaxTokenBytes));
    }
    if (size == 0 && vocabulary.types[id] == TokenType::kNormal) {
      return Error("token " + std::to_string(id) + " is empty");
    }
  }
  return Status();
}

Status CheckScores(const Vocabulary& vocabulary) {
  if (vocabulary.model != TokenModel::kSentencePiece) return Status();
  if (vocabulary.scores.empty() && !vocabulary.merges.empty()) return Status();
  SHOAL_RETURN_IF_ERROR(CheckCount("scores", vocabulary.scores.size(), vocabulary.tokens.size()));
  for (std::size_t id = 0; id < vocabulary.scores.size(); ++id) {
    if (std::isnan(vocabulary.scores[id])) {
      return Error("the score of token " + std::to_string(id) + " is not a number");
    }
  }
  return Status();
}

Status CheckId(std::string_view what, std::optional<TokenId> id, std::size_t count) {
  if (!id || (*id >= 0 && static_cast<std::size_t>(*id) < count)) return Status();
  return Error("the " + std::string(what) + " token is " + std::to_string(*id) +
               ", but there are " + std::to_string(count) + " tokens");
}

Status CheckIds(const Vocabulary& vocabulary) {
  std::vector<std::pair<std::string_view, std::optional<TokenId>>> ids = {
      {"bos", vocabulary.bos},
      {"eos", vocabulary.eos},
      {"eot", vocabulary.eot},
      {"unknown", vocabulary.unknown},
      {"padding", vocabulary.padding}};
  for (const TokenId id : vocabulary.strip_left) ids.emplace_back("stripping", id);
  for (const TokenId id : vocabulary.strip_right) ids.emplace_back("stripping", id);
  for (const auto& [what, id] : ids) {
    SHOAL_RETURN_IF_ERROR(CheckId(what, id, vocabulary.tokens.size()));
  }
  if (vocabulary.add_bos && !vocabulary.bos) return Error("add_bos, but there is no bos token");
  if (vocabulary.add_eos && !vocabulary.eos) return Error("add_eos, but there is no eos token");
  return Status();
}

// A merged token is longer than its halves, so merges cannot go round in a circle.
Status CheckMerge(const Vocabulary& vocabulary, const Merge& merge) {
  const std::size_t count = vocabulary.tokens.size();
  for (const TokenId id : {merge.left, merge.right, merge.merged}) {
    if (id < 0 || static_cast<std::size_t>(id) >= count) {
      return Error("token " + std::to_string(id) + " is beyond the vocabulary");
    }
  }
  const std::string& left = vocabulary.tokens[static_cast<std::size_t>(merge.left)];
  const std::string& right = vocabulary.tokens[static_cast<std::size_t>(merge.right)];
  const std::string& merged = vocabulary.tokens[static_cast<std::size_t>(merge.merged)];
  if (left.empty() || right.empty()) return Error("one side is empty");
  if (merged.size() != left.size() + right.size() || !merged.starts_with(left) ||
      !merged.ends_with(right)) {
    return Error(Quoted(left) + " and " + Quoted(right) + " do not make " + Quoted(merged));
  }
  return Status();
}

Status CheckMerges(const Vocabulary& vocabulary) {
  if (vocabulary.merges.size() > kMaxMerges) {
    return Error(std::to_string(vocabulary.merges.size()) + " merges; the limit is " +
                 std::to_string(kMaxMerges));
  }
  for (std::size_t i = 0; i < vocabulary.merges.size(); ++i) {
    SHOAL_RETURN_IF_ERROR(
        CheckMerge(vocabulary, vocabulary.merges[i]).Annotate("merge " + std::to_string(i)));
  }
  return Status();
}

}  // namespace

Status CheckVocabulary(const Vocabulary& vocabulary) {
  SHOAL_RETURN_IF_ERROR(CheckTokens(vocabulary));
  SHOAL_RETURN_IF_ERROR(CheckScores(vocabulary));
  SHOAL_RETURN_IF_ERROR(CheckIds(vocabulary));
  return CheckMerges(vocabulary);
}

}  // namespace shoal::llm::internal
