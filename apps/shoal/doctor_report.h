// What `shoal doctor` found, and the two ways of saying it.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

#include "os/machine/machine_info.h"
#include "os/pool_plan.h"
#include "shoal/link_speed.h"
#include "shoal/speeds.h"

namespace shoal {

struct DoctorReport {
  os::MachineInfo machine;
  os::PoolPlan pool;
  Speeds speeds;
  std::optional<LinkSpeeds> link;
  std::vector<std::string> advice;  // Plain sentences; empty if all is well.
  std::string warning = {};         // About its battery, however well it is; empty: it has none.
};

// One object; what a sensor does not tell is {"unavailable": "why"}.
nlohmann::ordered_json ToJson(const DoctorReport& report);

// Aligned lines for people, ending with the advice.
std::string ToText(const DoctorReport& report);

}  // namespace shoal
