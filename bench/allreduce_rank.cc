#include "bench/allreduce_rank.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "collective/communicator.h"
#include "os/file.h"
#include "os/loop.h"
#include "os/mpi/mpi_network.h"
#include "os/net/certificates.h"
#include "os/net/tcp_network.h"
#include "os/net/tls.h"

namespace shoal::bench {
namespace {

using collective::AllReduceOptions;
using collective::Communicator;

// Everybody has been started by then, and the slowest case is over.
constexpr Duration kMeetMax = std::chrono::seconds(30);
constexpr Duration kRunMax = std::chrono::seconds(600);
constexpr Duration kRedialAfter = std::chrono::milliseconds(50);
// Until what is left in the sockets has gone, at the end.
constexpr Duration kFarewell = std::chrono::milliseconds(300);

constexpr std::size_t kBucketBytes = std::size_t{4} << 20;
constexpr std::size_t kBucketsUnderWay = 3;
// Opens TCP's windows before the clock starts.
constexpr std::size_t kWarmUpElements = std::size_t{1} << 20;

constexpr std::size_t kPeriod = 7;
float InputOf(std::size_t rank, std::size_t index) {
  return static_cast<float>((index + rank) % kPeriod);
}

// Cheap, so that it costs the machine little beside what is measured.
std::vector<float> InputsOf(std::size_t rank, std::size_t elements) {
  std::vector<float> inputs(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    inputs[i] = i < kPeriod ? InputOf(rank, i) : inputs[i - kPeriod];
  }
  return inputs;
}

std::size_t SumOf(const std::vector<std::size_t>& list) {
  return std::accumulate(list.begin(), list.end(), std::size_t{0});
}

// Whether every element is the sum that it should be.
bool IsSum(std::span<const float> output, std::size_t ranks) {
  std::vector<float> expected(kPeriod);
  for (std::size_t i = 0; i < kPeriod; ++i) {
    for (std::size_t r = 0; r < ranks; ++r) expected[i] += InputOf(r, i);
  }
  for (std::size_t i = 0; i < output.size(); ++i) {
    if (output[i] != (i < kPeriod ? expected[i] : output[i - kPeriod])) return false;
  }
  return true;
}

// Where each collective of a list begins and ends.
std::vector<std::pair<std::size_t, std::size_t>> Cut(const std::vector<std::size_t>& list,
                                                     Packing packing) {
  const std::size_t all = SumOf(list);
  if (packing == Packing::kRing || packing == Packing::kPacked) return {{0, all}};
  std::vector<std::pair<std::size_t, std::size_t>> parts;
  if (packing == Packing::kEach) {
    std::size_t begin = 0;
    for (const std::size_t elements : list) {
      parts.emplace_back(begin, begin + elements);
      begin += elements;
    }
    return parts;
  }
  const std::size_t step = kBucketBytes / sizeof(float);
  for (std::size_t begin = 0; begin < all; begin += step) {
    parts.emplace_back(begin, std::min(begin + step, all));
  }
  return parts;
}

NodeId NodeOf(std::size_t rank) { return NodeId{rank + 1}; }

std::string PathOf(const std::string& folder, const std::string& name) {
  return folder + "/" + name + ".pem";
}

Result<std::string> Read(const std::string& folder, const std::string& name) {
  return os::ReadFile(PathOf(folder, name), std::size_t{64} << 10);
}
Status Write(const std::string& folder, const std::string& name, const std::string& pem) {
  return os::WriteFileAtomically(PathOf(folder, name), pem, os::FileAccess::kOwner);
}

Result<std::shared_ptr<const os::TlsIdentity>> LoadIdentity(const std::string& folder,
                                                            std::size_t rank) {
  const std::string name = std::to_string(rank);
  SHOAL_ASSIGN_OR_RETURN(const std::string authority, Read(folder, "authority"));
  SHOAL_ASSIGN_OR_RETURN(const std::string certificate, Read(folder, name));
  SHOAL_ASSIGN_OR_RETURN(const std::string key, Read(folder, name + ".key"));
  return os::TlsIdentity::Make(authority, certificate, key);
}

class Rank final : public NetworkEvents {
 public:
  Rank(const AllReduceRankOptions& options, os::TcpNetwork::Options network)
      : options_(options),
        network_(loop_, NodeOf(options.rank), std::move(network)),
        communicator_(loop_, network_, GroupOf(options)) {
    network_.Attach(this);
    if (options.piece_elements > 0) all_reduce_.pieces.elements = options.piece_elements;
    if (options.ahead > 0) all_reduce_.pieces.ahead = options.ahead;
    if (options.packing == Packing::kPacked || options.packing == Packing::kEach) {
      all_reduce_.pieces.elements = 0;
    }
  }
  ~Rank() override { network_.Attach(nullptr); }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  Result<std::vector<double>> Run() {
    SHOAL_RETURN_IF_ERROR(network_.Listen(options_.addresses[options_.rank]).status());
    communicator_.Barrier([this](const Status& status) { met_ = Note(status); });
    for (const NodeId peer : communicator_.Peers(all_reduce_)) Dial(peer);
    SHOAL_RETURN_IF_ERROR(Await(met_, kMeetMax));
    std::vector<double> seconds;
    SHOAL_RETURN_IF_ERROR(Time({kWarmUpElements}).status());
    for (const std::vector<std::size_t>& list : options_.lists) {
      SHOAL_ASSIGN_OR_RETURN(seconds.emplace_back(), Time(list));
    }
    over_ = true;
    loop_.RunUntil([] { return false; }, kFarewell);
    return seconds;
  }

