#include "train/cluster/worker_node.h"

#include <utility>

#include "train/cluster/revision.h"

namespace shoal::train {
namespace {

constexpr Duration kDialAgain = std::chrono::milliseconds(500);

}  // namespace

WorkerNode::WorkerNode(const Seams& seams, WorkerNodeOptions options, WorkerHost& host)
    : seams_(seams),
      options_(std::move(options)),
      worker_(seams, {.head = options_.head, .news = options_.news, .on_over = options_.on_over},
              host) {
  seams_.network.Attach(this);
  seams_.network.Connect(options_.head, options_.head_address);
}

WorkerNode::~WorkerNode() {
  seams_.network.Attach(nullptr);
  seams_.clock.Cancel(dial_);
}

void WorkerNode::OnPeerUp(NodeId peer) {
  worker_.OnPeerUp(peer);
  if (peer != options_.head) return;
  wire::pb::ToHead message;
  *message.mutable_hello() = options_.hello;
  message.mutable_hello()->set_training(kTrainingRevision);
  (void)seams_.network.Send(peer, Traffic::kControl, wire::Encode(message)).ok();
}

void WorkerNode::OnPeerDown(NodeId peer, const Status& /*why*/) {
  worker_.OnPeerDown(peer);
  if (peer != options_.head) return;
  if (options_.ends_with_head) {
    if (options_.on_over) options_.on_over();
    return;
  }
  dial_ = seams_.clock.CallAfter(
      kDialAgain, [this] { seams_.network.Connect(options_.head, options_.head_address); });
}

void WorkerNode::OnFrame(NodeId from, Traffic traffic, Frame frame) {
  if (traffic != Traffic::kControl) {
    if (Worker::IsForWorker(traffic, frame)) worker_.OnFrame(from, traffic, std::move(frame));
    return;
  }
  if (from != options_.head) return;
  const Result<wire::pb::ToNode> message = wire::DecodeToNode(frame);
  if (message.ok() && message->has_train()) worker_.OnMessage(message->train());
}

void WorkerNode::OnWritable(NodeId peer, Traffic traffic) {
  if (traffic == Traffic::kActivations) worker_.OnWritable(peer);
}

}  // namespace shoal::train
