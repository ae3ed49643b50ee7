// WorkerNode: a node that does nothing but train: dials the head, for ever, says hello and lets its
// Worker do the rest. Ranks of MPI and simulated phones are such; a member of a cluster has an
// agent instead, which can also serve.
//
// Belongs to one event loop.
#pragma once

#include <string>

#include "base/seams.h"
#include "train/cluster/worker.h"
#include "wire/control.h"

namespace shoal::train {

struct WorkerNodeOptions {
  NodeId head{};
  std::string head_address;
  wire::pb::NodeHello hello;
  std::function<void(const std::string&)> news;
  std::function<void()> on_over = nullptr;
  bool ends_with_head = false;  // A head that is gone does not come back: it is over.
};

class WorkerNode final : public NetworkEvents {
 public:
  // All outlive it. Attaches itself to the network and begins to dial.
  WorkerNode(const Seams& seams, WorkerNodeOptions options, WorkerHost& host);
  ~WorkerNode() override;
  WorkerNode(const WorkerNode&) = delete;
  WorkerNode& operator=(const WorkerNode&) = delete;

  void OnPeerUp(NodeId peer) override;
  void OnPeerDown(NodeId peer, const Status& why) override;
  void OnFrame(NodeId from, Traffic traffic, Frame frame) override;
  void OnWritable(NodeId peer, Traffic traffic) override;

 private:
  const Seams seams_;
  const WorkerNodeOptions options_;
  Worker worker_;
  TimerId dial_{};
};

}  // namespace shoal::train
