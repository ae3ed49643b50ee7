// AnswerFiles: the answers of a head, one file each in a directory of their own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pipeline/answer_store.h"

namespace shoal {

class AnswerFiles final : public pipeline::AnswerStore {
 public:
  // Makes the directory if it is not there.
  static Result<AnswerFiles> Open(std::string directory);

  Status Save(const std::string& id, std::string_view bytes) override;
  void Remove(const std::string& id) override;
  // Files that cannot be read are left where they are, and named on stderr.
  std::vector<std::string> LoadAll() override;

 private:
  explicit AnswerFiles(std::string directory) : directory_(std::move(directory)) {}
  std::string PathOf(const std::string& id) const;

  std::string directory_;
};

}  // namespace shoal
