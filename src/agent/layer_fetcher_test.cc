// Goal: layers come from whoever has them, whatever some of them do, and what has come stays.
#include "agent/layer_fetcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "sim/fake_network_for_test.h"
#include "sim/manual_clock_for_test.h"
#include "sim/toy_model.h"

namespace shoal::agent {
namespace {

using std::chrono::milliseconds;

constexpr NodeId kPeer{7};
constexpr NodeId kOtherPeer{8};

// Layers of two chunks each.
const sim::ToyModel& Model() {
  static const sim::ToyModel* const model = new sim::ToyModel(2, 768, 5);
  return *model;
}

class Bytes final : public pipeline::LayerBytes {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes() const override { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

// Knows how many chunks of each layer it has, and that they are right.
class ChunkStore final : public pipeline::LayerStore {
 public:
  explicit ChunkStore(Clock& clock) : clock_(clock) {}

  std::shared_ptr<const pipeline::LayerBytes> Find(const std::string& sha256) override {
    for (const sim::ToyModel::File& file : Model().files()) {
      if (file.name.sha256() != sha256) continue;
      if (chunks[sha256] < pipeline::ChunkCount(file.bytes.size())) return nullptr;
      return std::make_shared<Bytes>(file.bytes.bytes());
    }
    return nullptr;
  }
  std::vector<std::string> Whole() const override { return {}; }
  void Open(const wire::pb::LayerFile& layer,
            UniqueFunction<void(Result<std::uint32_t>)> done) override {
    clock_.CallAfter(milliseconds(1), [this, layer, done = std::move(done)]() mutable {
      if (!failure.ok()) return done(failure);
      done(chunks[layer.sha256()]);
    });
  }
  void Append(const wire::pb::LayerFile& layer, std::uint32_t chunk, std::vector<std::byte> bytes,
              UniqueFunction<void(Status)> done) override {
    EXPECT_EQ(chunk, chunks[layer.sha256()]);
    Status status = failure;
    if (sim::ToyHash(bytes) !=
        layer.chunks().substr(chunk * sizeof(wire::Sha256Bytes), sizeof(wire::Sha256Bytes))) {
      status = Status(Code::kCorruption, "another hash");
    } else if (status.ok()) {
      chunks[layer.sha256()] = chunk + 1;
    }
    clock_.CallAfter(milliseconds(1), [status, done = std::move(done)]() mutable { done(status); });
  }

  std::map<std::string, std::uint32_t> chunks;
  Status failure;

 private:
  Clock& clock_;
};

struct Get {
  NodeId to;
  std::size_t layer;  // Of the model.
  std::uint32_t chunk;
  bool operator==(const Get&) const = default;
};

class LayerFetcherTest : public testing::Test {
 protected:
  void Load(const std::vector<NodeId>& sources = {}) {
    wire::pb::Assign assign;
    for (const sim::ToyModel::File& file : Model().files()) *assign.add_layers() = file.name;
    for (const NodeId node : sources) {
      wire::pb::Hop& hop = *assign.add_sources();
      hop.set_node(ToNumber(node));
      hop.set_address("at " + std::to_string(ToNumber(node)));
    }
    Load(assign);
  }
  void Load(const wire::pb::Assign& assign) {
    result_.reset();
    fetcher_->Load(
        assign, Model().config(), [this](LayerFetcher::Progress p) { progress_ = p; },
        [this](Result<Layers> result) {
          EXPECT_FALSE(result_.has_value());
          result_.emplace(std::move(result));
        });
    EXPECT_FALSE(result_.has_value());
    Pass(milliseconds(10));
  }
  void Pass(Duration time) { time_.Pass(time); }

