// PreparedModel: a language model as nodes fetch it: every layer a file in the head's
// LayerDirectory. The files are made once; a manifest beside them (DIR/models/) says of what they
// were made, so that the next start finds them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "os/flash/layer_directory.h"
#include "shoal/model_files.h"
#include "wire/control.h"

namespace shoal {

struct PreparedModel {
  std::string id;      // SHA-256 of the layers' names and the configuration, in hexadecimal digits.
  std::string config;  // llm::SerializeConfig
  std::vector<wire::pb::LayerFile> layers;
};

// Makes the layers that are not there, one after the other, so that one at a time is in memory. If
// that ends early, the next call goes on. `progress` is called after each that was made, with how
// many there are now, of all.
//
// A file of the model that was changed (its size or its time) means that all are made anew. Of
// layers that are there it is seen that their files have the right size and the form that this
// program reads, not that every bit is right: nodes check that when they fetch them.
//
// kResourceExhausted: no room for the layers; the message says how much is missing.
Result<PreparedModel> PrepareModel(
    const OpenedModel& model, os::LayerDirectory& directory, Parallel& parallel,
    const std::function<void(std::size_t made, std::size_t layers)>& progress);

}  // namespace shoal
