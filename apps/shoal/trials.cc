#include "shoal/trials.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "os/secret_number.h"
#include "wire/enrol.h"

namespace shoal {
namespace {

constexpr Duration kLook = std::chrono::milliseconds(50);
// A minute for each turn, and what a phone needs to fill its memory.
constexpr Duration kTurnMax = std::chrono::seconds(60);

}  // namespace

TrialHead::TrialHead(os::Loop& loop, Network& network, std::function<Status()> look)
    : loop_(loop),
      network_(network),
      look_(std::move(look)),
      // Frames of an earlier head's trials may still be on their way between members.
      epoch_(os::SecretNumber() >> 33U << 32U) {
  network_.Attach(this);
}

TrialHead::~TrialHead() { network_.Attach(nullptr); }

void TrialHead::OnPeerUp(NodeId /*peer*/) {}
void TrialHead::OnWritable(NodeId /*peer*/, Traffic /*traffic*/) {}

void TrialHead::OnPeerDown(NodeId peer, const Status& why) {
  if (waiting_.contains(peer)) failure_ = Status(why).Annotate(NameOf(peer));
  members_.erase(peer);
}

void TrialHead::OnFrame(NodeId from, Traffic traffic, Frame frame) {
  if (traffic != Traffic::kControl) return;
  const Result<wire::pb::ToHead> message = wire::DecodeToHead(frame);
  if (!message.ok()) return;
  if (message->has_hello()) {
    const wire::pb::NodeHello& hello = message->hello();
    members_[from] = {wire::IsPlainText(hello.name()) ? hello.name() : "", hello.address()};
  } else if (message->body_case() == wire::pb::ToHead::kPing) {
    wire::pb::ToNode pong;
    pong.set_pong(message->ping());
    (void)network_.Send(from, Traffic::kControl, wire::Encode(pong)).ok();
  } else if (message->has_train() && message->train().has_tried()) {
    OnTried(from, message->train().tried());
  }
}

void TrialHead::OnTried(NodeId from, const wire::pb::TrainTried& tried) {
  const auto waiting = waiting_.find(from);
  if (waiting == waiting_.end() || waiting->second != tried.epoch()) return;
  waiting_.erase(waiting);
  seconds_[from].assign(tried.seconds().begin(), tried.seconds().end());
  if (tried.problem().empty()) return;
  const std::string text =
      wire::IsPlainText(tried.problem()) ? tried.problem() : "says something that is no text";
  failure_ = Status(Code::kUnavailable, fmt::format("{}: {}", NameOf(from), text));
}

std::string TrialHead::NameOf(NodeId node) const {
  const auto found = members_.find(node);
  if (found != members_.end() && !found->second.name.empty()) return found->second.name;
  return fmt::format("node {}", ToNumber(node));
}

Status TrialHead::Await(const std::function<bool()>& done, Duration limit,
                        const std::string& late) {
  const Instant begin = loop_.Now();
  while (!done()) {
    loop_.RunOne(kLook);
    SHOAL_RETURN_IF_ERROR(failure_);
    SHOAL_RETURN_IF_ERROR(look_());
    if (loop_.Now() - begin > limit) return {Code::kDeadlineExceeded, late};
  }
  return {};
}

Result<std::vector<NodeId>> TrialHead::Members(std::size_t count, Duration limit) {
  SHOAL_RETURN_IF_ERROR(Await([&] { return members_.size() >= count; }, limit,
                              fmt::format("not {} members came in time", count)));
  std::vector<NodeId> nodes;
  for (const auto& [node, member] : members_) {
    if (nodes.size() < count) nodes.push_back(node);
  }
  return nodes;
}

wire::pb::TrainTrial TrialHead::Message(const TrialCall& call) const {
  wire::pb::TrainTrial trial;
  trial.set_kind(call.kind);
  trial.mutable_elements()->Add(call.elements.begin(), call.elements.end());
  wire::pb::TrainGroup& group = *trial.mutable_group();
  group.set_epoch(epoch_);
  for (const NodeId node : call.members) {
    wire::pb::TrainMember& member = *group.add_members();
    member.set_node(ToNumber(node));
    if (const auto found = members_.find(node); found != members_.end()) {
      member.set_address(found->second.address);
    }
  }
  group.set_algorithm(static_cast<std::uint32_t>(call.options.algorithm));
  group.set_piece_elements(call.options.pieces.elements);
  group.set_pieces_ahead(call.options.pieces.ahead);
  group.set_wire(static_cast<std::uint32_t>(call.options.wire));
  for (const auto& ranks : call.switches) {
    group.add_switches()->mutable_ranks()->Add(ranks.begin(), ranks.end());
  }
  return trial;
}

Result<std::vector<std::vector<double>>> TrialHead::Try(const std::vector<TrialCall>& calls) {
  std::size_t turns = 0;
  seconds_.clear();
  for (const TrialCall& call : calls) {
    ++epoch_;
    turns = std::max(turns, call.elements.size());
    wire::pb::ToNode message;
    *message.mutable_train()->mutable_trial() = Message(call);
    for (const NodeId node : call.members) {
      waiting_[node] = epoch_;
      SHOAL_RETURN_IF_ERROR(network_.Send(node, Traffic::kControl, wire::Encode(message)));
    }
  }
  SHOAL_RETURN_IF_ERROR(Await([&] { return waiting_.empty(); },
                              static_cast<std::int64_t>(turns) * kTurnMax,
                              "the members have not ended in time"));
  std::vector<std::vector<double>> results;
  for (const TrialCall& call : calls) {
    std::vector<double>& result = results.emplace_back(seconds_[call.members.front()]);
    result.resize(call.elements.size());
    if (call.kind == wire::pb::TrainTrial::ECHO) continue;
    for (const NodeId node : call.members) {
      std::vector<double>& seconds = seconds_[node];
      seconds.resize(result.size());
      for (std::size_t i = 0; i < result.size(); ++i) result[i] = std::max(result[i], seconds[i]);
    }
  }
  return results;
}

}  // namespace shoal
