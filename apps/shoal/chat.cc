// `shoal chat`: a conversation with a language model.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "llm/chat_template.h"
#include "llm/detokenizer.h"
#include "llm/engine.h"
#include "os/file.h"
#include "shoal/commands.h"
#include "shoal/language_model.h"
#include "shoal/line_editor.h"

namespace shoal {
namespace {

struct ChatCommandOptions {
  LanguageModelOptions model;
  llm::SamplingOptions sampling;
  std::string system;
  std::size_t tokens = 1024;
  std::size_t guesses = 4;
};

constexpr const char* kHelp =
    "  /system TEXT   tell the model who it is, and begin again\n"
    "  /clear         forget what was said\n"
    "  /save FILE     write the conversation as JSON\n"
    "  /help          this\n"
    "  /quit          or Ctrl-D; Ctrl-C ends an answer\n";

volatile std::sig_atomic_t interrupted = 0;

// Ctrl-C sets `interrupted` while this lives.
class CatchInterrupt {
 public:
  CatchInterrupt() {
    interrupted = 0;
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupted = 1; };
    sigaction(SIGINT, &action, &before_);
  }
  ~CatchInterrupt() { sigaction(SIGINT, &before_, nullptr); }
  CatchInterrupt(const CatchInterrupt&) = delete;
  CatchInterrupt& operator=(const CatchInterrupt&) = delete;

 private:
  struct sigaction before_ = {};
};

class Conversation {
 public:
  static Result<std::unique_ptr<Conversation>> Begin(LanguageModel& model,
                                                     const ChatCommandOptions& options) {
    const llm::Vocabulary& vocabulary = model.tokenizer().vocabulary();
    std::string source = vocabulary.chat_template;
    if (source.empty()) {
      const std::optional<std::string_view> usual = llm::DefaultChatTemplate(vocabulary);
      if (!usual) {
        return Status(Code::kInvalidArgument,
                      options.model.model +
                          ": the model has no chat template: it was not made for conversations; "
                          "try `shoal generate`");
      }
      source = *usual;
    }
    Result<llm::ChatTemplate> chat_template = llm::ChatTemplate::Parse(source);
    if (!chat_template.ok()) {
      return std::move(chat_template).status().Annotate(options.model.model);
    }
    std::unique_ptr<Conversation> conversation(
        new Conversation(model, options, *std::move(chat_template)));
    conversation->Clear();
    return conversation;
  }

  void SetSystem(std::string text) {
    system_ = std::move(text);
    Clear();
  }

  void Clear() {
    messages_.clear();
    if (!system_.empty()) messages_.push_back({"system", system_});
  }

  // Answers, piece by piece, on standard output.
  Status Say(const std::string& text) {
    messages_.push_back({"user", text});
    const Status status = Answer();
    // As if it had not been said, so that one can try again.
    if (!status.ok()) messages_.pop_back();
    return status;
  }

  Status Save(const std::string& path) const {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const llm::ChatMessage& message : messages_) {
      list.push_back({{"role", message.role}, {"content", message.content}});
    }
    return os::WriteFileAtomically(
        path, list.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n",
        os::FileAccess::kOwner);
  }

 private:
  Conversation(LanguageModel& model, const ChatCommandOptions& options,
               llm::ChatTemplate chat_template)
      : model_(model),
        template_(std::move(chat_template)),
        tokens_max_(options.tokens),
        system_(options.system),
        generation_(model.engine(), options.sampling, options.guesses) {}

  std::string NameOf(std::optional<llm::TokenId> token) const {
    return token ? model_.tokenizer().TokenBytes(*token) : std::string();
  }

  // The conversation as tokens, up to where the answer begins.
  Result<std::vector<llm::TokenId>> Prompt() const {
    const llm::Vocabulary& vocabulary = model_.tokenizer().vocabulary();
    SHOAL_ASSIGN_OR_RETURN(const llm::ChatPrompt prompt,
                           template_.Render(messages_, {.bos_token = NameOf(vocabulary.bos),
                                                        .eos_token = NameOf(vocabulary.eos)}));
    std::vector<llm::TokenId> tokens = model_.tokenizer().Encode(prompt.segments);
    // Templates write the beginning of sequence themselves, or leave it to the tokenizer.
    if (vocabulary.add_bos && vocabulary.bos && (tokens.empty() || tokens[0] != *vocabulary.bos)) {
      tokens.insert(tokens.begin(), *vocabulary.bos);
    }
    return tokens;
  }

