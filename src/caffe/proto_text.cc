#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <utility>

#include "caffe/fork_fields_internal.h"
#include "caffe/proto_text_internal.h"
#include "caffe/text_limits_internal.h"

namespace shoal::caffe::internal {
namespace {

using google::protobuf::Descriptor;

// The quoted words of a message such as `Message type "a.B" has no field named "c".`
std::vector<std::string> Quoted(const std::string& text) {
  std::vector<std::string> words;
  std::size_t at = text.find('"');
  while (at != std::string::npos) {
    const std::size_t end = text.find('"', at + 1);
    if (end == std::string::npos) break;
    words.push_back(text.substr(at + 1, end - at - 1));
    at = text.find('"', end + 1);
  }
  return words;
}

std::string ShortName(const std::string& full_name) {
  return full_name.substr(full_name.rfind('.') + 1);
}

// Protobuf says what it expected; this says what to do about it, where we know.
std::string WithHint(const std::string& message) {
  if (message.ends_with("got: ") || message.ends_with("found \"\".")) {
    return "the file ends inside a block or a field; is a } missing?";
  }
  if (message.starts_with("Expected string, got:")) {
    return message + "; put the value in quotes (type: \"Convolution\")";
  }
  if (message.starts_with("Expected identifier, got: <")) {
    return message + "; is this a web page? A prototxt has lines such as layer { ... }";
  }
  if (message.find("is specified multiple times") != std::string::npos) {
    return message + " Remove all but one";
  }
  return message;
}

// Where the name of an unknown field starts: protobuf reports the end of it. Counts from 0.
struct NamePlace {
  int line;
  int column;
};
NamePlace FindName(std::string_view text, int line, int column, std::string_view name) {
  std::size_t start = 0;
  for (int i = 0; i < line; ++i) start = std::min(text.find('\n', start), text.size() - 1) + 1;
  const std::size_t line_end = std::min(text.find('\n', start), text.size());
  const std::size_t end = std::min(start + static_cast<std::size_t>(column), line_end);
  const std::size_t found = text.rfind(name, end - std::min(end, name.size()));
  if (found == std::string_view::npos) return {.line = line, .column = column};
  const std::string_view before = text.substr(0, found);
  const std::size_t newline = before.rfind('\n');
  const std::size_t line_start = newline == std::string_view::npos ? 0 : newline + 1;
  return {.line = static_cast<int>(std::count(before.begin(), before.end(), '\n')),
          .column = static_cast<int>(found - line_start)};
}

// Keeps the first error and turns what protobuf calls warnings, unknown fields, into one of ours
// or into an error.
class Collector : public google::protobuf::io::ErrorCollector {
 public:
  Collector(std::string_view file, std::string_view text, const Descriptor& root,
            std::vector<std::string>& warnings)
      : file_(file), text_(text), root_(root), warnings_(warnings) {}

  // Lines and columns come counted from 0.
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    Keep(line, column, WithHint(message));
  }

  void AddWarning(int line, google::protobuf::io::ColumnNumber column,
                  const std::string& message) override {
    const std::vector<std::string> words = Quoted(message);
    const bool unknown_field =
        words.size() == 2 && message.find("has no field named") != std::string::npos;
    if (!unknown_field) return;  // Deprecated fields: Caffe's files are full of them.
    // A second error would not be reported, and looking for places takes time.
    if (!error_.ok()) return;
    const std::string type = ShortName(words[0]);
    const bool harmless = IsHarmless(type, words[1]);
    if (harmless && warnings_.size() >= kMostWarnings) return;
    const NamePlace place = FindName(text_, line, column, words[1]);
    if (harmless) {
      warnings_.push_back(Place(file_, place.line + 1, place.column + 1) + ": " + words[1] +
                          " in " + type + " is ignored");
      return;
    }
    Keep(place.line, place.column,
         "unknown field \"" + words[1] + "\" in " + type + Suggestion(words));
  }

  Status status() && { return std::move(error_); }

 private:
  static constexpr std::size_t kMostWarnings = 100;

  std::string Suggestion(const std::vector<std::string>& words) const {
    const Descriptor* type = root_.file()->pool()->FindMessageTypeByName(words[0]);
    const std::string likely = type == nullptr ? "" : LikelyField(*type, words[1]);
    if (likely.empty()) return "; remove it if the network does without";
    return "; did you mean \"" + likely + "\"?";
  }

  void Keep(int line, int column, const std::string& message) {
    if (!error_.ok()) return;
    error_ = Status(Code::kInvalidArgument, Place(file_, line + 1, column + 1) + ": " + message);
  }

  std::string_view file_;
  std::string_view text_;
  const Descriptor& root_;
  std::vector<std::string>& warnings_;
  Status error_;
};

}  // namespace

Status ParseText(std::string_view file, std::string_view text, google::protobuf::Message& message,
                 ParseInfoTree* places, std::vector<std::string>& warnings) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  SHOAL_RETURN_IF_ERROR(CheckTextLimits(file, text));
  Collector collector(file, text, *message.GetDescriptor(), warnings);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  parser.AllowUnknownField(true);
  parser.SetRecursionLimit(kMaxTextDepth);
  if (places != nullptr) parser.WriteLocationsTo(places);
  google::protobuf::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  const bool parsed = parser.Parse(&input, &message);
  SHOAL_RETURN_IF_ERROR(std::move(collector).status());
  if (!parsed) return Status(Code::kInvalidArgument, std::string(file) + ": cannot be parsed");
  return Status();
}

int LineOf(const ParseInfoTree* places, const google::protobuf::Message& message,
           const std::string& field, int index) {
  const auto* descriptor = message.GetDescriptor()->FindFieldByName(field);
  if (places == nullptr || descriptor == nullptr) return 0;
  return places->GetLocation(descriptor, index).line + 1;
}

}  // namespace shoal::caffe::internal
