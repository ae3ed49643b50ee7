#include "train/cluster/trainable.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <variant>

namespace shoal::train {
namespace {

Status Invalid(std::string message) { return Status(Code::kInvalidArgument, std::move(message)); }

std::string Names(const caffe::Network& network) {
  std::string names;
  for (const data::SourceDef& source : network.sources) {
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", source.layer);
  }
  return names.empty() ? "none" : names;
}

Status CheckLayer(const nn::LayerDef& layer) {
  const auto* input = std::get_if<nn::InputDef>(&layer.op);
  if (input != nullptr && !input->shapes.empty()) {
    return Invalid(
        fmt::format("layer \"{}\": nobody fills an Input layer in a cluster: data must "
                    "come from a Data or ImageData layer",
                    layer.name));
  }
  const auto* loss = std::get_if<nn::SoftmaxLossDef>(&layer.op);
  if (loss != nullptr && loss->normalization == nn::Normalization::kNone) {
    return Invalid(
        fmt::format("layer \"{}\": with `normalization: NONE` the loss is no mean, and "
                    "workers cannot share a batch",
                    layer.name));
  }
  return {};
}

}  // namespace

Status CheckRule(const LearnerRule& rule) {
  if (rule.mode == LearnerMode::kSync) return {};
  if (rule.period < 1 || rule.period > 1'000'000) {
    return Invalid("workers that average need a period of at least one update");
  }
  if (rule.mode == LearnerMode::kLocal) return {};
  if (!(rule.alpha > 0 && rule.alpha < 1) || !(rule.beta > 0 && rule.beta <= 1)) {
    return Invalid("elastic averaging needs alpha in (0, 1) and beta in (0, 1]");
  }
  return {};
}

Status CheckTrainable(const caffe::Network& network) {
  if (network.sources.size() != 1) {
    return Invalid(
        "a cluster trains networks with exactly one layer that brings data; here it is " +
        Names(network));
  }
  const data::SourceDef& source = network.sources[0];
  if (std::holds_alternative<data::MemoryDef>(source.from)) {
    return Invalid(
        fmt::format("layer \"{}\": a MemoryData layer has no records to deal out", source.layer));
  }
  for (const nn::LayerDef& layer : network.net.layers) SHOAL_RETURN_IF_ERROR(CheckLayer(layer));
  return {};
}

}  // namespace shoal::train
