// The collectives' contract between threads, over sockets with and without TLS, and in the
// simulator. The cases are in collective_cases.h.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "contract/collective_cases.h"
#include "os/loop.h"
#include "os/net/certificates.h"
#include "os/net/tcp_network.h"
#include "os/net/thread_network.h"
#include "os/net/tls.h"
#include "sim/world.h"

namespace shoal {
namespace {

enum class Kind : std::uint8_t { kThread, kTcp, kTls, kSim };

struct Setting {
  Kind kind = Kind::kThread;
  std::size_t ranks = 1;
};
std::string NameOf(const Setting& setting) {
  static const std::map<Kind, std::string> kNames = {
      {Kind::kThread, "thread"}, {Kind::kTcp, "tcp"}, {Kind::kTls, "tls"}, {Kind::kSim, "sim"}};
  return kNames.at(setting.kind) + "_" + std::to_string(setting.ranks);
}
void PrintTo(const Setting& setting, std::ostream* out) { *out << NameOf(setting); }

constexpr NodeId NodeOf(std::size_t rank) { return NodeId{rank + 1}; }

// Longer than any rank computes without looking at its sockets, on a busy machine.
constexpr Duration kSilenceMax = std::chrono::seconds(30);

collective::Group GroupOf(std::size_t rank, std::size_t ranks) {
  collective::Group group{.epoch = 7, .members = {}, .rank = rank, .switches = SwitchesOf(ranks)};
  for (std::size_t r = 0; r < ranks; ++r) group.members.push_back(NodeOf(r));
  return group;
}

std::vector<CollectiveCase> CasesOf(const Setting& setting) {
  // Every frame of the simulator is also hashed: two ranks are enough of that.
  return CollectiveCases(setting.ranks,
                         /*large=*/setting.ranks <= (setting.kind == Kind::kSim ? 2U : 4U));
}

using Ranks = std::vector<std::unique_ptr<CollectiveRank>>;

bool AllDone(const Ranks& ranks) {
  return std::all_of(ranks.begin(), ranks.end(), [](const auto& rank) { return rank->done(); });
}

void ExpectAllRight(const Setting& setting, const Ranks& ranks) {
  const std::vector<CollectiveCase> cases = CasesOf(setting);
  for (const auto& rank : ranks) {
    EXPECT_TRUE(rank->done());
    for (const std::string& error : rank->errors()) ADD_FAILURE() << error;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      ASSERT_EQ(rank->fingerprints()[i], ranks[0]->fingerprints()[i])
          << cases[i].name << ": ranks differ";
    }
  }
}

// Nodes with a thread and a loop each.
class ThreadWorld {
 public:
  explicit ThreadWorld(const Setting& setting) : setting_(setting), loops_(setting.ranks) {
    if (setting.kind == Kind::kTls) authority_ = *os::MakeAuthority("contract");
    for (std::size_t r = 0; r < setting.ranks; ++r) {
      loops_[r] = std::make_unique<os::Loop>();
      networks_.push_back(MakeNetwork(r));
    }
    ranks_.resize(setting.ranks);
  }

  const Ranks& Run() {
    std::vector<std::thread> threads;
    for (std::size_t r = 0; r < setting_.ranks; ++r)
      threads.emplace_back([this, r] { RunRank(r); });
    for (std::thread& thread : threads) thread.join();
    return ranks_;
  }

 private:
  std::unique_ptr<Network> MakeNetwork(std::size_t rank) {
    const NodeId id = NodeOf(rank);
    if (setting_.kind == Kind::kThread) {
      addresses_[id] = os::ThreadNetworks::AddressOf(id);
      return hub_.Join(*loops_[rank], id);
    }
    os::TcpNetwork::Options options;
    options.silence_max = kSilenceMax;
    options.handshake_max = kSilenceMax;
    if (authority_) {
      const std::string key = *os::MakePrivateKey();
      const auto certificate = *os::IssueCertificate(*authority_, id, *os::PublicKeyOf(key));
      options.tls =
          *os::TlsIdentity::Make(authority_->certificate_pem, certificate.certificate_pem, key);
    }
    auto network = std::make_unique<os::TcpNetwork>(*loops_[rank], id, options);
    addresses_[id] = *network->Listen("127.0.0.1:0");
    return network;
  }

  // Nobody leaves before all are done: a rank that is may have things to send.
  void RunRank(std::size_t rank) {
    os::Loop& loop = *loops_[rank];
    ranks_[rank] = std::make_unique<CollectiveRank>(
        loop, *networks_[rank], GroupOf(rank, setting_.ranks), CasesOf(setting_),
        [this](NodeId id) { return addresses_.at(id); });
    bool counted = false;
    loop.RunUntil(
        [&] {
          if (!counted && ranks_[rank]->done()) {
            counted = true;
            ++done_;
            for (const auto& other : loops_) other->Post([] {});
          }
          return done_ == setting_.ranks;
        },
        CollectiveLimit());
  }

  const Setting setting_;
  std::optional<os::Authority> authority_;
  std::vector<std::unique_ptr<os::Loop>> loops_;
  os::ThreadNetworks hub_;
  std::map<NodeId, std::string> addresses_;
  std::vector<std::unique_ptr<Network>> networks_;
  Ranks ranks_;
  std::atomic<std::size_t> done_ = 0;
};

class SimWorld {
 public:
  explicit SimWorld(const Setting& setting) : setting_(setting), world_({.seed = 1}) {}

  const Ranks& Run() {
    for (std::size_t r = 0; r < setting_.ranks; ++r) {
      world_.AddNode(NodeOf(r), [](const auto&) { return std::make_unique<sim::Program>(); });
    }
    for (std::size_t r = 0; r < setting_.ranks; ++r) {
      const sim::Surroundings at = world_.SurroundingsOf(NodeOf(r));
      ranks_.push_back(std::make_unique<CollectiveRank>(
          at.clock, at.network, GroupOf(r, setting_.ranks), CasesOf(setting_),
          [](NodeId id) { return "sim:" + std::to_string(ToNumber(id)); }));
    }
    world_.RunUntil([this] { return AllDone(ranks_); }, std::chrono::hours(24));
    return ranks_;
  }

 private:
  const Setting setting_;
  sim::World world_;
  Ranks ranks_;
};

class CollectiveContract : public testing::TestWithParam<Setting> {};

TEST_P(CollectiveContract, EveryRankGetsWhatItShould) {
  if (GetParam().kind == Kind::kSim) {
    SimWorld world(GetParam());
    ExpectAllRight(GetParam(), world.Run());
  } else {
    ThreadWorld world(GetParam());
    ExpectAllRight(GetParam(), world.Run());
  }
}

std::vector<Setting> Settings() {
  std::vector<Setting> settings;
  for (const Kind kind : {Kind::kThread, Kind::kTcp, Kind::kTls, Kind::kSim}) {
    for (const std::size_t ranks : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U, 16U}) {
      settings.push_back({.kind = kind, .ranks = ranks});
    }
  }
  return settings;
}

std::string NameOfTest(const testing::TestParamInfo<Setting>& info) { return NameOf(info.param); }

INSTANTIATE_TEST_SUITE_P(Over, CollectiveContract, testing::ValuesIn(Settings()), NameOfTest);

}  // namespace
}  // namespace shoal
