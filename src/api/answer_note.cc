#include "api/answer_note.h"

#include "api/json_internal.h"

namespace shoal::api {

std::string EncodeNote(const AnswerNote& note) {
  return Dump({{"chat", note.kind == AnswerKind::kChat},
               {"model", note.model},
               {"created", note.created},
               {"stop", note.stop},
               {"logprobs", note.logprobs},
               {"include_usage", note.include_usage},
               {"continues", note.continues},
               {"keep", note.keep}});
}

Result<AnswerNote> DecodeNote(std::string_view text) {
  try {
    const Parsed json = Parsed::parse(text);
    return AnswerNote{
        .kind = json.at("chat").get<bool>() ? AnswerKind::kChat : AnswerKind::kCompletion,
        .model = json.at("model"),
        .created = json.at("created"),
        .stop = json.at("stop"),
        .logprobs = json.at("logprobs"),
        .include_usage = json.at("include_usage"),
        .continues = json.at("continues"),
        .keep = json.at("keep"),
    };
  } catch (const Parsed::exception& error) {
    return Status(Code::kCorruption, std::string("the answer's note: ") + error.what());
  }
}

}  // namespace shoal::api
