#include "shoal/answer_files.h"

#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "os/file.h"

namespace shoal {
namespace {

constexpr std::string_view kSuffix = ".answer";
// A long answer with the logprobs of every token.
constexpr std::size_t kAnswerBytesMax = std::size_t{64} << 20U;

}  // namespace

Result<AnswerFiles> AnswerFiles::Open(std::string directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return os::ErrnoStatus(error.value(), directory);
  return AnswerFiles(std::move(directory));
}

// Ids are of the asker's choice: as bytes, not as a path.
std::string AnswerFiles::PathOf(const std::string& id) const {
  std::string name;
  for (const char c : id) name += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return directory_ + "/" + name + std::string(kSuffix);
}

Status AnswerFiles::Save(const std::string& id, std::string_view bytes) {
  return os::WriteFileAtomically(PathOf(id), bytes, os::FileAccess::kOwner);
}

void AnswerFiles::Remove(const std::string& id) {
  std::error_code ignored;  // What is not there need not go.
  std::filesystem::remove(PathOf(id), ignored);
}

std::vector<std::string> AnswerFiles::LoadAll() {
  std::vector<std::string> all;
  const Result<std::vector<std::string>> names = os::ListDirectory(directory_);
  if (!names.ok()) {
    fmt::print(stderr, "shoal: {}\n", names.status().ToString());
    return all;
  }
  for (const std::string& name : *names) {
    if (!name.ends_with(kSuffix)) continue;
    Result<std::string> bytes = os::ReadFile(directory_ + "/" + name, kAnswerBytesMax);
    if (bytes.ok()) {
      all.push_back(*std::move(bytes));
    } else {
      fmt::print(stderr, "shoal: an answer is lost: {}\n", bytes.status().ToString());
    }
  }
  return all;
}

}  // namespace shoal
