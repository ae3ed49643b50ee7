// Networks from files for commands that need no data set: what shapes their inputs have, and
// numbers to fill them with.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/status.h"
#include "caffe/net_file.h"
#include "nn/net.h"
#include "tensor/shape.h"

namespace shoal {

// `net` is the path of a prototxt, or "zoo:NAME". Failures name it.
Result<caffe::NetFile> ReadNetFile(const std::string& net);

// "3x32x32": channels, height, width of one image.
Result<Shape> ParseImageShape(const std::string& text);

struct InputWishes {
  std::int64_t batch = 0;           // 0: as the file has it.
  std::optional<Shape> image = {};  // (C, H, W); else from the crop, with 3 channels.
};

// The shapes of what data layers bring; for Input layers, sets the batch in `network` itself.
// kInvalidArgument: the file does not say how large the images are, and nobody else does.
Result<std::map<std::string, Shape>> InputShapes(const InputWishes& wishes,
                                                 caffe::Network& network);

// Images of random numbers, and labels that are classes of the layers that read them. The same for
// the same seed.
void FillInputs(const caffe::Network& network, std::uint64_t seed, nn::Net& net);

}  // namespace shoal
