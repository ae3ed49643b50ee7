// Answers: what the head of a cluster offers to those who ask. A question is tokens and how to
// sample; an answer is tokens, one by one. Text, templates and stop strings are the asker's
// business, so that the head knows nothing of HTTP and a test needs no tokenizer.
//
// An answer has an id of the asker's choice. The head keeps it, with the asker's note, over its own
// restarts: whoever comes back with the id gets all of it.
//
// Belongs to one event loop: all calls are made on it, all events come on it, never inside a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "llm/sampler.h"

namespace shoal::pipeline {

struct Question {
  std::string id;  // Not empty; at most kAnswerIdBytesMax.
  std::vector<std::int32_t> prompt;
  llm::SamplingOptions sampling;
  std::size_t tokens_max = 0;            // At most so many, the context permitting.
  std::vector<std::int32_t> end_tokens;  // The answer ends with the first of these.
  std::string note;  // Kept beside the answer for the asker, who alone reads it.
};
inline constexpr std::size_t kAnswerIdBytesMax = 64;
inline constexpr std::size_t kAnswerNoteBytesMax = 64 << 10;

enum class AnswerEnd : std::uint8_t {
  kEndToken,   // One of Question::end_tokens was drawn; it is the last token.
  kLength,     // tokens_max, or the context is full.
  kStopped,    // Stop() was called.
  kFailed,     // See the status.
  kCancelled,  // Cancel() was called.
};

class AnswerEvents {
 public:
  virtual ~AnswerEvents() = default;

  // The next token, number `index` of the answer.
  virtual void OnToken(std::size_t index, const llm::SampledToken& token) = 0;
  // Nothing follows.
  virtual void OnEnd(AnswerEnd how, const Status& status) = 0;
  // The answer cannot go on for now and waits: too few phones, most likely. Empty: it goes on.
  virtual void OnWaiting(const std::string& why) = 0;
};

// What the nodes took to make an answer, as far as that is known.
struct AnswerEnergy {
  double joules = 0;
  double work = 0;          // Rows times layers, …
  double work_covered = 0;  // … by nodes whose power was known: the joules are theirs.
  bool estimated = false;   // Some of that power was not measured.

  double covered() const { return work > 0 ? work_covered / work : 0; }
};

// What the head holds of an answer.
struct AnswerRecord {
  Question question;
  std::vector<llm::SampledToken> tokens;
  bool ended = false;
  AnswerEnd how = AnswerEnd::kStopped;
  Status status;
  std::uint32_t remade = 0;  // How often it was begun anew, because it was wrong.
  AnswerEnergy energy;       // So far.
};

class Answers {
 public:
  virtual ~Answers() = default;

  // Accepts a question; `events` get the answer until they are taken back with Forget or the
  // answer has ended. kInvalidArgument: the prompt is empty, has tokens that the model does not
  // know or is longer than the context, or the id is taken. kResourceExhausted: too many wait.
  virtual Status Ask(Question question, AnswerEvents* events) = 0;

  // Gives the tokens from `first` on to `events`, those that are there and those that come. There
  // may be several listeners. kNotFound: there is no such answer (any more).
  virtual Status Listen(const std::string& id, std::size_t first, AnswerEvents* events) = 0;
  // Null: there is none. Good until the next call or event.
  virtual const AnswerRecord* Find(const std::string& id) const = 0;

  // No more events to these. The answer goes on.
  virtual void Forget(AnswerEvents* events) = 0;
  // Ends the answer: whoever asked has all that it wanted. Listeners get OnEnd(kStopped). Unknown
  // ids are ignored.
  virtual void Stop(const std::string& id) = 0;
  // Ends it: nobody wants any of it. As above, with kCancelled.
  virtual void Cancel(const std::string& id) = 0;

  // Of the model: how many tokens a prompt and its answer may have together.
  virtual std::size_t context() const = 0;
};

}  // namespace shoal::pipeline
