// Which files of a Hugging Face repository make the model that a user means. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "shoal/pull_listing.h"

namespace shoal {

struct Choice {
  std::string folder;  // A name for where the files go; empty: it is one file.
  std::vector<RemoteFile> files;
};

// The files for `id`: one GGUF, all parts of a split one, or what a safetensors model
// consists of. kInvalidArgument: the repository has several models and `id` does not say
// which; the message lists them with sizes and suggests one. kNotFound: it has none, or not
// that one.
Result<Choice> ChooseFiles(const RepositoryId& id, const std::vector<RemoteFile>& files);

// "4.37 GB", "0.5 MB": in the units of a disk's label.
std::string BytesText(std::uint64_t bytes);

}  // namespace shoal
