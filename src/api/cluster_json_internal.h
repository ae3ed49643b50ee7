// The cluster as JSON.
#pragma once

#include "api/cluster_report.h"
#include "api/json_internal.h"

namespace shoal::api {

Json ToJsonObject(const NodeSummary& node);
Json ToJsonObject(const ClusterReport& report);

}  // namespace shoal::api