  void OnPeerUp(NodeId peer) override { communicator_.OnPeerUp(peer); }
  // Before all have met, the other has not been started yet.
  void OnPeerDown(NodeId peer, const Status& why) override {
    if (over_) return;
    if (met_) {
      Note(why);
    } else {
      loop_.CallAfter(kRedialAfter, [this, peer] { Dial(peer); });
    }
  }
  void OnFrame(NodeId from, Traffic /*traffic*/, Frame frame) override {
    Note(communicator_.OnFrame(from, std::move(frame)));
  }
  void OnWritable(NodeId peer, Traffic /*traffic*/) override { communicator_.OnWritable(peer); }

 private:
  static collective::Group GroupOf(const AllReduceRankOptions& options) {
    collective::Group group{.epoch = 1, .members = {}, .rank = options.rank};
    for (std::size_t r = 0; r < options.addresses.size(); ++r) group.members.push_back(NodeOf(r));
    return group;
  }

  // One of two that meet dials.
  void Dial(NodeId peer) {
    if (peer < NodeOf(options_.rank)) return;
    network_.Connect(peer, options_.addresses[ToNumber(peer) - 1]);
  }

  bool Note(const Status& status) {
    if (!status.ok() && failure_.ok()) failure_ = status;
    return true;
  }

  Status Await(const bool& done, Duration limit) {
    if (!loop_.RunUntil([&] { return done || !failure_.ok(); }, limit)) {
      return {Code::kDeadlineExceeded, "the other ranks did not come this far in time"};
    }
    return failure_;
  }

  Status Meet() {
    bool all_here = false;
    communicator_.Barrier([&](const Status& status) { all_here = Note(status); });
    return Await(all_here, kRunMax);
  }

  Result<double> Time(const std::vector<std::size_t>& list) {
    input_ = InputsOf(options_.rank, SumOf(list));
    output_.assign(input_.size(), -1);
    SHOAL_RETURN_IF_ERROR(Meet());
    const Instant begin = loop_.Now();
    parts_ = Cut(list, options_.packing);
    begun_ = ended_ = 0;
    BeginMore();
    const bool ended =
        loop_.RunUntil([&] { return ended_ == parts_.size() || !failure_.ok(); }, kRunMax);
    const double seconds = ToSeconds(loop_.Now() - begin);
    SHOAL_RETURN_IF_ERROR(failure_);
    if (!ended) return Status(Code::kDeadlineExceeded, "the all-reduce is not over in time");
    // Others may wait for what is still to be sent here: this loop must not stop for the check yet.
    SHOAL_RETURN_IF_ERROR(Meet());
    if (!IsSum(output_, options_.addresses.size())) {
      return Status(Code::kCorruption, "the result is not the sum");
    }
    return seconds;
  }

