// Which node of a cluster is sick, why, and what its owner can do.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace shoal {

struct Finding {
  std::string who;      // "node 7 (kitchen)", or "the cluster".
  std::string problem;  // "has been down for 12 s: silent for too long"
  std::string advice;   // A sentence, without its full stop.
};

// From the head's report (GET /shoal/status). Empty: all are well. A function of its argument.
std::vector<Finding> Diagnose(const nlohmann::json& report);

// "node 7 (kitchen) has been down for 12 s: silent for too long. Look whether it is on."
std::string ToText(const Finding& finding);

}  // namespace shoal
