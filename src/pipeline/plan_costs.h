// What a pipeline will cost, by formula, before there is one. Seconds, for r rows at once:
//
//   stage(r)    sum over its layers of the larger of min(weights, r * weights of a row) / the
//               node's weight_bytes_per_second and 2 * r * multiply_adds / operations_per_second
//   link(r)     r * 2 * dim bytes (a row is F16) over a node's own link; the head's costs nothing
//   hop(a, b)   latency of the pair, else that of a to the head and of b to the head, and both
//   links round(r)    all stages, and all hops: head, first stage, ..., last stage, head slowest(r)
//   the largest stage(r) or 2 * link(r): a link carries what comes and what goes head(r)     the
//   output matrix, as a layer
//
//   time per token           round(1) + head(1)
//   first token of a prompt  round(c) + (n - 1) * slowest(c) + head(1): n chunks of c rows
//   tokens/s for u users     u / max(round(b) + head(b), g * max(slowest(b), head(b))): b = ceil(u
//   /
//                            (stages + 1)) rows in a batch, as Replica makes them, g = ceil(u / b)
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/node_id.h"
#include "pipeline/node_stage.h"

namespace shoal::pipeline {

struct LayerCost {
  std::uint64_t weight_bytes = 0;
  std::uint64_t row_bytes = 0;  // Weights that one row needs, of experts not all; 0: all of them.
  double multiply_adds = 0;     // For one row.
  std::uint64_t kv_bytes_per_position = 0;
};

struct PlanModel {
  std::vector<LayerCost> layers;
  LayerCost output;             // The head's.
  std::uint64_t positions = 0;  // Of which every stage keeps keys and values.
  // So many of the first and of the last layers are for trusted nodes only: rows near the ends say
  // most about prompts and answers.
  std::size_t trusted_ends = 0;
  std::uint64_t dim = 0;
};

// Speeds that are no numbers, or below 1, are taken for 1; latencies that are no numbers for 0.
struct PlanSpeeds {
  double weight_bytes_per_second = 1;
  double operations_per_second = 1;  // Multiply-adds count two.
};

struct PlanNode {
  NodeId id{};
  std::uint64_t memory_bytes = 0;  // For weights, keys and values.
  PlanSpeeds speeds;
  double latency = 0;                // To the head, one way, in seconds.
  double link_bytes_per_second = 0;  // 0: not known, costs nothing.
  bool avoid = false;                // Only if it must be.
  bool trusted = false;              // May hold the ends of the model.
};

// A pair whose latency was measured, one way, in seconds.
struct PlanLink {
  NodeId a{};
  NodeId b{};
  double latency = 0;
};

struct PlanCluster {
  std::vector<PlanNode> nodes;
  std::vector<PlanLink> links;
  PlanSpeeds head;
};

// What `rows` rows take in a layer: stage(r) above is the sum of these.
double LayerSeconds(const LayerCost& layer, const PlanSpeeds& speeds, double rows);

// A stage, with its node's place in PlanCluster::nodes.
struct PlacedStage {
  std::size_t node = 0;
  LayerRange range;
};

class PlanCosts {
 public:
  // REQUIRES: the model has layers, and no two nodes have one id. Both outlive it.
  PlanCosts(const PlanModel& model, const PlanCluster& cluster);

  const PlanModel& model() const { return model_; }
  const PlanCluster& cluster() const { return cluster_; }
  std::size_t layers() const { return model_.layers.size(); }
  std::size_t nodes() const { return cluster_.nodes.size(); }

  // Weights, keys and values.
  std::uint64_t Bytes(const LayerRange& range) const {
    return bytes_[static_cast<std::size_t>(range.end)] -
           bytes_[static_cast<std::size_t>(range.first)];
  }
  std::uint64_t AllBytes() const { return bytes_.back(); }
  // Whether all layers cost the same, so that only the pairs' latencies make an order matter.
  bool uniform() const { return uniform_; }

  // Whether the node may hold these layers, as far as trust goes.
  bool Trusted(std::size_t node, const LayerRange& range) const {
    return cluster_.nodes[node].trusted || model_.trusted_ends == 0 ||
           (range.first >= static_cast<std::int64_t>(model_.trusted_ends) &&
            range.end + static_cast<std::int64_t>(model_.trusted_ends) <=
                static_cast<std::int64_t>(layers()));
  }

  // Whether latencies between it and other nodes were measured.
  bool Linked(std::size_t node) const { return linked_[node]; }

  double Layer(std::size_t node, std::size_t layer, double rows) const;
  double Link(std::size_t node, double rows) const;
  double FromHead(std::size_t node, double rows) const;  // As long as back to it.
  double Hop(std::size_t from, std::size_t to, double rows) const;
  double Head(double rows) const;

  double Stage(const PlacedStage& stage, double rows) const;
  double Round(const std::vector<PlacedStage>& stages, double rows) const;
  double Hops(const std::vector<PlacedStage>& stages, double rows) const;
  double Slowest(const std::vector<PlacedStage>& stages, double rows) const;

  double SecondsPerToken(const std::vector<PlacedStage>& stages) const;
  double FirstToken(const std::vector<PlacedStage>& stages, std::size_t prompt,
                    std::size_t chunk) const;
  double TokensPerSecond(const std::vector<PlacedStage>& stages, std::size_t users) const;

 private:
  const PlanModel& model_;
  const PlanCluster& cluster_;
  std::vector<std::uint64_t> bytes_;  // Of the layers before each, and of all.
  bool uniform_ = true;
  std::vector<bool> linked_;
  // Measured latencies, sorted: from, to, seconds.
  struct Measured {
    std::size_t from;
    std::size_t to;
    double latency;
  };
  std::vector<Measured> measured_;
};

}  // namespace shoal::pipeline
