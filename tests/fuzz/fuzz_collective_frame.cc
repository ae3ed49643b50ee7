// Whatever members send a communicator, whenever, over a network that takes some of it: its own
// frames are frames, and each collective ends once at most.
//
// The input is a list of events: a byte that says what happens and to whom; for a frame, two bytes
// with its length, and its bytes.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "collective/communicator.h"

namespace {

using shoal::NodeId;
using shoal::collective::Communicator;

class FuzzClock final : public shoal::Clock {
 public:
  shoal::Instant Now() const override { return {}; }
  shoal::TimerId CallAt(shoal::Instant /*at*/, shoal::UniqueFunction<void()> task) override {
    tasks_.push_back(std::move(task));
    return {};
  }
  void Cancel(shoal::TimerId /*id*/) override {}
  void Run() {
    for (auto& task : std::exchange(tasks_, {})) task();
  }

 private:
  std::vector<shoal::UniqueFunction<void()>> tasks_;
};

class FuzzNetwork final : public shoal::Network {
 public:
  NodeId self() const override { return NodeId{1}; }
  void Attach(shoal::NetworkEvents* /*events*/) override {}
  void Connect(NodeId /*peer*/, const std::string& /*address*/) override {}
  void Disconnect(NodeId /*peer*/) override {}
  shoal::Status Send(NodeId /*to*/, shoal::Traffic /*traffic*/, shoal::Frame frame) override {
    SHOAL_CHECK_EQ(shoal::collective::FrameEpoch(frame), std::uint64_t{1});
    if (takes) return {};
    return {shoal::Code::kResourceExhausted, "full"};
  }
  bool takes = true;
};

// The four collectives that begin in turn.
class Owner {
 public:
  void Begin() {
    if (begun_ == done_.size()) return;
    const std::size_t i = begun_++;
    auto done = [this, i](const shoal::Status&) { SHOAL_CHECK_EQ(++done_[i], 1); };
    switch (i % 4) {
      case 0:
        return communicator_.AllReduce(
            input_, output_, {.pieces = {.elements = 10, .ahead = 2}, .scale = 0.5F}, done);
      case 1:
        return communicator_.AllReduce(input_, output_,
                                       {.algorithm = shoal::collective::Algorithm::kHalvingDoubling,
                                        .wire = shoal::collective::WireType::kF16},
                                       done);
      case 2:
        return communicator_.Broadcast(output_, 1, done);
      default:
        return communicator_.Barrier(done);
    }
  }

  void Handle(std::uint8_t what, shoal::Frame frame) {
    const NodeId who{what % 4U + 1U};
    switch (what / 4U % 8U) {
      case 0:
        return Begin();
      case 1:
        network_.takes = !network_.takes;
        return;
      case 2:
        return communicator_.OnPeerUp(who);
      case 3:
        return communicator_.OnWritable(who);
      case 4:
        return clock_.Run();
      default: {
        const bool damaged = shoal::collective::FrameEpoch(frame) == 0;
        const shoal::Status status = communicator_.OnFrame(who, std::move(frame));
        SHOAL_CHECK(status.ok() || status.code() == shoal::Code::kCorruption);
        SHOAL_CHECK(!damaged || !status.ok());
      }
    }
  }

  void Finish() { clock_.Run(); }

 private:
  FuzzClock clock_;
  FuzzNetwork network_;
  std::vector<float> input_ = std::vector<float>(100, 1);
  std::vector<float> output_ = std::vector<float>(100);
  std::array<int, 16> done_{};
  std::size_t begun_ = 0;
  Communicator communicator_{
      clock_, network_, {.epoch = 1, .members = {NodeId{1}, NodeId{2}, NodeId{3}}, .rank = 0}};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::span<const std::uint8_t> left(data, size);
  Owner owner;
  while (!left.empty()) {
    const std::uint8_t what = left[0];
    left = left.subspan(1);
    shoal::Frame frame;
    if (what / 4U % 8U > 4 && left.size() >= 2) {
      const std::size_t said = left[0] + 256U * left[1];
      left = left.subspan(2);
      const auto bytes = std::as_bytes(left.first(std::min(said, left.size())));
      frame.assign(bytes.begin(), bytes.end());
      left = left.subspan(bytes.size());
    }
    owner.Handle(what, std::move(frame));
  }
  owner.Finish();
  return 0;
}
