// The files of zoo/, which are part of the program: a phone gets one file.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tensor/shape.h"

namespace shoal {

struct ZooFile {
  std::string_view path;  // "alexnet/solver.prototxt"
  std::string_view text;
};

// Sorted by path. (Generated: cmake/embed_zoo.cmake.)
std::span<const ZooFile> ZooFiles();

// The networks, in alphabetical order.
std::vector<std::string> ZooNames();

// The files of a network. kNotFound: there is no such network; says which there are.
Result<std::vector<ZooFile>> ZooFilesOf(std::string_view net);

// kNotFound: the network has no such file, or there is no such network.
Result<ZooFile> FindZooFile(std::string_view net, std::string_view file);

// (C, H, W) of the images of a network whose file leaves that to its data set.
std::optional<Shape> ZooImage(std::string_view net);

}  // namespace shoal
