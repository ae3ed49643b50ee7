#include <utility>

#include "collective/collective_frame.h"
#include "collective/outbox_internal.h"

namespace shoal::collective {

Outbox::Outbox(Network& network, const Group& group)
    : network_(network), group_(group), peers_(group.members.size()) {}

bool Outbox::IsOpen(std::size_t rank, std::uint32_t number, std::size_t bytes) const {
  const Peer& peer = peers_[rank];
  return !peer.refused && (number < peer.begun || peer.eager_bytes + bytes <= kEagerBytes);
}

Status Outbox::Send(std::size_t rank, std::uint32_t number, Frame frame) {
  Peer& peer = peers_[rank];
  const std::size_t bytes = frame.size();
  Status status = network_.Send(group_.members[rank], Traffic::kActivations, std::move(frame));
  if (!status.ok()) {
    peer.refused = status.code() == Code::kUnavailable || status.code() == Code::kResourceExhausted;
    return status;
  }
  bytes_sent_ += bytes;
  if (number >= peer.begun) {
    peer.eager[number] += bytes;
    peer.eager_bytes += bytes;
  }
  return status;
}

void Outbox::OnOpen(std::size_t rank) {
  peers_[rank].refused = false;
  if (peers_[rank].tell) Tell(rank);
}

bool Outbox::Heard(std::size_t rank, std::uint32_t number) {
  Peer& peer = peers_[rank];
  if (number < peer.begun) return false;
  peer.begun = std::uint64_t{number} + 1;
  for (auto it = peer.eager.begin(); it != peer.eager.end() && it->first <= number;) {
    peer.eager_bytes -= it->second;
    it = peer.eager.erase(it);
  }
  return true;
}

void Outbox::Expect(std::size_t rank, std::size_t bytes) {
  peers_[rank].untold_bytes += bytes;
  if (peers_[rank].untold_bytes >= kTellBytes) Tell(rank);
}

void Outbox::Tell(std::size_t rank) {
  Peer& peer = peers_[rank];
  if (peer.told == begun_) return;
  peer.tell = true;
  if (peer.refused) return;
  const FrameHeader header = {.epoch = group_.epoch,
                              .elements = 0,
                              .begin = 0,
                              .end = 0,
                              .number = begun_ - 1,
                              .op = Op::kBegun,
                              .wire = WireType::kF32};
  Frame frame(FrameBytes(header));
  WriteHeader(header, frame);
  Status status = network_.Send(group_.members[rank], Traffic::kActivations, std::move(frame));
  peer.refused = !status.ok();
  if (peer.refused) return;
  bytes_sent_ += FrameBytes(header);
  peer.tell = false;
  peer.told = begun_;
  peer.untold_bytes = 0;
}

}  // namespace shoal::collective
