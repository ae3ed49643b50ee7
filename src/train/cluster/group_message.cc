#include "train/cluster/group_message.h"

#include <algorithm>
#include <utility>

namespace shoal::train {
namespace {

constexpr int kMembersMax = 4096;
constexpr int kWaysMax = 1 << 16;
constexpr std::uint64_t kPiecesAheadMax = 1024;
constexpr std::uint64_t kPieceElementsMin = 16;  // Smaller ones would be nothing but headers.
constexpr std::uint64_t kPieceElementsMax = std::uint64_t{1} << 32U;

Status Bad(const std::string& field) {
  return {Code::kInvalidArgument, "a round with a bad " + field};
}

// Of a TrainGroup or of one of its ways.
template <class Message>
Result<collective::AllReduceOptions> ReadOptions(const Message& said) {
  if (said.algorithm() > static_cast<std::uint32_t>(collective::Algorithm::kHierarchical) ||
      said.pieces_ahead() == 0 || said.pieces_ahead() > kPiecesAheadMax ||
      said.piece_elements() > kPieceElementsMax ||
      (said.piece_elements() > 0 && said.piece_elements() < kPieceElementsMin)) {
    return Bad("way to reduce");
  }
  return collective::AllReduceOptions{
      .algorithm = static_cast<collective::Algorithm>(said.algorithm()),
      .pieces = {.elements = said.piece_elements(), .ahead = said.pieces_ahead()}};
}

}  // namespace

Result<GroupMessage> ReadGroupMessage(const wire::pb::TrainGroup& message, NodeId self) {
  if (message.members_size() > kMembersMax || message.epoch() == 0) return Bad("group");
  GroupMessage read;
  SHOAL_ASSIGN_OR_RETURN(read.options, ReadOptions(message));
  if (message.wire() > static_cast<std::uint32_t>(collective::WireType::kF16)) return Bad("wire");
  read.options.wire = static_cast<collective::WireType>(message.wire());
  read.group.epoch = message.epoch();
  for (const wire::pb::TrainMember& member : message.members()) {
    const NodeId node{member.node()};
    if (!read.addresses.emplace(node, member.address()).second) return Bad("member");
    if (node == self) read.rank = read.group.members.size();
    read.group.members.push_back(node);
  }
  read.group.rank = read.rank.value_or(0);
  for (const wire::pb::TrainGroup::Switch& ranks : message.switches()) {
    read.group.switches.emplace_back(ranks.ranks().begin(), ranks.ranks().end());
  }
  if (!read.group.switches.empty() &&
      !collective::AreGroups(read.group.members.size(), read.group.switches)) {
    return Bad("switch");
  }
  if (message.ways_size() > kWaysMax) return Bad("list of ways");
  for (const wire::pb::TrainGroup::Way& way : message.ways()) {
    SHOAL_ASSIGN_OR_RETURN(const collective::AllReduceOptions options, ReadOptions(way));
    read.ways.push_back({way.buckets(), options.algorithm, options.pieces});
  }
  return read;
}

void WriteWay(const ReduceWay& way, wire::pb::TrainGroup& out) {
  wire::pb::TrainGroup::Way& written = *out.add_ways();
  written.set_buckets(way.buckets);
  written.set_algorithm(static_cast<std::uint32_t>(way.algorithm));
  written.set_piece_elements(way.pieces.elements);
  written.set_pieces_ahead(way.pieces.ahead);
}

Result<std::vector<Reduction>> PlanReductions(std::span<const Bucket> buckets,
                                              const GroupMessage& group) {
  std::vector<ReduceWay> ways = group.ways;
  if (ways.empty()) {
    ways.resize(buckets.size(), {1, group.options.algorithm, group.options.pieces});
  }
  std::vector<Reduction> reductions;
  for (const ReduceWay& way : ways) {
    if (way.buckets == 0 || way.buckets > buckets.size()) return Bad("number of buckets");
    Reduction reduction{buckets.front(), group.options};
    reduction.options.algorithm = way.algorithm;
    reduction.options.pieces = way.pieces;
    for (const Bucket& bucket : buckets.first(way.buckets).subspan(1)) {
      Bucket& all = reduction.bucket;
      // They lie in the order in which backward finishes them, or in the opposite one.
      if (bucket.begin != all.end && bucket.end != all.begin)
        return Bad("way: its buckets lie apart");
      all = {std::min(all.begin, bucket.begin), std::max(all.end, bucket.end),
             std::max(all.parts, bucket.parts)};
    }
    buckets = buckets.subspan(way.buckets);
    reductions.push_back(reduction);
  }
  if (!buckets.empty()) return Bad("number of buckets");
  return reductions;
}

}  // namespace shoal::train
