#include "sim/train_liar.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "collective/collective_frame.h"
#include "sim/toy_learner.h"
#include "train/cluster/learner_shape.h"
#include "train/cluster/revision.h"

namespace shoal::sim {
namespace {

constexpr std::size_t kReceivedMax = 16;
// Where a frame of sums says which and how many numbers it has (collective_frame.h): with another
// number there it never fits.
constexpr std::size_t kRangeBegin = 16, kRangeEnd = 40;

double WildTime(Random& random) {
  switch (random.Below(5)) {
    case 0:
      return std::numeric_limits<double>::quiet_NaN();
    case 1:
      return -1e300;
    case 2:
      return std::numeric_limits<double>::infinity();
    default:
      return random.Unit();
  }
}

std::string WildText(Random& random) {
  const Frame bytes = Noise(random, 300);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Frame Noise(Random& random, std::size_t bytes_max) {
  Frame frame(static_cast<std::size_t>(random.Below(bytes_max + 1)));
  for (std::byte& byte : frame) byte = static_cast<std::byte>(random.Bits());
  return frame;
}

std::uint64_t Wild(Random& random, const std::vector<std::uint64_t>& likely) {
  switch (random.Below(8)) {
    case 0:
      return random.Bits();
    case 1:
      return std::numeric_limits<std::uint64_t>::max() - random.Below(3);
    case 2:
      return random.Below(1000);
    case 3:
      return std::uint64_t{1} << random.Below(64);
    default:
      return likely[static_cast<std::size_t>(random.Below(likely.size()))] +
             (random.Chance(0.1) ? 1 : 0);
  }
}

LiarProgram::LiarProgram(const Surroundings& around, NodeId head, Duration interval)
    : around_(around), head_(head), interval_(interval), habits_(around.random.Bits()) {
  around_.network.Attach(this);
  around_.network.Connect(head_, "sim:" + std::to_string(ToNumber(head_)));
  around_.clock.CallAfter(interval_, [this] { Lie(); });
}

void LiarProgram::OnPeerUp(NodeId peer) {
  if (peer == head_) SayHello();
}

void LiarProgram::OnPeerDown(NodeId /*peer*/, const Status& /*why*/) {}

void LiarProgram::OnFrame(NodeId from, Traffic traffic, Frame frame) {
  if (traffic == Traffic::kActivations && received_.size() < kReceivedMax) {
    received_.push_back(std::move(frame));
    return;
  }
  if (traffic != Traffic::kControl || from != head_) return;
  const Result<wire::pb::ToNode> message = wire::DecodeToNode(frame);
  if (!message.ok() || !message->has_train()) return;
  if (message->train().has_offer()) {
    job_ = message->train().offer().job();
    if (around_.random.Chance(0.3)) return;
    // So that it is taken for one of them.
    ToyLearner learner(1, [](std::uint64_t, std::uint64_t, std::uint64_t) {});
    wire::pb::ToHead ready;
    ready.mutable_train()->mutable_ready()->set_job(job_);
    const train::LearnerShape shape = train::DescribeShape(learner);
    ready.mutable_train()->mutable_ready()->set_shape(shape.fingerprint);
    ready.mutable_train()->mutable_ready()->mutable_buckets()->Add(shape.buckets.begin(),
                                                                   shape.buckets.end());
    TellHead(ready);
  }
  if (!message->train().has_round()) return;
  round_ = message->train().round();
  if (round_.kind() != wire::pb::TrainRound::SYNC || around_.random.Chance(0.3)) return;
  // As if it had the weights: then it is given work.
  wire::pb::ToHead done;
  done.mutable_train()->mutable_done()->set_round(round_.round());
  done.mutable_train()->mutable_done()->set_epoch(round_.group().epoch());
  TellHead(done);
}

void LiarProgram::SayHello() {
  wire::pb::ToHead message;
  wire::pb::NodeHello& hello = *message.mutable_hello();
  if (around_.random.Chance(0.2)) hello.set_name(WildText(around_.random));
  hello.set_training(around_.random.Chance(0.9) ? train::kTrainingRevision
                                                : train::kTrainingRevision + 1);
  hello.set_address(around_.random.Chance(0.9) ? "sim:" + std::to_string(ToNumber(around_.self))
                                               : WildText(around_.random));
  TellHead(message);
}

void LiarProgram::TellHead(const wire::pb::ToHead& message) {
  (void)around_.network.Send(head_, Traffic::kControl, wire::Encode(message)).ok();
}

NodeId LiarProgram::AnyMember() {
  const auto& members = round_.group().members();
  if (members.empty()) return head_;
  const wire::pb::TrainMember& member =
      members[static_cast<int>(around_.random.Below(static_cast<std::uint64_t>(members.size())))];
  around_.network.Connect(NodeId{member.node()}, member.address());
  return NodeId{member.node()};
}

wire::pb::TrainToHead LiarProgram::Message() {
  Random& random = around_.random;
  const std::uint64_t epoch = round_.group().epoch();
  wire::pb::TrainToHead message;
  const std::uint64_t kind = random.Below(4);
  switch ((habits_ >> (10 + kind) & 1U) != 0 ? kind : 2) {
    case 0: {
      wire::pb::TrainAsk& ask = *message.mutable_ask();
      ask.set_job(random.Chance(0.99) ? job_ : WildText(random));
      ask.set_files(random.Chance(0.5));
      for (std::uint64_t i = random.Below(2000); i > 0; --i) {
        ask.add_records(random.Chance(0.00002) ? random.Bits() : random.Below(40));
      }
      break;
    }
    case 1: {
      wire::pb::TrainReady& ready = *message.mutable_ready();
      ready.set_job(random.Chance(0.8) ? job_ : WildText(random));
      if (random.Chance(0.2)) ready.set_problem(WildText(random));
      ready.set_samples_max(Wild(random, {0, 1}));
      ready.set_shape(random.Bits());
      if (random.Chance(0.5)) ready.set_records(WildText(random));
      break;
    }
    case 2: {
      wire::pb::TrainDone& done = *message.mutable_done();
      done.set_round(Wild(random, {round_.round()}));
      done.set_epoch(Wild(random, {epoch}));
      done.set_loss(WildTime(random));
      done.set_note(WildText(random));
      done.set_fingerprint(random.Bits());
      done.mutable_load()->set_begin(WildTime(random));
      for (std::uint64_t i = random.Below(1000); i > 0; --i) {
        done.add_compute()->set_end(WildTime(random));
        done.add_buckets()->set_begin(WildTime(random));
      }
      break;
    }
    default: {
      wire::pb::TrainTrouble& trouble = *message.mutable_trouble();
      trouble.set_round(Wild(random, {round_.round()}));
      trouble.set_epoch(Wild(random, {epoch}));
      trouble.set_peer(Wild(random, {0, ToNumber(around_.self), ToNumber(AnyMember())}));
      trouble.set_nonsense(random.Chance(0.5));
      trouble.set_text(random.Chance(0.5) ? "is not in step with the others" : WildText(random));
    }
  }
  return message;
}

Frame LiarProgram::Sums() {
  Random& random = around_.random;
  if (!received_.empty() && random.Chance(0.5)) {
    Frame frame = received_[static_cast<std::size_t>(random.Below(received_.size()))];
    if (frame.size() > kRangeEnd && random.Chance(0.5)) {
      frame[static_cast<std::size_t>(random.Between(kRangeBegin, kRangeEnd - 1))] ^=
          static_cast<std::byte>(random.Between(1, 255));
    } else {
      frame.resize(static_cast<std::size_t>(random.Below(frame.size())));
    }
    return frame;
  }
  collective::FrameHeader header;
  header.epoch = std::max<std::uint64_t>(Wild(random, {round_.group().epoch()}), 1);
  header.number = static_cast<std::uint32_t>(Wild(random, {0, 1, 2}));
  header.op = static_cast<collective::Op>(random.Between(1, 6));
  header.end = header.elements = 1000 + random.Below(1000);  // Nobody has so many.
  Frame frame(collective::FrameBytes(header));
  collective::WriteHeader(header, frame);
  return frame;
}

void LiarProgram::Lie() {
  Random& random = around_.random;
  around_.clock.CallAfter(Duration(static_cast<Duration::rep>(
                              random.Exponential(static_cast<double>(interval_.count())))),
                          [this] { Lie(); });
  const std::uint64_t lie = random.Below(10);
  if ((habits_ >> lie & 1U) == 0) return;
  switch (lie) {
    case 0:
      around_.network.Connect(head_, "sim:" + std::to_string(ToNumber(head_)));
      return;
    case 1:
      if (random.Chance(0.1)) around_.network.Disconnect(random.Chance(0.5) ? head_ : AnyMember());
      return;
    case 2:
      if (random.Chance(0.3)) SayHello();
      return;
    case 3: {
      wire::pb::ToHead message;
      message.mutable_telemetry()->set_battery_level(WildTime(random));
      message.mutable_telemetry()->set_battery_celsius(WildTime(random));
      message.mutable_telemetry()->set_watts(WildTime(random));
      return TellHead(message);
    }
    case 4:
    case 5:
      (void)around_.network
          .Send(random.Chance(0.5) ? head_ : AnyMember(), static_cast<Traffic>(random.Below(3)),
                Noise(random, 4096))
          .ok();
      return;
    case 6:
    case 7:
      (void)around_.network
          .Send(random.Chance(0.2) ? head_ : AnyMember(), Traffic::kActivations, Sums())
          .ok();
      return;
    default: {
      wire::pb::ToHead message;
      *message.mutable_train() = Message();
      TellHead(message);
    }
  }
}

}  // namespace shoal::sim
