// What `shoal model info` says.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "llm/model_config.h"
#include "llm/model_size.h"
#include "shoal/model_files.h"

namespace shoal {

struct ModelReport {
  std::string file;
  std::string name;  // What the model calls itself; may be empty.
  llm::ModelConfig config;
  llm::ModelSize size;
  llm::PhoneNeeds needs;
  std::optional<std::uint64_t> phones;
};

// Of a phone with 4 GB, what Android leaves to one program that stays alive.
inline constexpr std::uint64_t kPhoneMemory = 2867ULL << 20U;  // 2.8 GiB.
// Without another wish: what most chats stay within.
inline constexpr std::int64_t kDefaultContext = 4096;

// `context`: 0 means kDefaultContext, or the model's if it has less.
ModelReport ReportModel(const OpenedModel& model, std::int64_t context, std::uint64_t phone_memory);

nlohmann::ordered_json ToJson(const ModelReport& report);
std::string ToText(const ModelReport& report);

}  // namespace shoal
