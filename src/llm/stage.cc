#include "llm/stage.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/check.h"
#include "kernels/attention.h"
#include "kernels/convert.h"
#include "kernels/elementwise.h"
#include "kernels/math.h"
#include "kernels/rmsnorm.h"
#include "kernels/softmax.h"

namespace shoal::llm {
namespace {

std::size_t Size(std::int64_t value) { return static_cast<std::size_t>(value); }

std::span<float> Fit(std::vector<float>& buffer, std::size_t size) {
  if (buffer.size() < size) buffer.resize(size);
  return std::span<float>(buffer).first(size);
}

void AddBias(std::span<const float> bias, std::span<float> rows, Parallel& parallel) {
  if (bias.empty()) return;
  for (std::size_t i = 0; i < rows.size(); i += bias.size()) {
    const std::span<float> row = rows.subspan(i, bias.size());
    kernels::Add(row, bias, row, parallel);
  }
}

// The experts of a row, in ascending order, and their weights.
struct Choice {
  std::size_t expert;
  float weight;
};

// The `count` most probable, ties to the lowest; weights divided by their sum.
std::vector<Choice> ChooseExperts(std::span<const float> probabilities, std::size_t count) {
  std::vector<Choice> choices;
  for (std::size_t e = 0; e < probabilities.size(); ++e) choices.push_back({e, probabilities[e]});
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Choice& a, const Choice& b) { return a.weight > b.weight; });
  choices.resize(std::min(count, choices.size()));
  std::sort(choices.begin(), choices.end(),
            [](const Choice& a, const Choice& b) { return a.expert < b.expert; });
  float sum = 0;
  for (const Choice& choice : choices) sum += choice.weight;
  for (Choice& choice : choices) choice.weight /= sum;
  return choices;
}

}  // namespace

Result<Stage> Stage::Load(const ModelWeights& model, const ModelConfig& config, std::int64_t begin,
                          std::int64_t end, Parallel& parallel, kernels::KvType kv) {
  SHOAL_CHECK(0 <= begin && begin <= end && end <= config.layers);
  std::vector<std::shared_ptr<const Layer>> layers;
  for (std::int64_t i = begin; i < end; ++i) {
    SHOAL_ASSIGN_OR_RETURN(Layer layer, LoadLayer(model, config, i, parallel));
    layers.push_back(std::make_shared<const Layer>(std::move(layer)));
  }
  Result<Stage> stage = Make(std::move(layers), config, kv);
  if (!stage.ok()) return std::move(stage).status().Annotate(model.name());
  return stage;
}

Result<Stage> Stage::Make(std::vector<std::shared_ptr<const Layer>> layers,
                          const ModelConfig& config, kernels::KvType kv) {
  if (Size(config.head_dim) > kernels::kHeadDimMax) {
    return Status(Code::kInvalidArgument, "heads of " + std::to_string(config.head_dim) +
                                              " numbers; at most " +
                                              std::to_string(kernels::kHeadDimMax) + " can be run");
  }
  if (!kernels::CanKeep(kv, Size(config.head_dim))) {
    return Status(Code::kInvalidArgument,
                  "heads of " + std::to_string(config.head_dim) +
                      " numbers, which are no blocks of 32: keep them as f16");
  }
  Stage stage;
  stage.config_ = config;
  stage.kv_type_ = kv;
  stage.rope_ = Rope(config.rope);
  stage.layers_ = std::move(layers);
  return stage;
}

KvShape Stage::kv_shape() const {
  return {.layers = layers_.size(),
          .kv_heads = Size(config_.kv_heads),
          .head_dim = Size(config_.head_dim),
          .type = kv_type_};
}

