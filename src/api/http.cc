#include "api/http.h"

#include <algorithm>
#include <cctype>

namespace shoal::api {

std::string_view Request::path() const {
  return std::string_view(target).substr(0, target.find('?'));
}

std::string_view Request::Query(std::string_view name) const {
  std::string_view rest = target;
  const std::size_t mark = rest.find('?');
  rest.remove_prefix(mark == std::string_view::npos ? rest.size() : mark + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    const std::size_t equals = pair.find('=');
    if (pair.substr(0, equals) == name) {
      return equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1);
    }
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
  }
  return {};
}

std::string_view Request::Header(std::string_view name) const {
  const auto same = [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  };
  for (const auto& [key, value] : headers) {
    if (std::equal(key.begin(), key.end(), name.begin(), name.end(), same)) return value;
  }
  return {};
}

}  // namespace shoal::api