  void BeginMore() {
    const std::size_t under_way = options_.packing == Packing::kBuckets ? kBucketsUnderWay : 1;
    while (begun_ < parts_.size() && begun_ - ended_ < under_way) {
      const auto [begin, end] = parts_[begun_++];
      communicator_.AllReduce(std::span(input_).subspan(begin, end - begin),
                              std::span(output_).subspan(begin, end - begin), all_reduce_,
                              [this](const Status& status) {
                                Note(status);
                                ++ended_;
                                BeginMore();
                              });
    }
  }

  const AllReduceRankOptions& options_;
  os::Loop loop_;
  os::TcpNetwork network_;
  AllReduceOptions all_reduce_;
  Communicator communicator_;
  Status failure_;
  bool met_ = false;
  bool over_ = false;
  std::vector<float> input_;
  std::vector<float> output_;
  std::vector<std::pair<std::size_t, std::size_t>> parts_;
  std::size_t begun_ = 0;
  std::size_t ended_ = 0;
};

}  // namespace

Result<std::vector<double>> RunAllReduceRank(const AllReduceRankOptions& options) {
  os::TcpNetwork::Options network;
  network.silence_max = std::chrono::seconds(10);
  if (!options.tls.empty()) {
    SHOAL_ASSIGN_OR_RETURN(network.tls, LoadIdentity(options.tls, options.rank));
  }
  return Rank(options, std::move(network)).Run();
}

Result<std::vector<double>> RunMpiAllReduceRank(
    const std::vector<std::vector<std::size_t>>& lists) {
  os::Loop loop;
  SHOAL_ASSIGN_OR_RETURN(const std::unique_ptr<os::MpiHub> hub, os::MpiHub::Make(loop));
  std::vector<double> seconds;
  const std::vector<float> one(1, 1);
  for (std::size_t i = 0; i <= lists.size(); ++i) {
    const std::vector<float> input =
        InputsOf(hub->rank(), i == 0 ? kWarmUpElements : SumOf(lists[i - 1]));
    std::vector<float> output(input.size());
    std::vector<float> count(1);
    SHOAL_RETURN_IF_ERROR(hub->AllReduceSum(one, count));  // A barrier.
    const Instant begin = loop.Now();
    SHOAL_RETURN_IF_ERROR(hub->AllReduceSum(input, output));
    if (i > 0) seconds.push_back(ToSeconds(loop.Now() - begin));
    if (!IsSum(output, hub->size())) return Status(Code::kCorruption, "the result is not the sum");
  }
  return seconds;
}

Status MakeIdentities(const std::string& folder, std::size_t ranks) {
  SHOAL_ASSIGN_OR_RETURN(const os::Authority authority, os::MakeAuthority("bench"));
  SHOAL_RETURN_IF_ERROR(Write(folder, "authority", authority.certificate_pem));
  for (std::size_t r = 0; r < ranks; ++r) {
    SHOAL_ASSIGN_OR_RETURN(const std::string key, os::MakePrivateKey());
    SHOAL_ASSIGN_OR_RETURN(const std::string public_key, os::PublicKeyOf(key));
    SHOAL_ASSIGN_OR_RETURN(const os::NodeCertificate certificate,
                           os::IssueCertificate(authority, NodeOf(r), public_key));
    const std::string name = std::to_string(r);
    SHOAL_RETURN_IF_ERROR(Write(folder, name, certificate.certificate_pem));
    SHOAL_RETURN_IF_ERROR(Write(folder, name + ".key", key));
  }
  return {};
}

}  // namespace shoal::bench