void Stage::Forward(std::span<std::uint16_t> residual, std::span<const StageRow> rows,
                    Parallel& parallel) {
  const std::size_t count = rows.size();
  const std::size_t dim = Size(config_.dim);
  SHOAL_CHECK_EQ(residual.size(), count * dim);
  if (count == 0) return;
  const std::size_t table = 2 * rope_.pairs();
  Fit(tables_, count * table);
  for (std::size_t r = 0; r < count; ++r) {
    SHOAL_CHECK_LT(rows[r].position, rows[r].sequence->length());
    rope_.FillTable(rows[r].position, std::span<float>(tables_).subspan(r * table, table));
  }
  const std::span<float> x = Fit(x_, count * dim);
  const std::span<float> normed = Fit(normed_, count * dim);
  const std::span<float> added = Fit(added_, count * dim);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = *layers_[i];
    kernels::F32FromF16(residual, x, parallel);
    activations_.AssignNormed(x, layer.attention_norm, config_.rms_eps, normed, layer.q.block(),
                              parallel);
    Attention(i, rows, parallel);
    kernels::Add(x, added, x, parallel);
    const Matrix& next = config_.experts > 0 ? layer.router : layer.experts[0].gate;
    activations_.AssignNormed(x, layer.ffn_norm, config_.rms_eps, normed, next.block(), parallel);
    if (config_.experts > 0) {
      Mixture(layer, count, parallel);
    } else {
      Dense(layer.experts[0], added, parallel);
    }
    kernels::Add(x, added, x, parallel);
    kernels::F16FromF32(x, residual, parallel);
  }
}

void Stage::Attention(std::size_t layer, std::span<const StageRow> rows, Parallel& parallel) {
  const Layer& weights = *layers_[layer];
  const std::size_t count = rows.size();
  const std::size_t dim = Size(config_.dim);
  weights.q.Apply(activations_, Fit(q_, count * weights.q.rows()), parallel);
  weights.k.Apply(activations_, Fit(k_, count * weights.k.rows()), parallel);
  weights.v.Apply(activations_, Fit(v_, count * weights.v.rows()), parallel);
  PrepareHeads(weights, count, parallel);
  StoreKv(layer, rows);
  AttendAll(layer, rows, parallel);
  const std::size_t q_dim = Size(config_.q_dim());
  activations_.Assign(std::span<const float>(mixed_).first(count * q_dim), q_dim);
  weights.output.Apply(activations_, std::span<float>(added_).first(count * dim), parallel);
}

// Biases, norms and turns of q and k.
void Stage::PrepareHeads(const Layer& layer, std::size_t count, Parallel& parallel) {
  const std::size_t q_dim = Size(config_.q_dim());
  const std::size_t kv_dim = Size(config_.kv_dim());
  const std::size_t head_dim = Size(config_.head_dim);
  const std::span<float> q = std::span<float>(q_).first(count * q_dim);
  const std::span<float> k = std::span<float>(k_).first(count * kv_dim);
  AddBias(layer.q_bias, q, parallel);
  AddBias(layer.k_bias, k, parallel);
  AddBias(layer.v_bias, std::span<float>(v_).first(count * kv_dim), parallel);
  if (config_.qk_norm) {
    kernels::RmsNorm(q, layer.q_norm, config_.rms_eps, q, parallel);
    kernels::RmsNorm(k, layer.k_norm, config_.rms_eps, k, parallel);
  }
  const std::size_t table = 2 * rope_.pairs();
  parallel.Run(count, [&](std::size_t r, std::size_t /*worker*/) {
    const std::span<const float> turns = std::span<const float>(tables_).subspan(r * table, table);
    for (std::size_t at = r * q_dim; at < (r + 1) * q_dim; at += head_dim) {
      rope_.Turn(turns, q.subspan(at, head_dim));
    }
    for (std::size_t at = r * kv_dim; at < (r + 1) * kv_dim; at += head_dim) {
      rope_.Turn(turns, k.subspan(at, head_dim));
    }
  });
}

void Stage::StoreKv(std::size_t layer, std::span<const StageRow> rows) {
  const std::size_t head_dim = Size(config_.head_dim);
  const std::size_t heads = Size(config_.kv_heads);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t head = 0; head < heads; ++head) {
      const std::size_t from = (r * heads + head) * head_dim;
      kernels::StoreKvRow(kv_type_, std::span<const float>(k_).subspan(from, head_dim),
                          rows[r].sequence->Keys(layer, head, rows[r].position));
      kernels::StoreKvRow(kv_type_, std::span<const float>(v_).subspan(from, head_dim),
                          rows[r].sequence->Values(layer, head, rows[r].position));
    }
  }
}

