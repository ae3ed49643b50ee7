// Unknown fields: which of them are a fork's that may be ignored, and what was meant by the others.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <string_view>

namespace shoal::caffe::internal {

// Whether a network means the same without `field`, which is unknown in `message`
// ("LayerParameter"): tuning, bookkeeping and random image changes of Intel's and NVIDIA's forks,
// parameters of their own layers.
bool IsHarmless(std::string_view message, std::string_view field);

// The field of `message` that `name` is likely a misspelling of; empty if there is none.
std::string LikelyField(const google::protobuf::Descriptor& message, std::string_view name);

}  // namespace shoal::caffe::internal
