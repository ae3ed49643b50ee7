#include "shoal/by_node.h"

#include <fmt/core.h>

#include <sstream>

namespace shoal {

std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

Result<WordsByNode> ParseByNode(const char* option, const std::vector<std::string>& texts,
                                std::size_t nodes) {
  WordsByNode by_node;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    std::size_t node = 0;
    if (equals != std::string::npos && equals > 0 && equals < 5 &&
        text.find_first_not_of("0123456789") == equals) {
      node = std::stoul(text.substr(0, equals));
    }
    const std::vector<std::string> words =
        node == 0 ? std::vector<std::string>() : Words(text.substr(equals + 1));
    if (words.empty() || node > nodes) {
      return Status(Code::kInvalidArgument, fmt::format("{} {}: wanted NODE=WORDS with NODE from 1 "
                                                        "to {}",
                                                        option, text, nodes));
    }
    by_node[node] = words;
  }
  return by_node;
}

}  // namespace shoal
