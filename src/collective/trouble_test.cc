// Goal: what does not fit is an error that names its sender; a network that refuses and a member
// that is lost cost nothing but time and its part; what no member sends is refused. Method:
// communicators in a simulated world, one trouble at a time.
#include <gtest/gtest.h>

#include "collective/collective_frame.h"
#include "collective/communicator.h"
#include "collective/interpreter_for_test.h"
#include "collective/members_for_test.h"

namespace shoal::collective {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Refuses a third of all frames, and says later that there is room.
class MoodyNetwork final : public Network {
 public:
  MoodyNetwork(const sim::Surroundings& around, Member& owner) : around_(around), owner_(owner) {}

  NodeId self() const override { return around_.network.self(); }
  void Attach(NetworkEvents* /*events*/) override {}
  void Connect(NodeId /*peer*/, const std::string& /*address*/) override {}
  void Disconnect(NodeId /*peer*/) override {}
  Status Send(NodeId to, Traffic traffic, Frame frame) override {
    if (!around_.random.Chance(1.0 / 3)) {
      return around_.network.Send(to, traffic, std::move(frame));
    }
    ++refused;
    around_.clock.CallAfter(milliseconds(3),
                            [this, to, traffic] { owner_.OnWritable(to, traffic); });
    return {Code::kResourceExhausted, "not now"};
  }

  int refused = 0;

 private:
  const sim::Surroundings around_;
  Member& owner_;
};

TEST(TroubleTest, RefusedFramesAreMadeAgain) {
  constexpr std::size_t kRanks = 5;
  constexpr std::size_t kElements = 20'000;
  Members members(kRanks, Unkind(4));
  std::vector<std::unique_ptr<MoodyNetwork>> networks;
  for (std::size_t i = 0; i < kRanks; ++i) {
    const sim::Surroundings around = members.world().SurroundingsOf(Members::Id(i));
    networks.push_back(std::make_unique<MoodyNetwork>(around, members.member(i)));
    const Group group = members.at(i).group();
    members.member(i).communicator =
        std::make_unique<Communicator>(around.clock, *networks[i], group);
  }
  const AllReduceOptions options = {.pieces = {.elements = 500, .ahead = 4}};
  members.Dial(options);
  const Numbers given = RandomNumbers(kRanks, kElements, 8);
  Numbers output(kRanks, std::vector<float>(kElements));
  Numbers narrow = output;
  Outcomes outcomes(kRanks);
  Outcomes narrow_outcomes(kRanks);
  AllReduceOptions f16 = options;
  f16.wire = WireType::kF16;
  members.Dial(f16);
  for (std::size_t i = 0; i < kRanks; ++i) {
    members.at(i).AllReduce(given[i], output[i], options, outcomes.Of(i));
    members.at(i).AllReduce(given[i], narrow[i], f16, narrow_outcomes.Of(i));
  }
  ASSERT_TRUE(members.RunUntil([&] { return outcomes.AllDone() && narrow_outcomes.AllDone(); }));
  const auto schedules = AllSchedules(
      kRanks, [&](Place place) { return RingAllReduce(place, kElements, options.pieces); });
  const Interpreted expected = Interpreter(schedules, given).Run();
  for (std::size_t i = 0; i < kRanks; ++i) {
    EXPECT_GT(networks[i]->refused, 20);
    ExpectBits(output[i], expected.data[0]);
    ExpectBits(narrow[i], narrow[0]);
    members.member(i).communicator.reset();
  }
}

TEST(TroubleTest, OtherElementsAreAnErrorThatNamesTheNode) {
  Members members(3);
  members.Dial();
  std::vector<float> few(999);
  std::vector<float> many(1234);
  std::vector<float> few_out(999);
  std::vector<float> many_out(1234);
  Outcomes outcomes(3);
  members.at(0).AllReduce(many, many_out, {}, outcomes.Of(0));
  members.at(1).AllReduce(few, few_out, {}, outcomes.Of(1));
  members.world().RunFor(seconds(1));
  ASSERT_TRUE(outcomes[1].has_value());
  EXPECT_EQ(outcomes[1]->ToString(),
            "invalid argument: node 1 has 1234 elements where this node has 999: another model?");
  EXPECT_EQ(members.at(1).misfit(), Members::Id(0));
  EXPECT_FALSE(outcomes[0].has_value());
}

TEST(TroubleTest, AnotherCollectiveIsAnErrorThatNamesTheNode) {
  Members members(2);
  std::vector<float> a(10);
  std::vector<float> b(10);
  std::vector<float> c(10);
  Outcomes outcomes(2);
  members.at(0).AllReduce(a, b, {}, outcomes.Of(0));
  members.Dial();
  members.world().RunFor(seconds(1));
  members.at(1).Broadcast(c, 0, outcomes.Of(1));  // What is wrong came early.
  members.world().RunFor(seconds(1));
  ASSERT_TRUE(outcomes[1].has_value());
  EXPECT_EQ(
      outcomes[1]->ToString(),
      "invalid argument: node 1 is at an all-reduce where this node is at a broadcast: another "
      "program?");
}

TEST(TroubleTest, OtherPiecesAreAnError) {
  Members members(2);
  members.Dial();
  Numbers given(2, std::vector<float>(100));
  Numbers output = given;
  Outcomes outcomes(2);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    members.at(rank).AllReduce(given[rank], output[rank],
                               {.pieces = {.elements = 10 + 5 * rank, .ahead = 2}},
                               outcomes.Of(rank));
  }
  members.world().RunFor(seconds(1));
  for (std::size_t rank = 0; rank < 2; ++rank) {
    ASSERT_TRUE(outcomes[rank].has_value());
    EXPECT_EQ(outcomes[rank]->code(), Code::kInvalidArgument);
  }
}

