// Text in protobuf's format into a message, with errors a person can act on:
// "net.prototxt:12:5: unknown field "kernel_sise" in ConvolutionParameter: did you mean ...".
#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace shoal::caffe::internal {

using ParseInfoTree = google::protobuf::TextFormat::ParseInfoTree;

// Fills `message` from `text`; `file` is only a name for messages. `places`, if not null, learns
// where each field stood. Fields of Caffe's forks that change nothing we compute become lines in
// `warnings`; any other unknown field is an error, because a misspelt one would be too.
Status ParseText(std::string_view file, std::string_view text, google::protobuf::Message& message,
                 ParseInfoTree* places, std::vector<std::string>& warnings);

// The line (from 1) where the `index`th element of repeated `field` starts; 0 if unknown.
int LineOf(const ParseInfoTree* places, const google::protobuf::Message& message,
           const std::string& field, int index);

}  // namespace shoal::caffe::internal
