// Stage: a range of a model's layers, applied to rows of the residual stream. Rows are positions of
// any sequences, a prompt's beside single tokens of others; a row's result depends on nothing but
// its own sequence: not on the rows beside it, how a prompt was cut, the number of threads, or
// where the model was cut into stages.
//
//   h = x + output(attention(norm(x)));   y = h + ffn(norm(h)), rounded to F16 at every layer
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "llm/kv_cache.h"
#include "llm/layer.h"
#include "llm/model_config.h"
#include "llm/model_weights.h"
#include "llm/rope.h"

namespace shoal::llm {

struct StageRow {
  KvSequence* sequence;
  std::size_t position;
};

class Stage {
 public:
  // Layers [begin, end). `model` must outlive the stage. kInvalidArgument: heads that we cannot
  // compute with, or cannot keep as `kv`.
  static Result<Stage> Load(const ModelWeights& model, const ModelConfig& config,
                            std::int64_t begin, std::int64_t end, Parallel& parallel,
                            kernels::KvType kv = kernels::KvType::kF16);
  // Of layers that are loaded already, and may be in other stages, too. REQUIRES: they are of a
  // model with this `config`. Fails as Load does.
  static Result<Stage> Make(std::vector<std::shared_ptr<const Layer>> layers,
                            const ModelConfig& config, kernels::KvType kv = kernels::KvType::kF16);

  std::size_t layers() const { return layers_.size(); }
  KvShape kv_shape() const;

  // Applies the layers to `residual`, F16 numbers [rows.size(), dim], in place, and keeps keys and
  // values. REQUIRES: each row's sequence is of a cache of kv_shape(), has grown beyond the row's
  // position, and holds all positions before it or gets them from earlier rows.
  void Forward(std::span<std::uint16_t> residual, std::span<const StageRow> rows,
               Parallel& parallel);

 private:
  // Attention, Dense and Mixture work on what activations_ hold.
  void Attention(std::size_t layer, std::span<const StageRow> rows, Parallel& parallel);
  void PrepareHeads(const Layer& layer, std::size_t count, Parallel& parallel);
  void StoreKv(std::size_t layer, std::span<const StageRow> rows);
  void AttendAll(std::size_t layer, std::span<const StageRow> rows, Parallel& parallel);
  void Dense(const FeedForward& ffn, std::span<float> y, Parallel& parallel);
  void Mixture(const Layer& layer, std::size_t count, Parallel& parallel);

  ModelConfig config_;
  kernels::KvType kv_type_ = kernels::KvType::kF16;
  Rope rope_;
  std::vector<std::shared_ptr<const Layer>> layers_;

  // Of a call; they grow to the largest number of rows and stay.
  std::vector<float> x_;       // The residual as floats.
  std::vector<float> normed_;  // What matrices are applied to.
  std::vector<float> q_;
  std::vector<float> k_;
  std::vector<float> v_;
  std::vector<float> mixed_;  // Attention's result, by heads.
  std::vector<float> added_;  // To the residual.
  std::vector<float> gate_;
  std::vector<float> up_;
  std::vector<float> tables_;  // Rope's, one a row.
  std::vector<float> expert_out_;
  Activations activations_;
};

}  // namespace shoal::llm
