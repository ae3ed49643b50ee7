#include "shoal/model_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace shoal {
namespace {

using llm::ModelConfig;

// "15.2 M", "6.74 G".
std::string Count(std::uint64_t number) {
  struct Unit {
    double size;
    std::string_view name;
  };
  constexpr std::array<Unit, 3> kUnits = {{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  const auto value = static_cast<double>(number);
  for (const Unit& unit : kUnits) {
    if (value >= unit.size) return fmt::format("{:.3g} {}", value / unit.size, unit.name);
  }
  return fmt::format("{}", number);
}

std::string Bytes(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (value >= 0x1p30) return fmt::format("{:.2f} GiB", value / 0x1p30);
  if (value >= 0x1p20) return fmt::format("{:.1f} MiB", value / 0x1p20);
  return fmt::format("{:.1f} KiB", value / 0x1p10);
}

std::string_view ScalingName(llm::RopeScaling scaling) {
  switch (scaling) {
    case llm::RopeScaling::kNone:
      return "none";
    case llm::RopeScaling::kLinear:
      return "linear";
    case llm::RopeScaling::kYarn:
      return "yarn";
  }
  return "";
}

std::string Line(std::string_view label, const std::string& value) {
  return fmt::format("{:<14} {}\n", label, value);
}

std::string FeedForward(const ModelConfig& config) {
  if (config.experts == 0) return fmt::format("{}", config.ff_dim);
  return fmt::format("{} experts of {}, {} used for a token", config.experts, config.expert_ff_dim,
                     config.experts_used);
}

std::string Rope(const ModelConfig& config) {
  std::string text = fmt::format("base {}, {} of {} numbers of a head", config.rope.base,
                                 config.rope.dims, config.head_dim);
  if (config.rope.scaling != llm::RopeScaling::kNone) {
    text += fmt::format(", {} scaling by {}", ScalingName(config.rope.scaling), config.rope.factor);
  }
  if (!config.rope.frequency_factors.empty()) text += ", with a factor for each frequency";
  return text;
}

std::string Phones(const ModelReport& report) {
  const std::string assumed = fmt::format(
      "{} usable on each, whole layers with F16 keys and values of {} tokens; embedding and output "
      "({}) stay with the head",
      Bytes(report.needs.memory), report.needs.context, Bytes(report.size.head_bytes));
  if (!report.phones) return "one layer does not fit on a phone (" + assumed + ")";
  return fmt::format("{} of 4 GB ({})", *report.phones, assumed);
}

nlohmann::ordered_json TypesJson(const llm::ModelSize& size) {
  nlohmann::ordered_json types = nlohmann::ordered_json::array();
  for (const auto& [dtype, type] : size.by_type) {
    types.push_back({{"type", Info(dtype).name},
                     {"tensors", type.tensors},
                     {"parameters", type.parameters},
                     {"bytes", type.bytes}});
  }
  return types;
}

}  // namespace

ModelReport ReportModel(const OpenedModel& model, std::int64_t context,
                        std::uint64_t phone_memory) {
  ModelReport report;
  report.file = model.weights.name();
  report.name = model.name;
  report.config = model.config;
  report.size = MeasureModel(model.weights, report.config);
  report.needs = {
      .memory = phone_memory,
      .context = context > 0 ? context : std::min(kDefaultContext, report.config.context)};
  report.phones = CountPhones(report.size, report.config, report.needs);
  return report;
}

nlohmann::ordered_json ToJson(const ModelReport& report) {
  const ModelConfig& config = report.config;
  nlohmann::ordered_json json = {
      {"file", report.file},
      {"name", report.name},
      {"architecture", Name(config.architecture)},
      {"parameters", report.size.parameters},
      {"bytes", report.size.bytes},
      {"types", TypesJson(report.size)},
      {"layers", config.layers},
      {"dim", config.dim},
      {"heads", config.heads},
      {"kv_heads", config.kv_heads},
      {"head_dim", config.head_dim},
      {"ff_dim", config.ff_dim},
      {"experts", config.experts},
      {"experts_used", config.experts_used},
      {"expert_ff_dim", config.expert_ff_dim},
      {"vocabulary", config.vocab},
      {"context", config.context},
      {"sliding_window", config.sliding_window},
      {"rope_base", config.rope.base},
      {"rope_scaling", ScalingName(config.rope.scaling)},
      {"tied_embeddings", config.tied_embeddings},
      {"kv_bytes_per_token", KvBytesPerToken(config)},
  };
  json["phones"] = {{"count", nullptr},
                    {"usable_bytes", report.needs.memory},
                    {"context", report.needs.context},
                    {"head_bytes", report.size.head_bytes}};
  if (report.phones) json["phones"]["count"] = *report.phones;
  return json;
}

std::string ToText(const ModelReport& report) {
  const ModelConfig& config = report.config;
  std::string text = Line("file", report.file);
  if (!report.name.empty()) text += Line("name", report.name);
  text += Line("architecture", std::string(Name(config.architecture)));
  text += Line("parameters", Count(report.size.parameters));
  text += Line("weights", fmt::format("{}, {:.2f} bits each", Bytes(report.size.bytes),
                                      8.0 * static_cast<double>(report.size.bytes) /
                                          static_cast<double>(report.size.parameters)));
  for (const auto& [dtype, type] : report.size.by_type) {
    text += Line("", fmt::format("{:<8} {:>4} tensors {:>10} parameters {:>12}", Info(dtype).name,
                                 type.tensors, Count(type.parameters), Bytes(type.bytes)));
  }
  text += Line("layers", fmt::format("{}, {} wide", config.layers, config.dim));
  text += Line("heads", fmt::format("{} of {}, {} of keys and values", config.heads,
                                    config.head_dim, config.kv_heads));
  text += Line("feed-forward", FeedForward(config));
  text += Line("rope", Rope(config));
  text += Line("vocabulary", fmt::format("{}{}", config.vocab,
                                         config.tied_embeddings ? ", embedding shared" : ""));
  text += Line("context", fmt::format("{}", config.context));
  text += Line("KV cache", fmt::format("{} a token",
                                       Bytes(static_cast<std::uint64_t>(KvBytesPerToken(config)))));
  return text + Line("phones", Phones(report));
}

}  // namespace shoal
