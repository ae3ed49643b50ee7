// The two halves of UpgradeNet that know single layers.
#pragma once

#include "caffe/net_text_internal.h"

namespace shoal::caffe::internal {

using Multipliers = google::protobuf::RepeatedField<float>;

// `blobs_lr` and `weight_decay` as today's `param { lr_mult decay_mult }`.
void SetMultipliers(const Multipliers& lr, const Multipliers& decay,
                    caffe_proto::LayerParameter& to);

// A layer in a layer (V0) as today's.
caffe_proto::LayerParameter UpgradeV0Layer(const caffe_proto::V1LayerParameter& connection);

// Padding was a layer of its own once: moves it into the convolution or pooling that follows.
Status FoldPadding(NetText& net);

}  // namespace shoal::caffe::internal