TEST(TroubleTest, SwitchesThatAreNoGroupsAreAnError) {
  Members members(2);
  members.MakeEpoch(2, {0, 1}, {{0, 0}, {1}});
  std::vector<float> numbers(10);
  std::vector<float> output(10);
  Outcomes outcomes(1);
  members.at(0).AllReduce(numbers, output, {.algorithm = Algorithm::kHierarchical}, outcomes.Of(0));
  members.world().RunFor(seconds(1));
  ASSERT_TRUE(outcomes[0].has_value());
  EXPECT_EQ(outcomes[0]->code(), Code::kInvalidArgument);
}

TEST(TroubleTest, SurvivorsOfALostMemberBeginAgainFromTheirInput) {
  constexpr std::size_t kRanks = 6;
  constexpr std::size_t kElements = 50'000;
  Members members(kRanks, {.seed = 3, .faults = {}, .link = {.bits_per_second = 1e8}});
  const AllReduceOptions options = {.pieces = {.elements = 1000, .ahead = 4}};
  members.Dial(options);
  const Numbers given = RandomNumbers(kRanks, kElements, 9);
  Numbers output(kRanks, std::vector<float>(kElements));
  members.world().RunFor(seconds(1));
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    members.at(rank).AllReduce(given[rank], output[rank], options, [rank](const Status&) {
      ADD_FAILURE() << rank << " is done with a collective that cannot be";
    });
  }
  members.world().RunFor(milliseconds(10));
  EXPECT_GT(members.at(0).bytes_sent(), 4000U);
  members.world().Crash(Members::Id(2), sim::Death::kPowerLoss);
  members.world().RunFor(seconds(6));
  EXPECT_GT(members.member(1).downs, 0);

  const std::vector<std::size_t> survivors = {0, 1, 3, 4, 5};
  members.member(2).communicator.reset();
  members.MakeEpoch(2, survivors);
  Outcomes outcomes(survivors.size());
  for (std::size_t rank = 0; rank < survivors.size(); ++rank) {
    const std::size_t i = survivors[rank];
    members.at(i).AllReduce(given[i], output[i], options, outcomes.Of(rank));
    for (const NodeId peer : members.at(i).Peers(options)) {
      members.world()
          .SurroundingsOf(Members::Id(i))
          .network.Connect(peer, "sim:" + std::to_string(ToNumber(peer)));
    }
  }
  ASSERT_TRUE(members.RunUntil([&] { return outcomes.AllDone(); }));
  EXPECT_TRUE(outcomes.AllOk());
  Numbers left;
  for (const std::size_t i : survivors) left.push_back(given[i]);
  const auto schedules = AllSchedules(
      left.size(), [&](Place place) { return RingAllReduce(place, kElements, options.pieces); });
  const Interpreted expected = Interpreter(schedules, left).Run();
  for (const std::size_t i : survivors) ExpectBits(output[i], expected.data[0]);
}

