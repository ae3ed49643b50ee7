// What `shoal plan` says.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "pipeline/planner.h"
#include "shoal/plan_nodes.h"

namespace shoal {

struct PlanReport {
  std::string model_name;
  pipeline::PlanModel model;
  NamedCluster nodes;
  pipeline::PlanWish wish;
  pipeline::ClusterPlan plan;
};

// "time-per-token", "first-token", "throughput".
std::string_view Name(pipeline::Objective objective);

nlohmann::ordered_json ToJson(const PlanReport& report);
std::string ToText(const PlanReport& report);

}  // namespace shoal
