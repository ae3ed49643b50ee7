// .caffemodel: the parameters of a network, by the names of its layers. Pure functions on bytes;
// thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "caffe/blob.h"

namespace shoal::caffe {

struct NamedBlobs {
  std::string layer;
  std::string type;  // "Convolution"; for the reader of a file, and for Caffe.
  std::vector<Blob> blobs;
  bool operator==(const NamedBlobs&) const = default;
};

struct WeightsFile {
  std::string net;
  std::vector<NamedBlobs> layers;  // Those that have blobs, in the order of the file.
};

// Reads what Caffe wrote since 2013: `layer`, `layers` (V1), and layers in layers (V0). `file` is
// a name for messages. kCorruption if the bytes are broken; the message says where.
Result<WeightsFile> ReadWeights(std::string_view file, std::string_view bytes);

// The bytes of a file with these layers. Caffe itself reads no more than 2 GiB.
std::string WriteWeights(const WeightsFile& weights);

}  // namespace shoal::caffe
