#include "collective/communicator.h"

#include <string>
#include <utility>

#include "base/check.h"
#include "collective/collective_frame.h"
#include "collective/early_frames_internal.h"
#include "collective/numbers_internal.h"
#include "collective/outbox_internal.h"
#include "collective/run_internal.h"
#include "kernels/largest_magnitude.h"

namespace shoal::collective {
namespace {

FrameHeader Stamp(const Group& group, std::uint32_t number, Op op, std::size_t elements,
                  WireType wire = WireType::kF32) {
  return {.epoch = group.epoch,
          .elements = elements,
          .begin = 0,
          .end = 0,
          .number = number,
          .op = op,
          .wire = wire};
}

Status Bad(std::string_view what) {
  return {Code::kCorruption, "collective: " + std::string(what)};
}

}  // namespace

Communicator::Communicator(Clock& clock, Network& network, Group group)
    : clock_(clock),
      group_(std::move(group)),
      outbox_(std::make_unique<Outbox>(network, group_)),
      early_(std::make_unique<EarlyFrames>()) {
  SHOAL_CHECK_NE(group_.epoch, std::uint64_t{0});
  SHOAL_CHECK_LT(group_.rank, group_.members.size());
  for (std::size_t rank = 0; rank < group_.members.size(); ++rank) {
    SHOAL_CHECK(rank_of_.emplace(group_.members[rank], rank).second);
  }
}

Communicator::~Communicator() = default;

std::uint64_t Communicator::bytes_sent() const { return outbox_->bytes_sent(); }

Schedule Communicator::AllReduceSchedule(const AllReduceOptions& options,
                                         std::size_t elements) const {
  switch (options.algorithm) {
    case Algorithm::kRing:
      return RingAllReduce(place(), elements, options.pieces);
    case Algorithm::kHalvingDoubling:
      return HalvingDoublingAllReduce(place(), elements);
    case Algorithm::kHierarchical:
      // One switch is a ring.
      if (group_.switches.empty()) return RingAllReduce(place(), elements, options.pieces);
      if (!AreGroups(size(), group_.switches)) return {};
      return HierarchicalAllReduce(place(), elements, options.pieces, group_.switches);
  }
  return {};
}

void Communicator::AllReduce(std::span<const float> input, std::span<float> output,
                             const AllReduceOptions& options, Done done) {
  SHOAL_CHECK_EQ(input.size(), output.size());
  if (options.algorithm == Algorithm::kHierarchical && !group_.switches.empty() &&
      !AreGroups(size(), group_.switches)) {
    failed_.insert(next_++);
    return Post(std::move(done), {Code::kInvalidArgument, "the switches are not groups of ranks"});
  }
  if (options.wire == WireType::kF16 && size() > 1) {
    return AllReduceF16(input, output, options, std::move(done));
  }
  Begin(std::make_unique<Run>(Stamp(group_, next_, Op::kAllReduce, input.size()),
                              Operands{input, output, options.scale, false}, Encoding{},
                              AllReduceSchedule(options, input.size()), std::move(done)));
}

// Two collectives: the largest magnitude of all ranks, which holds up the sum.
void Communicator::AllReduceF16(std::span<const float> input, std::span<float> output,
                                const AllReduceOptions& options, Done done) {
  const std::shared_ptr<float[]> largest(new float[2]{});
  largest[0] =
      kernels::LargestMagnitude(input) * (options.scale < 0 ? -options.scale : options.scale);
  auto ask = std::make_unique<Run>(
      Stamp(group_, next_, Op::kLargest, 1), Operands{{&largest[0], 1}, {&largest[1], 1}, 1, false},
      Encoding{WireType::kF32, 1, true}, HalvingDoublingAllReduce(place(), 1), Done());
  ask->SetUnlocks({next_ + 1, largest});
  auto sum = std::make_unique<Run>(
      Stamp(group_, next_ + 1, Op::kAllReduce, input.size(), WireType::kF16),
      Operands{input, output, options.scale, false}, Encoding{WireType::kF16, 1, false},
      AllReduceSchedule(options, input.size()), std::move(done));
  sum->Hold();
  Enter(std::move(ask));
  Enter(std::move(sum));
  AdvanceAll();
}

void Communicator::Reduce(std::span<const float> input, std::span<float> output, std::size_t root,
                          Done done) {
  SHOAL_CHECK_EQ(input.size(), output.size());
  Begin(std::make_unique<Run>(Stamp(group_, next_, Op::kReduce, input.size()),
                              Operands{input, output, 1, false}, Encoding{},
                              ChainReduce(place(), input.size(), root, {}), std::move(done)));
}

void Communicator::Broadcast(std::span<float> data, std::size_t root, Done done) {
  Begin(std::make_unique<Run>(Stamp(group_, next_, Op::kBroadcast, data.size()),
                              Operands{{}, data, 1, true}, Encoding{},
                              ChainBroadcast(place(), data.size(), root, {}), std::move(done)));
}

void Communicator::AllGather(std::span<float> data, std::span<const std::uint64_t> begins,
                             Done done) {
  SHOAL_CHECK(!begins.empty() && begins.back() <= data.size());
  Begin(std::make_unique<Run>(Stamp(group_, next_, Op::kAllGather, data.size()),
                              Operands{{}, data, 1, true}, Encoding{},
                              RingAllGather(place(), begins, {}), std::move(done)));
}

void Communicator::Barrier(Done done) {
  Begin(std::make_unique<Run>(Stamp(group_, next_, Op::kBarrier, 0), Operands{{}, {}, 1, true},
                              Encoding{}, collective::Barrier(place()), std::move(done)));
}

void Communicator::Begin(std::unique_ptr<Run> run) { Advance(Enter(std::move(run))); }

Communicator::Run& Communicator::Enter(std::unique_ptr<Run> entered) {
  Run& run = *entered;
  runs_[next_++] = std::move(entered);
  for (const std::size_t rank : run.Ranks()) peers_.insert(group_.members[rank]);
  outbox_->Began(next_);
  for (const auto& [rank, bytes] : run.Due()) outbox_->Expect(rank, bytes);
  for (const auto& [rank, bytes] : early_->bytes()) outbox_->Tell(rank);
  for (EarlyFrames::Early& early : early_->Take(run.number())) {
    const Result<FrameHeader> header = ReadHeader(early.frame);  // It was one when it came.
    // One too many cannot be answered any more, and does no harm.
    (void)Accept(run, early.rank, *header, std::move(early.frame)).ok();
  }
  return run;
}

std::set<NodeId> Communicator::Peers(const AllReduceOptions& options) const {
  std::set<NodeId> peers = peers_;
  for (const Action& action : AllReduceSchedule(options, size())) {
    peers.insert(group_.members[action.peer]);
  }
  if (options.wire == WireType::kF16) {
    for (const Action& action : HalvingDoublingAllReduce(place(), 1)) {
      peers.insert(group_.members[action.peer]);
    }
  }
  return peers;
}

Status Communicator::OnFrame(NodeId from, Frame frame) {
  SHOAL_ASSIGN_OR_RETURN(const FrameHeader header, ReadHeader(frame));
  if (header.epoch != group_.epoch) return Bad("another epoch");
  const auto found = rank_of_.find(from);
  if (found == rank_of_.end() || found->second == group_.rank) return Bad("not from a member");
  const std::size_t rank = found->second;
  const bool news = outbox_->Heard(rank, header.number);
  Status status;
  if (header.op != Op::kBegun) status = OnMessage(rank, header, std::move(frame));
  if (news) AdvanceAll();
  return status;
}

Status Communicator::OnMessage(std::size_t rank, const FrameHeader& header, Frame frame) {
  if (header.number >= next_) {
    if (!early_->Add(rank, header.number, std::move(frame))) return Bad("too much, too early");
    outbox_->Tell(rank);
    return {};
  }
  const auto run = runs_.find(header.number);
  if (run == runs_.end()) {
    return failed_.contains(header.number) ? Status() : Bad("a collective that is over");
  }
  SHOAL_RETURN_IF_ERROR(Accept(*run->second, rank, header, std::move(frame)));
  Advance(*run->second);
  return {};
}

Status Communicator::Accept(Run& run, std::size_t rank, const FrameHeader& header, Frame frame) {
  const NodeId node = group_.members[rank];
  Status status = run.Accept(rank, node, header, std::move(frame));
  if (!run.status().ok() && !misfit_) misfit_ = node;
  return status;
}

void Communicator::OnPeerUp(NodeId peer) {
  const auto rank = rank_of_.find(peer);
  if (rank == rank_of_.end()) return;
  outbox_->OnOpen(rank->second);
  AdvanceAll();
}

void Communicator::OnWritable(NodeId peer) { OnPeerUp(peer); }

void Communicator::AdvanceAll() {
  for (auto run = runs_.begin(); run != runs_.end();) {
    const std::uint32_t number = run->first;
    Advance(*run->second);
    run = runs_.upper_bound(number);
  }
}

void Communicator::Advance(Run& run) {
  run.Advance(*outbox_);
  if (run.over()) End(run.number());
}

void Communicator::End(std::uint32_t number) {
  const auto node = runs_.extract(number);
  Run& run = *node.mapped();
  if (!run.status().ok()) failed_.insert(number);
  if (Done done = run.TakeDone()) Post(std::move(done), run.status());
  const Run::Unlocks& unlocks = run.unlocks();
  const auto next = runs_.find(unlocks.number);
  if (unlocks.numbers == nullptr || next == runs_.end()) return;
  if (run.status().ok()) {
    next->second->Release(PowerForF16(unlocks.numbers[1], size()));
  } else {
    next->second->Fail(run.status());
  }
  Advance(*next->second);
}

void Communicator::Post(Done done, Status status) {
  clock_.CallAt(clock_.Now(), [alive = std::weak_ptr<int>(alive_), done = std::move(done),
                               status = std::move(status)]() mutable {
    if (!alive.expired()) done(std::move(status));
  });
}

}  // namespace shoal::collective
