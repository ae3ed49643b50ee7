#include "shoal/prepared_model.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "agent/layer_fetcher.h"
#include "agent/news.h"
#include "base/random.h"
#include "kernels/float16.h"
#include "llm/model_config_text.h"
#include "llm/stage.h"
#include "os/file.h"
#include "os/flash/flash_store.h"
#include "os/flash/flash_testing.h"
#include "shoal/layer_manifest.h"
#include "sim/toy_model.h"

namespace shoal {
namespace {

constexpr const char* kBard = SHOAL_SOURCE_DIR "/zoo/bard/bard-q8_0.gguf";

// A world in which nobody is reached, and nothing may be asked for.
class NoNetwork final : public Network {
 public:
  NodeId self() const override { return NodeId{2}; }
  void Attach(NetworkEvents* /*events*/) override {}
  void Connect(NodeId /*peer*/, const std::string& /*address*/) override { ADD_FAILURE(); }
  void Disconnect(NodeId /*peer*/) override {}
  Status Send(NodeId /*to*/, Traffic /*traffic*/, Frame /*frame*/) override {
    ADD_FAILURE();
    return Status(Code::kUnavailable, "nobody is there");
  }
};

// What all layers make of some rows.
std::vector<std::uint16_t> Compute(llm::Stage stage, const llm::ModelConfig& config) {
  constexpr std::size_t kRows = 5;
  llm::KvCache cache(stage.kv_shape(), 1);
  llm::KvSequence sequence(cache);
  EXPECT_TRUE(sequence.Grow(kRows).ok());
  Random random(3);
  std::vector<std::uint16_t> residual(kRows * static_cast<std::size_t>(config.dim));
  for (std::uint16_t& number : residual) {
    number = kernels::F16FromFloat(static_cast<float>(random.Between(-100, 100)) / 64.0F);
  }
  std::vector<llm::StageRow> rows;
  for (std::size_t p = 0; p < kRows; ++p) rows.push_back({&sequence, p});
  Serial serial;
  stage.Forward(residual, rows, serial);
  return residual;
}

class PreparedModelTest : public os::FlashDirectoryTest {
 protected:
  PreparedModelTest() {
    std::filesystem::create_directories(path_);
    std::filesystem::copy_file(kBard, model_path_);
  }

  Result<PreparedModel> Prepare(const OpenedModel& model) {
    made_.clear();
    Result<os::LayerDirectory> directory = os::LayerDirectory::Open(cache_);
    if (!directory.ok()) return directory.status();
    return PrepareModel(model, *directory, serial_, [&](std::size_t made, std::size_t layers) {
      made_.push_back(made);
      EXPECT_EQ(layers, static_cast<std::size_t>(model.config.layers));
    });
  }
  Result<PreparedModel> PrepareBard() {
    const Result<OpenedModel> model = OpenModel(model_path_);
    return model.ok() ? Prepare(*model) : model.status();
  }
  std::string LayerPath(const wire::pb::LayerFile& layer) const {
    return cache_ + "/layers/" + os::ToHex(layer.sha256()) + ".layer";
  }

