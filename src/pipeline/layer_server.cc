#include "pipeline/layer_server.h"

#include <algorithm>

namespace shoal::pipeline {

void LayerServer::OnPeerDown(NodeId node) {
  granted_.erase(node);
  sending_.erase(node);
}

void LayerServer::OnGet(NodeId from, const wire::Piece& piece) {
  const std::string name(reinterpret_cast<const char*>(piece.layer.data()), piece.layer.size());
  const auto granted = granted_.find(from);
  if (granted == granted_.end() || !granted->second.contains(name)) {
    ++refused_;
    return Refuse(from, piece);
  }
  std::shared_ptr<const LayerBytes> layer = store_.Find(name);
  std::deque<Sending>& queue = sending_[from];
  if (layer == nullptr || piece.chunk >= ChunkCount(layer->bytes().size()) ||
      queue.size() >= kSendingMax) {
    return Refuse(from, piece);
  }
  queue.push_back({std::move(layer), piece.layer, piece.chunk, 0});
  SendOn(from);
}

void LayerServer::OnWritable(NodeId node) { SendOn(node); }

void LayerServer::Refuse(NodeId to, const wire::Piece& piece) {
  wire::Piece refusal;
  refusal.kind = wire::Piece::Kind::kRefuse;
  refusal.layer = piece.layer;
  refusal.chunk = piece.chunk;
  // If it cannot be sent, whoever asked will not wait for ever.
  (void)network_.Send(to, Traffic::kBulk, wire::EncodePiece(refusal)).ok();
}

void LayerServer::SendOn(NodeId node) {
  const auto found = sending_.find(node);
  if (found == sending_.end()) return;
  std::deque<Sending>& queue = found->second;
  while (!queue.empty()) {
    Sending& next = queue.front();
    const std::span<const std::byte> bytes = next.layer->bytes();
    const std::size_t size = ChunkSize(bytes.size(), next.chunk);
    const std::size_t count = std::min(wire::kPieceBytesMax, size - next.offset);
    wire::Piece piece;
    piece.kind = wire::Piece::Kind::kData;
    piece.layer = next.name;
    piece.chunk = next.chunk;
    piece.offset = static_cast<std::uint32_t>(next.offset);
    piece.data = bytes.subspan(std::size_t{next.chunk} * wire::kChunkBytes + next.offset, count);
    const Status sent = network_.Send(node, Traffic::kBulk, wire::EncodePiece(piece));
    if (sent.code() == Code::kResourceExhausted) return;  // OnWritable follows.
    if (!sent.ok()) {
      sending_.erase(found);
      return;
    }
    next.offset += count;
    if (next.offset == size) queue.pop_front();
  }
}

}  // namespace shoal::pipeline