  // Forgets the oldest message and the answer to it; false: only the newest is there.
  bool ForgetOldest() {
    const std::size_t first = messages_[0].role == "system" ? 1 : 0;
    if (messages_.size() < first + 3) return false;
    const auto begin = messages_.begin() + static_cast<std::ptrdiff_t>(first);
    messages_.erase(begin, begin + 2);
    return true;
  }

  Status Answer() {
    SHOAL_ASSIGN_OR_RETURN(std::vector<llm::TokenId> tokens, Prompt());
    // A quarter of the context is for the answer: a conversation may go on for ever.
    const std::size_t context = model_.engine().context();
    while (tokens.size() > context - std::min(tokens_max_, context / 4) && ForgetOldest()) {
      SHOAL_ASSIGN_OR_RETURN(tokens, Prompt());
    }
    generation_.SetHistory(std::move(tokens));
    llm::Detokenizer detokenizer(model_.tokenizer());
    std::string text;
    const CatchInterrupt catching;
    for (std::size_t i = 0; i < tokens_max_ && interrupted == 0; ++i) {
      const Result<llm::SampledToken> next = generation_.Next();
      // What fitted into the context is an answer, too.
      if (i > 0 && next.status().code() == Code::kResourceExhausted) break;
      if (!next.ok()) return next.status();
      const bool known = model_.tokenizer().Has(next->token);
      if (known && model_.tokenizer().EndsAnswer(next->token)) break;
      Show(detokenizer.Feed(next->token), text);
    }
    Show(detokenizer.Flush(), text);
    fmt::print("\n");
    messages_.push_back({"assistant", text});
    return {};
  }

  static void Show(const std::string& piece, std::string& text) {
    text += piece;
    std::fwrite(piece.data(), 1, piece.size(), stdout);
    std::fflush(stdout);
  }

  LanguageModel& model_;
  llm::ChatTemplate template_;
  std::size_t tokens_max_;
  std::string system_;
  std::vector<llm::ChatMessage> messages_;
  llm::Generation generation_;
};

// One line that begins with a slash; false: the conversation ends.
bool RunCommand(const std::string& line, Conversation& conversation) {
  const std::size_t space = line.find(' ');
  const std::string name = line.substr(0, space);
  const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
  if (name == "/quit" || name == "/exit") return false;
  if (name == "/clear") {
    conversation.Clear();
  } else if (name == "/system") {
    conversation.SetSystem(rest);
  } else if (name == "/save" && !rest.empty()) {
    const Status saved = conversation.Save(rest);
    fmt::print("{}\n", saved.ok() ? "saved " + rest : std::string(saved.message()));
  } else {
    fmt::print("{}", kHelp);
  }
  return true;
}

Status RunChat(const ChatCommandOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(const std::unique_ptr<LanguageModel> model,
                         LanguageModel::Load(options.model));
  SHOAL_RETURN_IF_ERROR(llm::CheckSamplingOptions(options.sampling, model->engine().vocab()));
  SHOAL_ASSIGN_OR_RETURN(const std::unique_ptr<Conversation> conversation,
                         Conversation::Begin(*model, options));
  const bool terminal = isatty(STDIN_FILENO) != 0;
  if (terminal) fmt::print("/help lists what can be said beside messages.\n");
  LineEditor editor;
  while (true) {
    const std::optional<std::string> line = editor.Ask("> ");
    if (!line) return {};
    if (line->empty()) continue;
    if (line->starts_with('/')) {
      if (!RunCommand(*line, *conversation)) return {};
      continue;
    }
    const Status status = conversation->Say(*line);
    if (status.ok()) continue;
    // At a terminal one can go on, after /clear perhaps; a script should notice.
    if (!terminal) return status;
    fmt::print(stderr, "shoal: {}\n", std::string(status.message()));
  }
}

}  // namespace

void AddChat(CLI::App& app) {
  CLI::App* command = app.add_subcommand("chat", "Talk with a language model");
  auto options = std::make_shared<ChatCommandOptions>();
  AddLanguageModelOptions(*command, options->model);
  command->add_option("--system", options->system, "Who the model is");
  command->add_option("--tokens", options->tokens, "At most so many an answer")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  command
      ->add_option("--guesses", options->guesses,
                   "Tokens to guess from the text so far and try at once: faster, same answer")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  AddSamplingOptions(*command, options->sampling);
  command->callback([options] { ExitOnError(RunChat(*options)); });
}

}  // namespace shoal
