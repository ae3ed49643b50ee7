// AnswerStore: where answers outlive the head's process; and what they look like there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pipeline/answers.h"

namespace shoal::pipeline {

// Belongs to one event loop. Calls take as long as a small write to flash.
class AnswerStore {
 public:
  virtual ~AnswerStore() = default;

  // After OK the bytes are there after a power cut, in place of what was there by this id.
  virtual Status Save(const std::string& id, std::string_view bytes) = 0;
  virtual void Remove(const std::string& id) = 0;
  // Everything that is there. Called once, at the start.
  virtual std::vector<std::string> LoadAll() = 0;
};

// `model_id`: an answer goes on with the model that began it, and no other.
std::string EncodeAnswer(const AnswerRecord& record, const std::string& model_id);

struct StoredAnswer {
  AnswerRecord record;
  std::string model_id;
};
// kCorruption: the bytes are not an answer.
Result<StoredAnswer> DecodeAnswer(std::string_view bytes);

}  // namespace shoal::pipeline
