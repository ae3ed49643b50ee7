// Graph: a network with known shapes. Values are written once, by one node or by the caller; nodes
// stand in the order in which they run. Says which values have a gradient and which nodes run
// backward; where the numbers lie is the memory planner's business (plan.h).
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "nn/net_def.h"
#include "nn/op.h"
#include "nn/param_store.h"

namespace shoal::nn {

struct Value {
  std::string name;
  Shape shape;
  std::optional<std::size_t> producer;  // A node; none for an input.
  std::vector<std::size_t> consumers;   // Nodes in order; one twice if it reads the value twice.
  float loss_weight = 0;                // Its sum counts that much in the loss.
  bool has_gradient = false;
};

struct Node {
  std::string name;                 // "conv1+relu1"
  std::vector<std::string> layers;  // That it stands for.
  std::unique_ptr<Op> op;
  std::vector<std::size_t> inputs;  // Values.
  std::vector<std::size_t> outputs;
  std::vector<ParamId> params;
  bool runs_backward = false;
  std::vector<bool> input_gradients;  // Which are wanted.
  std::vector<bool> param_gradients;
};

struct GraphOptions {
  // Shapes of the tops of layers that bring data, by name.
  std::map<std::string, Shape> input_shapes = {};
  bool backward = false;  // Whether gradients will be asked for.
  bool fuse = true;       // False only to compare with.
};

class Graph {
 public:
  // kInvalidArgument: what is wrong with which layer. Parameters are wanted from `params`.
  static Result<Graph> Build(const NetDef& net, const GraphOptions& options, ParamStore& params);

  const std::vector<Value>& values() const { return values_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  std::vector<Node>& nodes() { return nodes_; }
  // Values that the caller fills, and those that nobody reads.
  std::vector<std::size_t> inputs() const;
  std::vector<std::size_t> results() const;
  // The newest value of that name.
  std::optional<std::size_t> Find(const std::string& name) const;

 private:
  void FindGradients(const NetDef& net);

  std::vector<Value> values_;
  std::vector<Node> nodes_;
};

}  // namespace shoal::nn
