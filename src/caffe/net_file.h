// NetFile: a network as Caffe writes it down (a prototxt, or a NetParameter in binary), and its
// meaning for one phase: nn::NetDef and where the data comes from.
//
//   SHOAL_ASSIGN_OR_RETURN(NetFile file, NetFile::Parse("train_val.prototxt", text));
//   SHOAL_ASSIGN_OR_RETURN(Network network, file.Build({.phase = nn::Phase::kTrain}));
//
// Everything that Caffe still loads is accepted: `layers` with enumerated types (V1), layers in
// layers (V0), `input` with `input_dim`, transformations inside `data_param`. Errors name file,
// line and layer. An immutable value, cheap to copy; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "data/source_def.h"
#include "nn/net_def.h"

namespace shoal::caffe {

namespace internal {
struct NetText;
}

// What the rules `include` and `exclude` of layers are matched with. What is not said stays as
// the file says it; stages add up.
struct NetState {
  std::optional<nn::Phase> phase = {};
  std::optional<std::int64_t> level = {};
  std::vector<std::string> stages = {};
};

// What to do with `use_global_stats: true` in a BatchNorm layer of the train phase. Files made
// for deployment say it, and a network trained with it normalises with statistics that are zero.
enum class GlobalStats : std::uint8_t {
  kRefuse,
  kStrip,  // As if it were not there.
  kKeep,   // Frozen statistics: right when fine-tuning with weights that bring them.
};

struct BuildOptions {
  nn::Phase phase = nn::Phase::kTrain;  // The weakest word on it: the file's `state` comes next,
  NetState state = {};                  // then this.
  GlobalStats global_stats = GlobalStats::kRefuse;
};

// A layer that brings data (Data, ImageData, MemoryData) is in `net` an InputDef without shapes,
// and in `sources` what it reads; both in the order of the file.
struct Network {
  nn::NetDef net;
  std::vector<data::SourceDef> sources;
  std::vector<std::string> warnings;  // One line each, with file and line.
};

class NetFile {
 public:
  // `file` is only a name for messages.
  static Result<NetFile> Parse(std::string_view file, std::string_view text);
  // The same from a binary NetParameter; weights in it are dropped.
  static Result<NetFile> ParseBinary(std::string_view file, std::string_view bytes);

  explicit NetFile(std::shared_ptr<const internal::NetText> text) : text_(std::move(text)) {}

  Result<Network> Build(const BuildOptions& options) const;
  // Fields that were ignored, one line each.
  const std::vector<std::string>& warnings() const;

 private:
  std::shared_ptr<const internal::NetText> text_;
};

// The layer types that Build knows, in alphabetical order.
std::vector<std::string_view> LayerTypes();

}  // namespace shoal::caffe
