#include "train/cluster/item_server.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/hash.h"
#include "wire/item.h"

namespace shoal::train {
namespace {

// More than a worker needs for a step: one that asks for more is not ours.
constexpr std::size_t kWaitingMax = std::size_t{1} << 20U;

}  // namespace

std::string JobId(const std::string& job) {
  Fingerprint fingerprint;
  fingerprint.AddBytes(std::as_bytes(std::span(job)));
  std::string id(16, '0');
  std::uint64_t value = fingerprint.value();
  for (auto digit = id.rbegin(); digit != id.rend(); ++digit, value >>= 4U) {
    *digit = "0123456789abcdef"[value & 15U];
  }
  return id;
}

ItemServer::ItemServer(Network& network, std::string job, std::int64_t records, ReadRecord read)
    : network_(network),
      job_(std::make_shared<const std::string>(std::move(job))),
      id_(JobId(*job_)),
      records_(records),
      read_(std::move(read)) {}

Status ItemServer::OnAsk(NodeId node, const wire::pb::TrainAsk& ask) {
  if (ask.job() != id_) return {Code::kInvalidArgument, "asks about another training"};
  std::deque<std::int64_t>& waiting = peers_[node].waiting;
  const std::size_t more = static_cast<std::size_t>(ask.records_size()) + (ask.files() ? 1 : 0);
  if (more > kWaitingMax - waiting.size()) return {Code::kInvalidArgument, "asks for too much"};
  if (ask.files()) waiting.push_back(kJob);
  for (const std::uint64_t record : ask.records()) {
    if (record >= static_cast<std::uint64_t>(records_)) {
      return {Code::kInvalidArgument, "asks for a record that there is not"};
    }
    waiting.push_back(static_cast<std::int64_t>(record));
  }
  return Pump(node);
}

Status ItemServer::Pump(NodeId node) {
  const auto found = peers_.find(node);
  if (found == peers_.end()) return {};
  Peer& peer = found->second;
  while (!peer.waiting.empty()) {
    const std::int64_t index = peer.waiting.front();
    if (peer.bytes == nullptr) {
      if (index == kJob) {
        peer.bytes = job_;
      } else {
        SHOAL_ASSIGN_OR_RETURN(std::string bytes, read_(index));
        if (bytes.empty() || bytes.size() > wire::kItemBytesMax) {
          return {Code::kCorruption, "record " + std::to_string(index) + " of the data set has " +
                                         std::to_string(bytes.size()) + " bytes"};
        }
        peer.bytes = std::make_shared<const std::string>(std::move(bytes));
      }
      peer.sent = 0;
    }
    const std::span<const std::byte> rest =
        std::as_bytes(std::span(*peer.bytes)).subspan(peer.sent);
    const wire::ItemPiece piece{
        .kind = index == kJob ? wire::ItemPiece::Kind::kJob : wire::ItemPiece::Kind::kRecord,
        .index = index == kJob ? 0 : static_cast<std::uint64_t>(index),
        .offset = peer.sent,
        .total = peer.bytes->size(),
        .data = rest.first(std::min(rest.size(), wire::kItemPieceBytesMax))};
    // Refused: OnWritable will say when to go on. Gone: OnPeerDown is on its way.
    if (!network_.Send(node, Traffic::kBulk, wire::EncodeItemPiece(piece)).ok()) return {};
    peer.sent += piece.data.size();
    if (peer.sent < peer.bytes->size()) continue;
    peer.bytes = nullptr;
    peer.waiting.pop_front();
  }
  return {};
}

}  // namespace shoal::train
