#include "pipeline/head_model.h"

#include "base/check.h"

namespace shoal::pipeline {

std::vector<std::uint16_t> HeadModel::Embed(std::span<const std::int32_t> tokens) {
  std::vector<std::uint16_t> rows(tokens.size() * dim());
  head_.Embed(tokens, rows);
  return rows;
}

std::vector<std::vector<llm::SampledToken>> HeadModel::Draw(std::span<const std::uint16_t> rows,
                                                            std::span<DrawTask> tasks) {
  const std::size_t count = rows.size() / dim();
  logits_.resize(count * vocab());
  head_.Logits(rows, logits_, parallel_);
  std::vector<std::vector<llm::SampledToken>> drawn(tasks.size());
  std::size_t row = 0;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    DrawTask& task = tasks[t];
    const std::size_t wanted = task.tokens.size() + 1;
    SHOAL_CHECK_LE(row + wanted, count);
    for (std::size_t i = 0; i < wanted; ++i) {
      const auto logits = std::span<const float>(logits_).subspan((row + i) * vocab(), vocab());
      if (!llm::AllFinite(logits)) {
        drawn[t].clear();
        break;
      }
      drawn[t].push_back(task.sampler->Sample(logits, task.history));
      if (i + 1 == wanted || drawn[t].back().token != task.tokens[i]) break;
      task.history.push_back(task.tokens[i]);
    }
    row += wanted;
  }
  return drawn;
}

}  // namespace shoal::pipeline