  // What it asked for since the last call.
  std::vector<Get> Asked() {
    std::vector<Get> asked;
    for (const sim::FakeNetwork::Sent& sent : network_.sent) {
      EXPECT_EQ(sent.traffic, Traffic::kBulk);
      const auto piece = wire::DecodePiece(sent.frame);
      EXPECT_TRUE(piece.ok() && piece->kind == wire::Piece::Kind::kGet);
      for (std::size_t i = 0; i < Model().files().size(); ++i) {
        if (Name(i) == piece->layer) asked.push_back({sent.to, i, piece->chunk});
      }
    }
    network_.sent.clear();
    return asked;
  }
  static wire::Sha256Bytes Name(std::size_t layer) {
    wire::Sha256Bytes name;
    const std::string& sha256 = Model().files()[layer].name.sha256();
    std::transform(sha256.begin(), sha256.end(), name.begin(),
                   [](char c) { return static_cast<std::byte>(c); });
    return name;
  }
  // The answer to `get`; `flip` damages one byte.
  void Answer(const Get& get, bool flip = false) {
    const std::span<const std::byte> file = Model().files()[get.layer].bytes.bytes();
    const std::size_t size = pipeline::ChunkSize(file.size(), get.chunk);
    const auto from = file.subspan(get.chunk * wire::kChunkBytes, size);
    std::vector<std::byte> chunk(from.begin(), from.end());
    if (flip) chunk[size / 2] ^= std::byte{1};
    for (std::size_t at = 0; at < size; at += wire::kPieceBytesMax) {
      Data(get, at,
           std::span(chunk).subspan(at, std::min<std::size_t>(wire::kPieceBytesMax, size - at)));
    }
    Pass(milliseconds(10));
  }
  void Data(const Get& get, std::size_t offset, std::span<const std::byte> data) {
    wire::Piece piece;
    piece.kind = wire::Piece::Kind::kData;
    piece.layer = Name(get.layer);
    piece.chunk = get.chunk;
    piece.offset = static_cast<std::uint32_t>(offset);
    piece.data = data;
    fetcher_->OnPiece(get.to, piece);
  }
  void Refuse(const Get& get) {
    wire::Piece piece;
    piece.kind = wire::Piece::Kind::kRefuse;
    piece.layer = Name(get.layer);
    piece.chunk = get.chunk;
    fetcher_->OnPiece(get.to, piece);
    Pass(milliseconds(10));
  }
  // Answers everything until nothing more is asked for.
  void AnswerAll() {
    for (std::vector<Get> asked = Asked(); !asked.empty(); asked = Asked()) {
      for (const Get& get : asked) Answer(get);
    }
  }
  void ExpectLoaded() {
    ASSERT_TRUE(result_.has_value());
    ASSERT_TRUE(result_->ok()) << result_->status().ToString();
    EXPECT_EQ((*result_)->size(), Model().files().size());
  }

