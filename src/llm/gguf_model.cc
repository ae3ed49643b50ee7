#include "llm/gguf_model.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

namespace shoal::llm {
namespace {

constexpr std::string_view kExtension = ".gguf";
constexpr std::string_view kOf = "-of-";
constexpr std::size_t kDigits = 5;

// The number in `digits`, which must be nothing else.
std::optional<std::size_t> ParseDigits(std::string_view digits) {
  std::size_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return number;
}

std::string FiveDigits(std::size_t number) {
  const std::string digits = std::to_string(number);
  return std::string(kDigits - digits.size(), '0') + digits;
}

struct PartName {
  std::string_view prefix;
  std::size_t number;  // From 1.
  std::size_t count;
};

std::optional<PartName> ParsePartName(std::string_view path) {
  // "-00001-of-00003.gguf"
  constexpr std::size_t kTail = 1 + kDigits + kOf.size() + kDigits + kExtension.size();
  if (path.size() < kTail || !path.ends_with(kExtension)) return std::nullopt;
  const std::string_view tail = path.substr(path.size() - kTail);
  if (tail[0] != '-' || tail.substr(1 + kDigits, kOf.size()) != kOf) return std::nullopt;
  const auto number = ParseDigits(tail.substr(1, kDigits));
  const auto count = ParseDigits(tail.substr(1 + kDigits + kOf.size(), kDigits));
  if (!number || !count) return std::nullopt;
  return PartName{path.substr(0, path.size() - kTail), *number, *count};
}

// Whether `file` is part `index` (from 0) of `count`.
Status CheckPart(const GgufFile& file, std::size_t index, std::size_t count) {
  SHOAL_ASSIGN_OR_RETURN(const std::uint64_t says_count,
                         file.metadata().GetUnsignedOr("split.count", 1));
  SHOAL_ASSIGN_OR_RETURN(const std::uint64_t says_index,
                         file.metadata().GetUnsignedOr("split.no", 0));
  // A model that was never split may say that it has no parts.
  if (says_index == index && (says_count == count || (says_count == 0 && count == 1))) return {};
  return Status(Code::kInvalidArgument,
                file.name() + ": is part " + std::to_string(says_index + 1) + " of " +
                    std::to_string(says_count) + "; wanted part " + std::to_string(index + 1) +
                    " of " + std::to_string(count));
}

}  // namespace

Result<std::vector<std::string>> GgufPartPaths(const std::string& path) {
  const auto part = ParsePartName(path);
  if (!part) return std::vector<std::string>{path};
  if (part->number < 1 || part->number > part->count) {
    return Status(Code::kInvalidArgument, path + ": no model has a part of this number");
  }
  std::vector<std::string> paths;
  for (std::size_t i = 1; i <= part->count; ++i) {
    paths.push_back(std::string(part->prefix) + "-" + FiveDigits(i) + std::string(kOf) +
                    FiveDigits(part->count) + std::string(kExtension));
  }
  return paths;
}

Result<GgufModel> GgufModel::Make(std::vector<GgufFile> parts) {
  if (parts.empty()) return Status(Code::kInvalidArgument, "a model without files");
  std::vector<GgufTensor> tensors;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    SHOAL_RETURN_IF_ERROR(CheckPart(parts[i], i, parts.size()));
    tensors.insert(tensors.end(), parts[i].tensors().begin(), parts[i].tensors().end());
  }
  GgufModel model;
  model.metadata_ = parts.front().metadata();
  SHOAL_ASSIGN_OR_RETURN(const std::uint64_t count,
                         model.metadata_.GetUnsignedOr("split.tensors.count", tensors.size()));
  if (count != tensors.size()) {
    return Status(Code::kCorruption, model.name() + ": says that its parts have " +
                                         std::to_string(count) + " tensors; they have " +
                                         std::to_string(tensors.size()));
  }
  auto named = GgufTensors::Make(std::move(tensors));
  if (!named.ok()) return std::move(named).status().Annotate(model.name());
  model.tensors_ = *std::move(named);
  return model;
}

Result<const GgufTensor*> GgufModel::Get(std::string_view tensor) const {
  const GgufTensor* found = Find(tensor);
  if (found != nullptr) return found;
  return Status(Code::kNotFound, name() + ": has no tensor \"" + std::string(tensor) + "\"");
}

}  // namespace shoal::llm
