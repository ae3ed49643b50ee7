// The file with which `shoal plan` is told of a cluster: what each phone has and can do.
//
//   {"nodes": [{"name": "pixel4", "memory": "2.5G", "weights_gb_per_s": 11, "gops": 120,
//               "latency_ms": 3, "mbit_per_s": 300}, ...],
//    "links": [{"a": "pixel4", "b": "mi9", "latency_ms": 1}, ...],
//    "head": {"weights_gb_per_s": 20, "gops": 400}}
//
// `weights_gb_per_s` and `gops` are what a node measures of itself when it joins; latencies are one
// way, half of what ping says. `links` and `head` may be left out, as may `latency_ms` and
// `mbit_per_s`: a link then costs nothing, and the head is as fast as the fastest node.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "pipeline/plan_costs.h"

namespace shoal {

struct NamedCluster {
  pipeline::PlanCluster cluster;
  std::vector<std::string> names;  // Of its nodes.
};

// `file` is named in errors, with the field.
Result<NamedCluster> ParsePlanNodes(const std::string& file, const std::string& text);

}  // namespace shoal
