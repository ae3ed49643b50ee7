// BlobProto: a blob on the wire.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"
#include "caffe/blob.h"
#include "caffe/wire_format_internal.h"

namespace shoal::caffe::internal {

// Reads the BlobProto that `reader` walks over. `what` names it in messages ("layer conv1, blob
// 0"). Accepts shapes old and new, packed and unpacked floats, and doubles; gradients are skipped.
Result<Blob> ReadBlob(std::string_view file, const std::string& what, WireReader reader);

// The bytes of a BlobProto with `shape` and packed `data`.
std::size_t BlobSize(const Blob& blob);
void AppendBlob(const Blob& blob, std::string& out);

// The message for what is not a file of ours at all: empty, HDF5, text; OK for anything else.
Status CheckBinary(std::string_view file, std::string_view bytes, std::string_view expected);

}  // namespace shoal::caffe::internal
