#include "shoal/zoo_files.h"

#include <fmt/format.h>

namespace shoal {

std::vector<std::string> ZooNames() {
  std::vector<std::string> names;
  for (const ZooFile& file : ZooFiles()) {
    const std::string_view name = file.path.substr(0, file.path.find('/'));
    if (names.empty() || names.back() != name) names.emplace_back(name);
  }
  return names;
}

Result<std::vector<ZooFile>> ZooFilesOf(std::string_view net) {
  std::vector<ZooFile> files;
  for (const ZooFile& file : ZooFiles()) {
    if (file.path.substr(0, file.path.find('/')) == net) files.push_back(file);
  }
  if (files.empty()) {
    return Status(Code::kNotFound, fmt::format("no network '{}' in the zoo; it has {}", net,
                                               fmt::join(ZooNames(), ", ")));
  }
  return files;
}

Result<ZooFile> FindZooFile(std::string_view net, std::string_view file) {
  SHOAL_ASSIGN_OR_RETURN(const std::vector<ZooFile> files, ZooFilesOf(net));
  std::vector<std::string_view> names;
  for (const ZooFile& candidate : files) {
    names.push_back(candidate.path.substr(net.size() + 1));
    if (names.back() == file) return candidate;
  }
  return Status(Code::kNotFound, fmt::format("'{}' has no {} in the zoo; it has {}", net, file,
                                             fmt::join(names, ", ")));
}

std::optional<Shape> ZooImage(std::string_view net) {
  if (net == "lenet") return Shape{1, 28, 28};
  if (net == "cifar10_quick") return Shape{3, 32, 32};
  return std::nullopt;
}

}  // namespace shoal