  sim::ManualClock time_;
  sim::FakeNetwork network_;
  ChunkStore store_{time_.clock()};
  std::vector<std::string> said_;
  News news_{time_.clock(), [this](const std::string& line) { said_.push_back(line); }};
  std::unique_ptr<LayerFetcher> fetcher_ =
      std::make_unique<LayerFetcher>(time_.clock(), network_, store_, kHeadNode, news_);
  LayerFetcher::Progress progress_;
  std::optional<Result<Layers>> result_;
};

TEST_F(LayerFetcherTest, ChunkByChunkFromTheHeadIfThereIsNobodyElse) {
  ASSERT_EQ(pipeline::ChunkCount(Model().files()[0].bytes.size()), 2U);
  Load();
  std::vector<Get> all;
  for (std::vector<Get> asked = Asked(); !asked.empty(); asked = Asked()) {
    ASSERT_EQ(asked.size(), 1U);
    all.push_back(asked[0]);
    Answer(asked[0]);
  }
  EXPECT_EQ(all, (std::vector<Get>{
                     {kHeadNode, 0, 0}, {kHeadNode, 0, 1}, {kHeadNode, 1, 0}, {kHeadNode, 1, 1}}));
  ExpectLoaded();
  Pass(std::chrono::minutes(1));
  EXPECT_TRUE(Asked().empty());
}

TEST_F(LayerFetcherTest, SaysHowFarItIs) {
  const std::uint64_t bytes = Model().files()[0].bytes.size();
  Load();
  Answer(Asked().at(0));
  Pass(LayerFetcher::kProgressInterval + milliseconds(300));
  EXPECT_EQ(progress_.bytes, wire::kChunkBytes);
  EXPECT_EQ(progress_.bytes_total, 2 * bytes);
  Answer(Asked().at(0));
  Pass(LayerFetcher::kProgressInterval + milliseconds(300));
  EXPECT_EQ(progress_.bytes, bytes) << "a layer that is whole counts once";
}

TEST_F(LayerFetcherTest, WhatTheStoreHasIsNotAskedFor) {
  store_.chunks[Model().files()[0].name.sha256()] = 2;
  store_.chunks[Model().files()[1].name.sha256()] = 1;
  Load();
  EXPECT_EQ(network_.sent.size(), 1U);
  const Get get = Asked().at(0);
  EXPECT_EQ(get, (Get{kHeadNode, 1, 1}));
  Answer(get);
  ExpectLoaded();
  Load();
  ExpectLoaded();
  EXPECT_TRUE(Asked().empty());
}

TEST_F(LayerFetcherTest, OtherNodesAreAskedBeforeTheHeadOnceTheyAreThere) {
  Load({kPeer});
  EXPECT_TRUE(network_.dialled.contains({kPeer, "at 7"}));
  const Get first = Asked().at(0);
  EXPECT_EQ(first.to, kHeadNode) << "nobody waits for a dial";
  fetcher_->OnPeerUp(kPeer);
  Answer(first);
  EXPECT_EQ(Asked(), (std::vector<Get>{{kPeer, 0, 1}}));
}

// What a peer may do instead of sending a chunk, after which the head is asked for it.
class BadPeerTest : public LayerFetcherTest {
 protected:
  void Try(const std::function<void(const Get&)>& misbehave) {
    fetcher_->OnPeerUp(kPeer);
    Load({kPeer});
    const Get get = Asked().at(0);
    ASSERT_EQ(get, (Get{kPeer, 0, 0}));
    misbehave(get);
    const std::vector<Get> again = Asked();
    ASSERT_EQ(again, (std::vector<Get>{{kHeadNode, 0, 0}}));
    // What it sends now is not looked at.
    Data(get, 0, std::as_bytes(std::span("late")));
    Answer(again[0]);
    const std::vector<Get> next = Asked();
    ASSERT_EQ(next, (std::vector<Get>{{kHeadNode, 0, 1}})) << "the peer was tried";
    Answer(next[0]);
    AnswerAll();
    ExpectLoaded();
  }
};

TEST_F(BadPeerTest, Refuses) {
  Try([&](const Get& get) { Refuse(get); });
}
TEST_F(BadPeerTest, SendsWrongBytes) {
  Try([&](const Get& get) { Answer(get, true); });
}
TEST_F(BadPeerTest, GoesSilent) {
  Try([&](const Get& get) {
    Data(get, 0, std::as_bytes(std::span("a few")));
    Pass(LayerFetcher::kSilenceMax);
    EXPECT_TRUE(network_.sent.empty());
    Pass(milliseconds(500));
  });
}
TEST_F(BadPeerTest, LosesItsLink) {
  Try([&](const Get&) { fetcher_->OnPeerDown(kPeer); });
}
TEST_F(BadPeerTest, LeavesPiecesOut) {
  Try([&](const Get& get) { Data(get, 5, std::as_bytes(std::span("a few"))); });
}
TEST_F(BadPeerTest, SendsMoreThanTheChunk) {
  Try([&](const Get& get) {
    const std::vector<std::byte> data(wire::kPieceBytesMax);
    for (std::size_t at = 0; at < wire::kChunkBytes; at += data.size()) Data(get, at, data);
  });
}

TEST_F(LayerFetcherTest, OfManyOneIsEnough) {
  fetcher_->OnPeerUp(kPeer);
  fetcher_->OnPeerUp(kOtherPeer);
  Load({kPeer, kOtherPeer});
  const Get first = Asked().at(0);
  EXPECT_NE(first.to, kHeadNode);
  Answer(first, true);
  const Get second = Asked().at(0);
  EXPECT_NE(second.to, kHeadNode);
  EXPECT_NE(second.to, first.to);
  Answer(second);
  EXPECT_EQ(Asked().at(0).to, second.to);
}

TEST_F(LayerFetcherTest, APeerThatCannotBeSentToIsSkipped) {
  fetcher_->OnPeerUp(kPeer);
  network_.down = {kPeer};
  Load({kPeer});
  EXPECT_EQ(Asked(), (std::vector<Get>{{kHeadNode, 0, 0}}));
}

TEST_F(LayerFetcherTest, WhenTheHeadFailsTooAllAreTriedAgainAfterAMoment) {
  fetcher_->OnPeerUp(kPeer);
  Load({kPeer});
  Refuse(Asked().at(0));
  Refuse(Asked().at(0));
  EXPECT_TRUE(Asked().empty());
  Pass(LayerFetcher::kRetryAfter);
  const std::vector<Get> again = Asked();
  ASSERT_EQ(again, (std::vector<Get>{{kPeer, 0, 0}}));
  Answer(again[0]);
  AnswerAll();
  ExpectLoaded();
}

TEST_F(LayerFetcherTest, WrongBytesOnceAreAskedForAgain) {
  Load();
  for (int i = 0; i < 2; ++i) {
    Answer(Asked().at(0), true);
    Pass(LayerFetcher::kRetryAfter);
    ASSERT_FALSE(result_.has_value());
  }
  AnswerAll();
  ExpectLoaded();
  EXPECT_TRUE(said_.empty());
}

TEST_F(LayerFetcherTest, AHeadWithADamagedFileIsToldWhatToDo) {
  Load();
  for (int i = 0; i < 3; ++i) {
    Answer(Asked().at(0), true);
    Pass(LayerFetcher::kRetryAfter);
  }
  ASSERT_TRUE(result_.has_value());
  EXPECT_EQ(result_->status().code(), Code::kCorruption);
  const std::string message(result_->status().message());
  EXPECT_NE(message.find("its file is damaged"), std::string::npos) << message;
  EXPECT_NE(message.find("`shoal cache rm "), std::string::npos) << message;
}

TEST_F(LayerFetcherTest, ANodeThatSendsWrongBytesIsNamed) {
  fetcher_->OnPeerUp(kPeer);
  Load({kPeer});
  Answer(Asked().at(0), true);
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_TRUE(said_[0].starts_with("node 7 sent wrong bytes of layer ")) << said_[0];
}

TEST_F(LayerFetcherTest, WhatNobodyHasFailsInTheEnd) {
  Load();
  int tries = 0;
  while (!result_.has_value() && tries < 1000) {
    for (const Get& get : Asked()) {
      Refuse(get);
      ++tries;
    }
    Pass(LayerFetcher::kRetryAfter);
  }
  ASSERT_TRUE(result_.has_value());
  EXPECT_EQ(result_->status().code(), Code::kUnavailable);
  EXPECT_GT(tries, 10);
  Pass(std::chrono::minutes(1));
  EXPECT_TRUE(Asked().empty());
}

TEST_F(LayerFetcherTest, ANewLoadGoesOnWhereTheOldOneWas) {
  Load();
  Answer(Asked().at(0));
  const Get old = Asked().at(0);
  EXPECT_EQ(old.chunk, 1U);
  Load();
  EXPECT_EQ(Asked(), (std::vector<Get>{{kHeadNode, 0, 1}}));
  Answer(old);
  AnswerAll();
  ExpectLoaded();
}

TEST_F(LayerFetcherTest, AFullStoreEndsTheLoad) {
  Load();
  store_.failure = Status(Code::kResourceExhausted, "5 MB are missing");
  Answer(Asked().at(0));
  ASSERT_TRUE(result_.has_value());
  EXPECT_EQ(result_->status().code(), Code::kResourceExhausted);
  Load();
  ASSERT_TRUE(result_.has_value());
  EXPECT_EQ(result_->status().message(), "5 MB are missing");
  EXPECT_TRUE(Asked().empty());
}

TEST_F(LayerFetcherTest, ALayerThatIsNotDescribedRightIsNotAskedFor) {
  wire::pb::Assign assign;
  *assign.add_layers() = Model().files()[0].name;
  assign.mutable_layers(0)->set_bytes(std::uint64_t{1} << 40U);
  Load(assign);
  ASSERT_TRUE(result_.has_value());
  EXPECT_EQ(result_->status().code(), Code::kCorruption);
  EXPECT_TRUE(Asked().empty());
}

TEST_F(LayerFetcherTest, OneThatIsGoneDoesNothingMore) {
  Load();
  Refuse(Asked().at(0));  // It would ask again.
  fetcher_.reset();
  Pass(LayerFetcher::kRetryAfter);
  EXPECT_TRUE(Asked().empty());

  fetcher_ = std::make_unique<LayerFetcher>(time_.clock(), network_, store_, kHeadNode, news_);
  wire::pb::Assign assign;
  *assign.add_layers() = Model().files()[0].name;
  fetcher_->Load(
      assign, Model().config(), [](LayerFetcher::Progress) {},
      [this](Result<Layers> result) { result_.emplace(std::move(result)); });
  Pass(Duration{0});  // The store is asked, and has not answered.
  fetcher_.reset();
  Pass(std::chrono::seconds(1));
  EXPECT_TRUE(Asked().empty());
  EXPECT_FALSE(result_.has_value());
}

}  // namespace
}  // namespace shoal::agent
