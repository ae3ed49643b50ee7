#include "pipeline/answer_store.h"

#include "wire/control.h"

namespace shoal::pipeline {

std::string EncodeAnswer(const AnswerRecord& record, const std::string& model_id) {
  const Question& question = record.question;
  const llm::SamplingOptions& sampling = question.sampling;
  wire::pb::StoredAnswer out;
  out.set_id(question.id);
  out.mutable_prompt()->Add(question.prompt.begin(), question.prompt.end());
  out.set_temperature(sampling.temperature);
  out.set_top_k(sampling.top_k);
  out.set_top_p(sampling.top_p);
  out.set_min_p(sampling.min_p);
  out.set_penalty_window(sampling.penalty_window);
  out.set_repetition_penalty(sampling.repetition_penalty);
  out.set_presence_penalty(sampling.presence_penalty);
  out.set_frequency_penalty(sampling.frequency_penalty);
  for (const auto& [token, bias] : sampling.logit_bias) {
    wire::pb::StoredAnswer::Bias& entry = *out.add_logit_bias();
    entry.set_token(token);
    entry.set_bias(bias);
  }
  out.set_seed(sampling.seed);
  out.set_top_logprobs(sampling.top_logprobs);
  out.set_tokens_max(question.tokens_max);
  out.mutable_end_tokens()->Add(question.end_tokens.begin(), question.end_tokens.end());
  out.set_note(question.note);
  for (const llm::SampledToken& token : record.tokens) {
    wire::pb::StoredAnswer::Token& entry = *out.add_tokens();
    entry.set_token(token.token);
    entry.set_logprob(token.logprob);
    for (const llm::TokenLogprob& top : token.top) {
      wire::pb::StoredAnswer::Logprob& other = *entry.add_top();
      other.set_token(top.token);
      other.set_logprob(top.logprob);
    }
  }
  out.set_ended(record.ended);
  out.set_how(static_cast<std::uint32_t>(record.how));
  out.set_code(static_cast<std::uint32_t>(record.status.code()));
  out.set_message(std::string(record.status.message()));
  out.set_model_id(model_id);
  out.set_remade(record.remade);
  wire::pb::StoredAnswer::Energy& energy = *out.mutable_energy();
  energy.set_joules(record.energy.joules);
  energy.set_work(record.energy.work);
  energy.set_work_covered(record.energy.work_covered);
  energy.set_estimated(record.energy.estimated);
  return out.SerializeAsString();
}

Result<StoredAnswer> DecodeAnswer(std::string_view bytes) {
  wire::pb::StoredAnswer in;
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || in.id().empty() ||
      in.id().size() > kAnswerIdBytesMax || in.prompt().empty() ||
      in.how() > static_cast<std::uint32_t>(AnswerEnd::kCancelled) ||
      in.code() > static_cast<std::uint32_t>(Code::kCancelled)) {
    return Status(Code::kCorruption, "a stored answer is damaged");
  }
  StoredAnswer stored;
  stored.model_id = in.model_id();
  stored.record.remade = in.remade();
  AnswerRecord& record = stored.record;
  Question& question = record.question;
  question.id = in.id();
  question.prompt.assign(in.prompt().begin(), in.prompt().end());
  question.sampling = {.temperature = in.temperature(),
                       .top_k = in.top_k(),
                       .top_p = in.top_p(),
                       .min_p = in.min_p(),
                       .penalty_window = in.penalty_window(),
                       .repetition_penalty = in.repetition_penalty(),
                       .presence_penalty = in.presence_penalty(),
                       .frequency_penalty = in.frequency_penalty(),
                       .logit_bias = {},
                       .seed = in.seed(),
                       .top_logprobs = in.top_logprobs()};
  for (const auto& entry : in.logit_bias()) {
    question.sampling.logit_bias.emplace_back(entry.token(), entry.bias());
  }
  question.tokens_max = in.tokens_max();
  question.end_tokens.assign(in.end_tokens().begin(), in.end_tokens().end());
  question.note = in.note();
  for (const auto& entry : in.tokens()) {
    llm::SampledToken token = {.token = entry.token(), .logprob = entry.logprob(), .top = {}};
    for (const auto& other : entry.top()) token.top.push_back({other.token(), other.logprob()});
    record.tokens.push_back(std::move(token));
  }
  record.ended = in.ended();
  record.how = static_cast<AnswerEnd>(in.how());
  record.energy = {.joules = in.energy().joules(),
                   .work = in.energy().work(),
                   .work_covered = in.energy().work_covered(),
                   .estimated = in.energy().estimated()};
  if (in.code() != 0) record.status = Status(static_cast<Code>(in.code()), in.message());
  return stored;
}

}  // namespace shoal::pipeline
