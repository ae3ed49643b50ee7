// A NetParameter together with where its layers stood in the text.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "caffe.pb.h"
#include "caffe/net_file.h"
#include "caffe/proto_text_internal.h"

namespace shoal::caffe::internal {

struct NetText {
  std::string file;
  caffe_proto::NetParameter proto;  // In the newest form: `layer` only.
  std::vector<int> lines;           // Of each layer, from 1; 0 if unknown.
  std::vector<std::string> warnings;
};

// Reads the lines off `places` (may be null) and brings `net.proto` into the newest form.
Status FinishNet(const ParseInfoTree* places, NetText& net);

// Legacy forms into the newest: V0 and V1 layers, transformations inside `data_param`, `input`.
Status UpgradeNet(NetText& net);

// "CONVOLUTION" -> "Convolution"; an unknown number gives its digits.
std::string V1TypeName(int type);

// What is left of `net` in `state`: the rules are gone. `state` has phase and level.
struct ResolvedState {
  nn::Phase phase = nn::Phase::kTrain;
  std::int64_t level = 0;
  std::vector<std::string> stages;
};
ResolvedState ResolveState(const caffe_proto::NetState& of_file, const BuildOptions& options);

// Whether a layer is part of the net in `state`; an error if it has both kinds of rules.
Result<bool> IsIncluded(const NetText& net, int layer, const ResolvedState& state);

// "net.prototxt:12: layer "conv1": what".
Status LayerError(const NetText& net, int layer, const std::string& what);

}  // namespace shoal::caffe::internal