TEST(TroubleTest, CanBeDestroyedFromItsOwnCallbackAndDropsTheRest) {
  Members members(1);
  std::vector<float> numbers(10, 3);
  std::vector<float> output(10);
  int done = 0;
  for (int i = 0; i < 2; ++i) {
    members.at(0).AllReduce(numbers, output, {.scale = 0.5F}, [&](const Status& status) {
      EXPECT_TRUE(status.ok());
      ++done;
      members.member(0).communicator.reset();
    });
  }
  members.world().RunFor(seconds(1));
  EXPECT_EQ(done, 1);
  EXPECT_EQ(output[9], 1.5F);
}

TEST(TroubleTest, FramesThatNoMemberSendsAreRefused) {
  Members members(3);
  Communicator& communicator = members.at(0);
  const auto frame = [](FrameHeader header) {
    Frame made(FrameBytes(header));
    WriteHeader(header, made);
    return made;
  };
  const FrameHeader good = {.epoch = 1,
                            .elements = 10,
                            .begin = 2,
                            .end = 5,
                            .number = 0,
                            .op = Op::kAllReduce,
                            .wire = WireType::kF32};
  EXPECT_EQ(FrameEpoch(frame(good)), 1U);
  EXPECT_TRUE(communicator.OnFrame(Members::Id(1), frame(good)).ok());
  EXPECT_EQ(communicator.OnFrame(Members::Id(0), frame(good)).code(), Code::kCorruption);
  EXPECT_EQ(communicator.OnFrame(Members::Id(9), frame(good)).code(), Code::kCorruption);
  FrameHeader other = good;
  other.epoch = 7;
  EXPECT_EQ(communicator.OnFrame(Members::Id(1), frame(other)).code(), Code::kCorruption);
  Frame damaged = frame(good);
  damaged.pop_back();
  EXPECT_EQ(FrameEpoch(damaged), 0U);
  EXPECT_EQ(communicator.OnFrame(Members::Id(1), damaged).code(), Code::kCorruption);
  EXPECT_EQ(FrameEpoch(Frame(100)), 0U);
}

TEST(TroubleTest, OneWhoSendsTooMuchTooEarlyIsRefused) {
  Members members(2);
  std::size_t bytes = 0;
  Status status;
  for (std::uint32_t i = 0; i < 100 && status.ok(); ++i) {
    const FrameHeader header = {.epoch = 1,
                                .elements = 1 << 20U,
                                .begin = 0,
                                .end = 1 << 20U,
                                .number = i,
                                .op = Op::kAllReduce,
                                .wire = WireType::kF32};
    Frame frame(FrameBytes(header));
    bytes += frame.size();
    WriteHeader(header, frame);
    status = members.at(0).OnFrame(Members::Id(1), std::move(frame));
  }
  EXPECT_EQ(status.code(), Code::kCorruption);
  EXPECT_GT(bytes, 60U << 20U);
  EXPECT_LT(bytes, 70U << 20U);
}

}  // namespace
}  // namespace shoal::collective
