// Weights: between the parameters of a model and the layers of a .caffemodel, by Caffe's rules:
// layers are matched by name. Pure; thread-compatible.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/status.h"
#include "caffe/blob.h"
#include "caffe/weights_file.h"
#include "nn/net_def.h"
#include "nn/param_layout.h"
#include "nn/param_store.h"

namespace shoal::train {

// Copies what has a layer of the same name; other layers keep what they have. Returns how many
// layers were copied. kInvalidArgument, which names layer and file: another number of blobs, or
// another shape. REQUIRES: `params` are allocated.
Result<std::size_t> CopyWeights(std::string_view file, const caffe::WeightsFile& weights,
                                nn::ParamStore& params);

// OK if the file has a layer for every parameter; else kInvalidArgument, which names one it lacks.
// (A network that is not trained any more would guess with the random numbers left there.)
Status CheckComplete(std::string_view file, const caffe::WeightsFile& weights,
                     const nn::ParamStore& params);

// CopyWeights from the bytes of a file. kInvalidArgument: also if no layer was copied.
Status LoadWeights(std::string_view file, std::string_view bytes, nn::ParamStore& params);

// The parameters of the layers of `net`, in its order.
caffe::WeightsFile ExportWeights(const nn::NetDef& net, nn::ParamStore& params);

// A parameter or something of its shape, as files have it.
caffe::Blob ToFileBlob(const nn::ParamLayout& layout, std::span<const float> memory);
// The other way. kInvalidArgument: it has another shape.
Status FromFileBlob(const caffe::Blob& blob, const nn::ParamLayout& layout,
                    std::span<float> memory);

}  // namespace shoal::train