  const std::string model_path_ = path_ + "/bard.gguf";
  const std::string cache_ = path_ + "/cache";
  const std::vector<std::size_t> all_ = {1, 2, 3, 4, 5};
  std::vector<std::size_t> made_;  // What the last call said.
  Serial serial_;
};

// A node whose flash has the layers computes what the model's own file gives, and asks nobody.
TEST_F(PreparedModelTest, LayersComputeTheSameBits) {
  const OpenedModel model = *OpenModel(model_path_);
  const PreparedModel prepared = *Prepare(model);
  EXPECT_EQ(made_, all_);
  EXPECT_EQ(prepared.config, llm::SerializeConfig(model.config));
  EXPECT_EQ(prepared.id.size(), 64U);

  os::Loop loop;
  NoNetwork network;
  const auto store = *os::FlashStore::Make(loop, *os::LayerDirectory::Open(cache_),
                                           os::FlashStore::Check::kBeforeUse);
  agent::News news(loop, {});
  agent::LayerFetcher fetcher(loop, network, *store, NodeId{1}, news);
  wire::pb::Assign assign;
  for (const wire::pb::LayerFile& layer : prepared.layers) *assign.add_layers() = layer;
  std::optional<Result<agent::Layers>> layers;
  fetcher.Load(
      assign, *llm::ParseConfig("config", prepared.config), [](agent::LayerFetcher::Progress) {},
      [&](Result<agent::Layers> result) { layers = std::move(result); });
  ASSERT_TRUE(loop.RunUntil([&] { return layers.has_value(); }, std::chrono::seconds(60)));
  ASSERT_TRUE(layers->ok()) << layers->status().ToString();
  ASSERT_EQ((*layers)->size(), 5U);
  EXPECT_EQ(Compute(*llm::Stage::Make(**layers, model.config), model.config),
            Compute(*llm::Stage::Load(model.weights, model.config, 0, 5, serial_), model.config));
}

TEST_F(PreparedModelTest, AreMadeOnce) {
  const PreparedModel first = *PrepareBard();
  EXPECT_EQ(made_, all_);
  const PreparedModel second = *PrepareBard();
  EXPECT_EQ(made_, std::vector<std::size_t>());
  EXPECT_EQ(second.id, first.id);
  EXPECT_EQ(second.config, first.config);
  ASSERT_EQ(second.layers.size(), first.layers.size());
  for (std::size_t i = 0; i < first.layers.size(); ++i) {
    EXPECT_EQ(second.layers[i].SerializeAsString(), first.layers[i].SerializeAsString());
  }
}

TEST_F(PreparedModelTest, AreMadeAnewOfAChangedFile) {
  const PreparedModel first = *PrepareBard();
  // Another number in a matrix of some layer, in a file of the same size.
  const auto changed = std::filesystem::last_write_time(model_path_);
  os::FlipBit(model_path_, std::filesystem::file_size(model_path_) - 5000);
  std::filesystem::last_write_time(model_path_, changed + std::chrono::seconds(1));
  const PreparedModel second = *PrepareBard();
  EXPECT_EQ(made_, all_);
  EXPECT_NE(second.id, first.id);
}

TEST_F(PreparedModelTest, OnlyWhatIsMissingIsMade) {
  const PreparedModel first = *PrepareBard();
  std::filesystem::remove(LayerPath(first.layers[1]));
  std::filesystem::resize_file(LayerPath(first.layers[3]), 1000);
  os::FlipBit(LayerPath(first.layers[4]), 4);  // The version of the file.
  EXPECT_EQ(PrepareBard()->id, first.id);
  EXPECT_EQ(made_, (std::vector<std::size_t>{2, 4, 5}));
  EXPECT_EQ(PrepareBard()->id, first.id);
  EXPECT_EQ(made_, std::vector<std::size_t>());
}

TEST_F(PreparedModelTest, ADamagedManifestIsMadeAnew) {
  const PreparedModel first = *PrepareBard();
  const std::string folder = cache_ + "/models/";
  const std::string path = folder + os::ListDirectory(folder)->at(0);
  const std::string text = *os::ReadFile(path, 1 << 20);
  const std::string other_hash = [&] {
    std::string changed = text;
    char& digit = changed[changed.find("\"chunks\": \"") + 20];
    digit = digit == '0' ? '1' : '0';
    return changed;
  }();
  for (const std::string& bad :
       {std::string(), std::string("{}"), text.substr(0, text.size() / 2), other_hash,
        std::string("{\"sources\": 5, \"packed_revision\": [], \"config\": 1, \"layers\": {}}")}) {
    ASSERT_TRUE(os::WriteFileAtomically(path, bad, os::FileAccess::kEveryone).ok());
    EXPECT_EQ(PrepareBard()->id, first.id);
    EXPECT_EQ(made_, all_);
  }
  EXPECT_EQ(*os::ReadFile(path, 1 << 20), text);
}

TEST_F(PreparedModelTest, AFullDiskIsSaidAndTheNextCallGoesOn) {
  {
    const os::FullDisk full(100'000);
    EXPECT_EQ(PrepareBard().status().code(), Code::kResourceExhausted);
    EXPECT_FALSE(std::filesystem::exists(cache_ + "/layers/new.part"));
  }
  EXPECT_TRUE(PrepareBard().ok());
  EXPECT_EQ(made_, all_);
}

// What cannot fit as a whole is not begun.
TEST_F(PreparedModelTest, AQuotaThatIsTooSmallSaysHowMuchIsMissing) {
  const std::uint64_t layer = PrepareBard()->layers[0].bytes();
  std::filesystem::remove_all(cache_);
  ASSERT_TRUE(os::LayerDirectory::Open(cache_)->SetQuota(5 * layer - 1).ok());
  const Status status = PrepareBard().status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_NE(status.message().find("1 MB are missing; its quota is"), std::string::npos)
      << status.message();
  EXPECT_TRUE(made_.empty());
  ASSERT_TRUE(os::LayerDirectory::Open(cache_)->SetQuota(5 * layer).ok());
  EXPECT_TRUE(PrepareBard().ok());
}

TEST_F(PreparedModelTest, FoldersOfHuggingFace) {
  const std::string folder = path_ + "/hf";
  std::filesystem::copy(SHOAL_SOURCE_DIR "/tests/golden/hf/gptq_g32_act", folder);
  const OpenedModel model = *OpenModel(folder);
  const PreparedModel first = *Prepare(model);
  EXPECT_EQ(made_, std::vector<std::size_t>{1});
  const Result<std::vector<SourceFile>> sources = DescribeSources(model.files);
  ASSERT_TRUE(sources.ok()) << sources.status().ToString();
  EXPECT_TRUE(std::any_of(sources->begin(), sources->end(), [&](const SourceFile& source) {
    return source.path.ends_with("/hf/config.json") && source.bytes > 0;
  }));
  EXPECT_EQ(Prepare(*OpenModel(folder))->id, first.id);
  EXPECT_TRUE(made_.empty());
}

// Layers of several chunks: the bytes that WriteLayer gives, and the hashes of them.
TEST_F(PreparedModelTest, LargeLayers) {
  const sim::ToyModel toy(1, 1024, 5);
  OpenedModel model;
  model.files = {model_path_};
  model.config = toy.config();
  model.weights = toy.weights();
  const PreparedModel prepared = *Prepare(model);
  const std::span<const std::byte> bytes = toy.files()[0].bytes.bytes();
  const wire::pb::LayerFile& layer = prepared.layers.at(0);
  EXPECT_GE(pipeline::ChunkCount(layer.bytes()), 2U);
  const std::string file = *os::ReadFile(LayerPath(layer), std::size_t{1} << 30U);
  ASSERT_EQ(file.size(), bytes.size());
  EXPECT_EQ(std::memcmp(file.data(), bytes.data(), bytes.size()), 0);
  const std::atomic<bool> stop = false;
  EXPECT_EQ(*os::CountRightChunks(LayerPath(layer), layer, stop),
            pipeline::ChunkCount(layer.bytes()));
}

}  // namespace
}  // namespace shoal
