#include "train/cluster/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

namespace shoal::train {
namespace {

using Kind = wire::pb::TrainTrial;

// The other may not have been told yet where we are, or is just starting.
constexpr Duration kDialAgain = std::chrono::milliseconds(200);
constexpr Duration kDialMax = std::chrono::seconds(2);

// Small whole numbers, so that sums are exact in any order.
constexpr std::size_t kPeriod = 7;
float InputOf(std::size_t rank, std::size_t index) {
  return static_cast<float>((index + rank) % kPeriod);
}

std::vector<float> InputsOf(std::size_t rank, std::size_t elements) {
  std::vector<float> inputs(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    inputs[i] = i < kPeriod ? InputOf(rank, i) : inputs[i - kPeriod];
  }
  return inputs;
}

Status Bad(const char* what) {
  return {Code::kInvalidArgument, fmt::format("a trial with a bad {}", what)};
}

Status Check(const wire::pb::TrainTrial& message, const GroupMessage& group) {
  const std::size_t size = group.group.members.size();
  if (!group.rank || size < 2) return Bad("group");
  if (message.kind() < Kind::ECHO || message.kind() > Kind::BROADCAST) return Bad("kind");
  if (message.kind() == Kind::ECHO && size != 2) return Bad("number of members for an echo");
  if (message.elements_size() == 0 || message.elements_size() > kTrialTurnsMax) {
    return Bad("number of turns");
  }
  for (const std::uint64_t elements : message.elements()) {
    if (elements == 0 || elements > kTrialElementsMax) return Bad("number of elements");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Trial>> Trial::Start(const wire::pb::TrainTrial& message, Clock& clock,
                                            Network& network, const std::set<NodeId>& up,
                                            Done done) {
  SHOAL_ASSIGN_OR_RETURN(GroupMessage group, ReadGroupMessage(message.group(), network.self()));
  SHOAL_RETURN_IF_ERROR(Check(message, group));
  std::unique_ptr<Trial> trial(
      new Trial(message, std::move(group), clock, network, std::move(done)));
  trial->up_ = up;
  for (const NodeId peer : up) trial->communicator_.OnPeerUp(peer);
  trial->Meet([self = trial.get()] { self->Turn(); });
  for (const NodeId peer : trial->communicator_.Peers(trial->options_)) trial->Dial(peer);
  return trial;
}

Trial::Trial(const wire::pb::TrainTrial& message, GroupMessage group, Clock& clock,
             Network& network, Done done)
    : clock_(clock),
      network_(network),
      kind_(message.kind()),
      turns_(message.elements().begin(), message.elements().end()),
      addresses_(std::move(group.addresses)),
      options_(group.options),
      communicator_(clock, network, std::move(group.group)),
      done_(std::move(done)),
      dialled_(clock.Now()),
      input_(InputsOf(communicator_.rank(), *std::max_element(turns_.begin(), turns_.end()))),
      output_(input_.size()) {}

Trial::~Trial() = default;

// --- Neighbours.

// One of two that meet dials: two links at once would replace each other.
void Trial::Dial(NodeId peer) {
  if (network_.self() < peer && !up_.contains(peer)) network_.Connect(peer, addresses_.at(peer));
}

void Trial::OnPeerUp(NodeId peer) {
  up_.insert(peer);
  communicator_.OnPeerUp(peer);
}

void Trial::OnPeerDown(NodeId peer) {
  const bool was_up = up_.erase(peer) > 0;
  if (over_ || !communicator_.Peers(options_).contains(peer)) return;
  if (was_up || clock_.Now() - dialled_ > kDialMax) {
    return End(Status(Code::kUnavailable, fmt::format("has lost node {}", ToNumber(peer))));
  }
  clock_.CallAfter(kDialAgain, [this, alive = std::weak_ptr<int>(alive_), peer] {
    if (!alive.expired()) Dial(peer);
  });
}

void Trial::OnFrame(NodeId from, Frame frame) {
  (void)communicator_.OnFrame(from, std::move(frame)).ok();
}

// --- Turns.

collective::Communicator::Done Trial::Then(UniqueFunction<void()> then) {
  return [this, then = std::move(then)](const Status& status) mutable {
    if (over_) return;
    if (!status.ok()) return End(status);
    then();
  };
}

void Trial::Meet(UniqueFunction<void()> then) { communicator_.Barrier(Then(std::move(then))); }

void Trial::Turn() {
  const std::size_t elements = turns_[seconds_.size()];
  const std::span<float> input = std::span(input_).first(elements);
  const std::span<float> output = std::span(output_).first(elements);
  std::fill(output.begin(), output.end(), -1.0F);
  const bool gives = communicator_.rank() == 0 && kind_ == Kind::BROADCAST;
  if (gives) std::copy(input.begin(), input.end(), output.begin());
  // Filling took its time, which must not count.
  Meet([this, input, output] {
    begin_ = clock_.Now();
    auto done = Then([this] { OnTurnDone(); });
    switch (kind_) {
      case Kind::ALL_REDUCE:
        return communicator_.AllReduce(input, output, options_, std::move(done));
      case Kind::REDUCE:
        return communicator_.Reduce(input, output, 0, std::move(done));
      case Kind::BROADCAST:
        return communicator_.Broadcast(output, 0, std::move(done));
      default:  // ECHO. Rank 1 sends back what it has once it has all of it.
        if (communicator_.rank() == 0) {
          communicator_.Broadcast(input, 0, Then([] {}));
          return communicator_.Reduce(input, output, 0, std::move(done));
        }
        communicator_.Broadcast(input, 0,
                                Then([this, input, output, done = std::move(done)]() mutable {
                                  communicator_.Reduce(input, output, 0, std::move(done));
                                }));
    }
  });
}

void Trial::OnTurnDone() {
  seconds_.push_back(ToSeconds(clock_.Now() - begin_));
  // Others may wait for what is still to be sent here: the loop must not stop for the check yet.
  Meet([this] {
    if (!IsRight()) return End(Status(Code::kCorruption, "the result is not what it should be"));
    if (seconds_.size() == turns_.size()) return End(std::move(seconds_));
    Turn();
  });
}

bool Trial::IsRight() const {
  if (communicator_.rank() != 0 && (kind_ == Kind::REDUCE || kind_ == Kind::ECHO)) return true;
  std::vector<float> expected(kPeriod);
  for (std::size_t i = 0; i < kPeriod; ++i) {
    for (std::size_t rank = 0; rank < communicator_.size(); ++rank) {
      // What comes back of an echo is rank 0's own.
      const std::size_t whose = kind_ == Kind::ECHO ? 0 : rank;
      if (kind_ != Kind::BROADCAST || rank == 0) expected[i] += InputOf(whose, i);
    }
  }
  const std::size_t elements = turns_[seconds_.size() - 1];
  for (std::size_t i = 0; i < elements; ++i) {
    if (output_[i] != (i < kPeriod ? expected[i] : output_[i - kPeriod])) return false;
  }
  return true;
}

void Trial::End(const Result<std::vector<double>>& result) {
  over_ = true;
  // The last message of the last meeting may still be on its way; numbers are not.
  if (result.ok()) input_ = output_ = {};
  done_(result);
}

}  // namespace shoal::train
