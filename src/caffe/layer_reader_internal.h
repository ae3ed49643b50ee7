// LayerReader: one layer of a file being turned into an nn::OpDef. The makers of ops read fields
// from it and report through it, so that every message names file, line, layer and field.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "caffe/net_text_internal.h"

namespace shoal::caffe::internal {

// Sizes beyond these are a mistake or an attack; products of them still fit into 64 bits.
inline constexpr std::int64_t kMaxChannels = std::int64_t{1} << 20;
inline constexpr std::int64_t kMaxSide = std::int64_t{1} << 16;
inline constexpr std::int64_t kMaxBatch = std::int64_t{1} << 20;
inline constexpr std::int64_t kMaxElements =
    (std::int64_t{1} << 31) - 1;     // Of a blob, as in Caffe.
inline constexpr int kMaxAxes = 32;  // As in Caffe.

struct LayerReader {
  const NetText& net;
  int index;
  const ResolvedState& state;
  const BuildOptions& options;
  std::vector<std::string>& warnings;

  const caffe_proto::LayerParameter& proto() const { return net.proto.layer(index); }
  Status Error(const std::string& what) const { return LayerError(net, index, what); }
  void Warn(const std::string& what) const;
  // An error unless low <= value <= high.
  Status Range(std::string_view field, std::int64_t value, std::int64_t low,
               std::int64_t high) const;
  // An error unless the value is an axis of some blob, counted from either end.
  Status Axis(std::string_view field, std::int64_t value) const;
  // An error unless the value is a number.
  Status Finite(std::string_view field, float value) const;
};

// A filler; `what` names it in messages ("weight_filler").
Result<nn::Filler> ReadFiller(const LayerReader& layer, std::string_view what,
                              const caffe_proto::FillerParameter& proto);

// A pair given as "pad: 3", as "pad: 3 pad: 5" or as "pad_h: 3 pad_w: 5".
struct PairField {
  std::string_view name;
  std::string_view plain;          // The field without _h and _w: "kernel_size".
  std::vector<std::int64_t> both;  // What it says, none to two values.
  bool has_h;
  bool has_w;
  std::int64_t h;
  std::int64_t w;
  std::int64_t low;
  std::int64_t high;
  std::int64_t missing;  // What holds if nothing is said; below `low` if it must be said.
};
Result<std::array<std::int64_t, 2>> ReadPair(const LayerReader& layer, const PairField& field);

// Dimensions of a blob, each at least 1, whose product a blob can hold.
Result<std::vector<std::int64_t>> ReadShape(const LayerReader& layer, std::string_view field,
                                            const caffe_proto::BlobShape& proto);

// One maker per kind of layer; grouped as the files are.
using OpResult = Result<nn::OpDef>;
OpResult MakeConvolution(const LayerReader& layer);
OpResult MakeDepthwiseConvolution(const LayerReader& layer);
OpResult MakeInnerProduct(const LayerReader& layer);
OpResult MakePooling(const LayerReader& layer);

OpResult MakeBatchNorm(const LayerReader& layer);
OpResult MakeLrn(const LayerReader& layer);
OpResult MakeScale(const LayerReader& layer);
// The scale that `scale_bias: true` puts into a BatchNorm layer.
OpResult MakeInnerScale(const LayerReader& layer);
OpResult MakeBias(const LayerReader& layer);

OpResult MakeRelu(const LayerReader& layer);
OpResult MakeRelu6(const LayerReader& layer);
OpResult MakeClip(const LayerReader& layer);
OpResult MakeSigmoid(const LayerReader& layer);
OpResult MakeTanh(const LayerReader& layer);
OpResult MakeDropout(const LayerReader& layer);
OpResult MakeSoftmax(const LayerReader& layer);
OpResult MakeSoftmaxLoss(const LayerReader& layer);
OpResult MakeEuclideanLoss(const LayerReader& layer);
OpResult MakeAccuracy(const LayerReader& layer);

OpResult MakeInput(const LayerReader& layer);
OpResult MakeConcat(const LayerReader& layer);
OpResult MakeSlice(const LayerReader& layer);
OpResult MakeSplit(const LayerReader& layer);
OpResult MakeEltwise(const LayerReader& layer);
OpResult MakeReshape(const LayerReader& layer);
OpResult MakeFlatten(const LayerReader& layer);
OpResult MakeSilence(const LayerReader& layer);

// Layers that bring data, instead of an op.
Result<data::SourceDef> ReadLmdbSource(const LayerReader& layer);
Result<data::SourceDef> ReadImageListSource(const LayerReader& layer);
Result<data::SourceDef> ReadMemorySource(const LayerReader& layer);

}  // namespace shoal::caffe::internal
