// Which layers of a file are part of a net: `include` and `exclude`.
#include <algorithm>

#include "caffe/net_text_internal.h"

namespace shoal::caffe::internal {
namespace {

nn::Phase ToPhase(caffe_proto::Phase phase) {
  return phase == caffe_proto::TRAIN ? nn::Phase::kTrain : nn::Phase::kTest;
}

// All that a rule says must hold.
bool Meets(const ResolvedState& state, const caffe_proto::NetStateRule& rule) {
  const auto has = [&](const std::string& stage) {
    return std::find(state.stages.begin(), state.stages.end(), stage) != state.stages.end();
  };
  if (rule.has_phase() && ToPhase(rule.phase()) != state.phase) return false;
  if (rule.has_min_level() && state.level < rule.min_level()) return false;
  if (rule.has_max_level() && state.level > rule.max_level()) return false;
  return std::all_of(rule.stage().begin(), rule.stage().end(), has) &&
         std::none_of(rule.not_stage().begin(), rule.not_stage().end(), has);
}

}  // namespace

ResolvedState ResolveState(const caffe_proto::NetState& of_file, const BuildOptions& options) {
  ResolvedState state;
  state.phase = options.phase;
  if (of_file.has_phase()) state.phase = ToPhase(of_file.phase());
  state.level = of_file.level();
  state.stages.assign(of_file.stage().begin(), of_file.stage().end());
  state.phase = options.state.phase.value_or(state.phase);
  state.level = options.state.level.value_or(state.level);
  state.stages.insert(state.stages.end(), options.state.stages.begin(), options.state.stages.end());
  return state;
}

Result<bool> IsIncluded(const NetText& net, int layer, const ResolvedState& state) {
  const auto& proto = net.proto.layer(layer);
  if (proto.include_size() > 0 && proto.exclude_size() > 0) {
    return LayerError(net, layer, "has both include and exclude rules; keep one kind");
  }
  const auto meets = [&](const caffe_proto::NetStateRule& rule) { return Meets(state, rule); };
  if (proto.include_size() > 0) {
    return std::any_of(proto.include().begin(), proto.include().end(), meets);
  }
  return std::none_of(proto.exclude().begin(), proto.exclude().end(), meets);
}

Status LayerError(const NetText& net, int layer, const std::string& what) {
  const auto index = static_cast<std::size_t>(layer);
  std::string place = net.file;
  if (index < net.lines.size() && net.lines[index] > 0) {
    place += ':';
    place += std::to_string(net.lines[index]);
  }
  const std::string& name = net.proto.layer(layer).name();
  const std::string which = name.empty() ? "layer " + std::to_string(layer + 1) + " (without name)"
                                         : "layer \"" + name + "\"";
  return Status(Code::kInvalidArgument, place + ": " + which + ": " + what);
}

}  // namespace shoal::caffe::internal