void Stage::AttendAll(std::size_t layer, std::span<const StageRow> rows, Parallel& parallel) {
  const std::size_t head_dim = Size(config_.head_dim);
  const std::size_t heads = Size(config_.heads);
  const std::size_t shared = heads / Size(config_.kv_heads);
  const std::size_t window = Size(config_.sliding_window);
  const float scale = 1.0F / std::sqrt(static_cast<float>(head_dim));
  const std::span<float> out = Fit(mixed_, rows.size() * heads * head_dim);
  // A task is a row and the heads that share a head of keys.
  const std::size_t kv_heads = Size(config_.kv_heads);
  parallel.Run(rows.size() * kv_heads, [&](std::size_t task, std::size_t /*worker*/) {
    const StageRow& row = rows[task / kv_heads];
    const std::size_t kv_head = task % kv_heads;
    const std::size_t begin = window > 0 && row.position >= window ? row.position + 1 - window : 0;
    // The stack holds the blocks of 32,768 positions; longer contexts take a list.
    constexpr std::size_t kOnStack = 512;
    kernels::KvBlock blocks[kOnStack];
    std::vector<kernels::KvBlock> many;
    std::size_t used = 0;
    const std::size_t first = begin / kPagePositions;
    const std::size_t last = row.position / kPagePositions;
    kernels::KvBlock* list = blocks;
    if (last - first >= kOnStack) {
      many.resize(last - first + 1);
      list = many.data();
    }
    for (std::size_t page = first; page <= last; ++page) {
      const std::size_t from = std::max(begin, page * kPagePositions);
      const std::size_t to = std::min(row.position + 1, (page + 1) * kPagePositions);
      list[used++] = {.keys = row.sequence->Keys(layer, kv_head, from),
                      .values = row.sequence->Values(layer, kv_head, from),
                      .count = to - from};
    }
    const std::size_t at = (task / kv_heads * heads + kv_head * shared) * head_dim;
    const std::size_t size = shared * head_dim;
    kernels::Attend(std::span<const float>(q_).subspan(at, size), head_dim, {list, used}, kv_type_,
                    scale, out.subspan(at, size));
  });
}

void Stage::Dense(const FeedForward& ffn, std::span<float> y, Parallel& parallel) {
  const std::size_t count = activations_.rows();
  const std::span<float> gate = Fit(gate_, count * ffn.gate.rows());
  const std::span<float> up = Fit(up_, count * ffn.up.rows());
  ffn.gate.Apply(activations_, gate, parallel);
  ffn.up.Apply(activations_, up, parallel);
  kernels::Silu(gate, gate, parallel);
  kernels::Mul(gate, up, gate, parallel);
  activations_.Assign(gate, ffn.gate.rows());
  ffn.down.Apply(activations_, y, parallel);
}

// Each row goes to its own experts, whose results are added in the order of their numbers.
void Stage::Mixture(const Layer& layer, std::size_t count, Parallel& parallel) {
  const std::size_t dim = Size(config_.dim);
  const std::size_t experts = Size(config_.experts);
  const std::span<const float> normed = std::span<const float>(normed_).first(count * dim);
  std::vector<float> probabilities(count * experts);
  layer.router.Apply(activations_, probabilities, parallel);
  kernels::Softmax(probabilities, experts, probabilities, parallel);
  const std::span<float> out = Fit(expert_out_, dim);
  for (std::size_t r = 0; r < count; ++r) {
    const std::span<float> sum = std::span<float>(added_).subspan(r * dim, dim);
    std::fill(sum.begin(), sum.end(), 0.0F);
    const auto row = std::span<const float>(probabilities).subspan(r * experts, experts);
    for (const Choice& choice : ChooseExperts(row, Size(config_.experts_used))) {
      activations_.Assign(normed.subspan(r * dim, dim), dim);
      Dense(layer.experts[choice.expert], out, parallel);
      kernels::Axpy(choice.weight, out, sum, parallel);
    }
  }
}

}  // namespace shoal::llm
