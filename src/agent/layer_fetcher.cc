#include "agent/layer_fetcher.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "pipeline/mapped_layer.h"

namespace shoal::agent {
namespace {

constexpr Duration kTickInterval = std::chrono::milliseconds(250);
// After so many broken attempts at one chunk, from all sources, the load has failed.
constexpr std::size_t kFailuresMax = 40;
// Whatever came over the network came as it was sent: a head that sends wrong bytes has them so.
constexpr std::size_t kWrongFromHeadMax = 3;

// Enough of its name for `shoal cache`.
std::string ShortName(const wire::pb::LayerFile& layer) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string name;
  for (const char c : layer.sha256().substr(0, 6)) {
    const auto byte = static_cast<unsigned char>(c);
    name += {kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  return name;
}

}  // namespace

LayerFetcher::~LayerFetcher() { clock_.Cancel(tick_); }

void LayerFetcher::Load(const wire::pb::Assign& assign, const llm::ModelConfig& config,
                        UniqueFunction<void(Progress)> progress,
                        UniqueFunction<void(Result<Layers>)> done) {
  ++call_;
  clock_.Cancel(tick_);
  loading_ = true;
  layers_.assign(assign.layers().begin(), assign.layers().end());
  config_ = config;
  sources_.clear();
  bad_.clear();
  for (const wire::pb::Hop& hop : assign.sources()) {
    sources_[NodeId{hop.node()}] = hop.address();
  }
  progress_ = std::move(progress);
  done_ = std::move(done);
  next_ = 0;
  bytes_done_ = 0;
  bytes_total_ = 0;
  failures_ = 0;
  wrong_from_head_ = 0;
  fetch_.reset();
  found_.clear();
  for (const wire::pb::LayerFile& layer : layers_) bytes_total_ += layer.bytes();
  told_ = heard_ = clock_.Now();
  // Never inside this call.
  tick_ = clock_.CallAfter(Duration{0}, [this] {
    tick_ = clock_.CallAfter(kTickInterval, [this] { Tick(); });
    Next();
  });
}

// Opens the next layer, to see how much of it is here.
void LayerFetcher::Next() {
  if (next_ == layers_.size()) return Finish(Map());
  const wire::pb::LayerFile& layer = layers_[next_];
  if (const Status status = pipeline::CheckLayerFile(layer); !status.ok()) return Finish(status);
  fetch_ = Fetch{};  // Not emplace(): clang 14 sees the default constructor too late for it.
  fetch_->layer = layer;
  fetch_->storing = true;  // Until it is known what there is of it.
  store_.Open(layer, [this, call = call_,
                      alive = std::weak_ptr<int>(alive_)](Result<std::uint32_t> chunks) {
    if (!alive.expired() && call == call_) OnOpened(std::move(chunks));
  });
}

void LayerFetcher::OnOpened(Result<std::uint32_t> chunks) {
  if (!chunks.ok()) return Finish(std::move(chunks).status());
  if (*chunks == pipeline::ChunkCount(fetch_->layer.bytes())) {
    auto bytes = store_.Find(fetch_->layer.sha256());
    if (bytes == nullptr) {
      return Finish(Status(Code::kUnavailable, "a layer has vanished from the store"));
    }
    found_.push_back(std::move(bytes));
    bytes_done_ += fetch_->layer.bytes();
    fetch_.reset();
    ++next_;
    return Next();
  }
  fetch_->storing = false;
  fetch_->chunk = *chunks;
  for (std::uint32_t i = 0; i < *chunks; ++i) {
    bytes_done_ += pipeline::ChunkSize(fetch_->layer.bytes(), i);
  }
  Ask();
}

// Of somebody who is there: other nodes before the head, which has enough to do.
void LayerFetcher::Ask() {
  fetch_->bytes.clear();
  fetch_->source = NodeId{0};
  for (const auto& [node, address] : sources_) {
    if (bad_.contains(node)) continue;
    if (!up_.contains(node)) {
      network_.Connect(node, address);
      continue;
    }
    fetch_->source = node;
  }
  if (fetch_->source == NodeId{0}) fetch_->source = head_;
  wire::Piece piece;
  piece.kind = wire::Piece::Kind::kGet;
  std::memcpy(piece.layer.data(), fetch_->layer.sha256().data(), piece.layer.size());
  piece.chunk = fetch_->chunk;
  heard_ = clock_.Now();
  const Status sent = network_.Send(fetch_->source, Traffic::kBulk, wire::EncodePiece(piece));
  if (!sent.ok()) TryAnother(sent.ToString());
}

void LayerFetcher::OnPeerUp(NodeId peer) { up_.insert(peer); }

void LayerFetcher::OnPeerDown(NodeId peer) {
  up_.erase(peer);
  if (peer != head_) bad_.insert(peer);
  if (loading_ && fetch_ && !fetch_->storing && fetch_->source == peer) {
    TryAnother("the link broke");
  }
}

void LayerFetcher::OnPiece(NodeId from, const wire::Piece& piece) {
  if (!loading_ || !fetch_ || fetch_->storing || from != fetch_->source ||
      piece.chunk != fetch_->chunk ||
      std::memcmp(piece.layer.data(), fetch_->layer.sha256().data(), piece.layer.size()) != 0) {
    return;
  }
  heard_ = clock_.Now();
  if (piece.kind == wire::Piece::Kind::kRefuse) return TryAnother("it refuses");
  const std::size_t size = pipeline::ChunkSize(fetch_->layer.bytes(), fetch_->chunk);
  if (piece.offset != fetch_->bytes.size() || piece.data.size() > size - fetch_->bytes.size()) {
    return TryAnother("pieces are missing");
  }
  fetch_->bytes.insert(fetch_->bytes.end(), piece.data.begin(), piece.data.end());
  if (fetch_->bytes.size() < size) return;
  fetch_->storing = true;
  store_.Append(fetch_->layer, fetch_->chunk, std::move(fetch_->bytes),
                [this, call = call_, alive = std::weak_ptr<int>(alive_)](const Status& status) {
                  if (!alive.expired() && call == call_) OnStored(status);
                });
  fetch_->bytes = {};
}

void LayerFetcher::OnStored(const Status& status) {
  fetch_->storing = false;
  if (status.code() == Code::kCorruption) return OnWrongBytes();
  if (!status.ok()) return Finish(status);
  failures_ = 0;
  wrong_from_head_ = 0;
  bytes_done_ += pipeline::ChunkSize(fetch_->layer.bytes(), fetch_->chunk);
  if (++fetch_->chunk < pipeline::ChunkCount(fetch_->layer.bytes())) return Ask();
  fetch_.reset();
  // Is counted when the store has it ready.
  bytes_done_ -= layers_[next_].bytes();
  Next();
}

void LayerFetcher::OnWrongBytes() {
  const std::string layer = ShortName(fetch_->layer);
  if (fetch_->source != head_) {
    news_.Say("node " + std::to_string(ToNumber(fetch_->source)) + " sent wrong bytes of layer " +
              layer + "; asking others");
  } else if (++wrong_from_head_ == kWrongFromHeadMax) {
    return Finish(Status(Code::kCorruption,
                         "the head sends wrong bytes of layer " + layer +
                             ", so its file is damaged; on the head, stop `shoal serve`, run "
                             "`shoal cache rm " +
                             layer + "`, and start it again"));
  }
  TryAnother("its bytes are not the layer's");
}

void LayerFetcher::TryAnother(const std::string& why) {
  if (++failures_ > kFailuresMax) {
    return Finish(Status(Code::kUnavailable, "a layer cannot be had from anybody: " + why));
  }
  if (fetch_->source != head_) {
    bad_.insert(fetch_->source);
    return Ask();
  }
  // The head is the last resort: after a moment, from the beginning.
  fetch_->source = NodeId{0};
  bad_.clear();
  clock_.CallAfter(kRetryAfter, [this, call = call_, alive = std::weak_ptr<int>(alive_)] {
    if (alive.expired()) return;
    if (call == call_ && loading_ && fetch_ && !fetch_->storing && fetch_->source == NodeId{0}) {
      Ask();
    }
  });
}

void LayerFetcher::Tick() {
  tick_ = clock_.CallAfter(kTickInterval, [this] { Tick(); });
  const Instant now = clock_.Now();
  if (now - told_ >= kProgressInterval) {
    told_ = now;
    progress_({bytes_done_ + (fetch_ ? fetch_->bytes.size() : 0), bytes_total_});
  }
  if (fetch_ && !fetch_->storing && fetch_->source != NodeId{0} && now - heard_ > kSilenceMax) {
    TryAnother("nothing comes");
  }
}

Result<Layers> LayerFetcher::Map() {
  Layers layers;
  for (std::shared_ptr<const pipeline::LayerBytes>& bytes : found_) {
    SHOAL_ASSIGN_OR_RETURN(auto layer, pipeline::MapLayer(std::move(bytes), config_));
    layers.push_back(std::move(layer));
  }
  return layers;
}

void LayerFetcher::Finish(Result<Layers> result) {
  loading_ = false;
  fetch_.reset();
  found_.clear();
  ++call_;
  clock_.Cancel(tick_);
  const auto done = std::make_shared<UniqueFunction<void(Result<Layers>)>>(std::move(done_));
  (*done)(std::move(result));
}

}  // namespace shoal::agent
