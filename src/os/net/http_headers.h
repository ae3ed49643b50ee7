// The headers of an HTTP message, in their order.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shoal::os {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// The first of that name, in any case; empty: there is none.
std::string_view FindHeader(const HttpHeaders& headers, std::string_view name);

}  // namespace shoal::os
