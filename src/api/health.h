// HealthSource: how the cluster is, for GET /health.
#pragma once

#include <cstddef>
#include <string>

namespace shoal::api {

struct Health {
  std::string waiting = {};  // Why answers wait: too few phones; empty: they go on.
  std::size_t nodes = 0;     // That can be reached.
  std::size_t replicas = 0;  // Pipelines that answer.
  std::size_t answers_running = 0;
  std::size_t answers_waiting = 0;
};

class HealthSource {
 public:
  virtual ~HealthSource() = default;
  virtual Health GetHealth() const = 0;
};

}  // namespace shoal::api
