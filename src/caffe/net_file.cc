#include "caffe/net_file.h"

#include <utility>

#include "caffe/net_text_internal.h"
#include "caffe/proto_text_internal.h"

namespace shoal::caffe {

Result<NetFile> NetFile::Parse(std::string_view file, std::string_view text) {
  auto net = std::make_shared<internal::NetText>();
  net->file = file;
  internal::ParseInfoTree places;
  SHOAL_RETURN_IF_ERROR(internal::ParseText(file, text, net->proto, &places, net->warnings));
  SHOAL_RETURN_IF_ERROR(internal::FinishNet(&places, *net));
  return NetFile(std::move(net));
}

Result<NetFile> NetFile::ParseBinary(std::string_view file, std::string_view bytes) {
  // With weights, which protobuf has to hold before we drop them.
  constexpr std::size_t kMaxBytes = std::size_t{512} << 20;
  auto net = std::make_shared<internal::NetText>();
  net->file = file;
  if (bytes.size() > kMaxBytes) {
    return Status(Code::kInvalidArgument,
                  net->file + ": too large for a network without its weights; use its prototxt");
  }
  if (!net->proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Status(Code::kCorruption, net->file + ": not a binary NetParameter, or cut short");
  }
  for (auto& layer : *net->proto.mutable_layer()) layer.clear_blobs();
  SHOAL_RETURN_IF_ERROR(internal::FinishNet(nullptr, *net));
  return NetFile(std::move(net));
}

const std::vector<std::string>& NetFile::warnings() const { return text_->warnings; }

namespace internal {

Status FinishNet(const ParseInfoTree* places, NetText& net) {
  const bool is_legacy = net.proto.layers_size() > 0;
  const int layers = is_legacy ? net.proto.layers_size() : net.proto.layer_size();
  if (layers == 0) {
    return Status(Code::kInvalidArgument,
                  net.file + ": has no layers; a network is a list of layer { ... }");
  }
  net.lines.clear();
  for (int i = 0; i < layers; ++i) {
    net.lines.push_back(LineOf(places, net.proto, is_legacy ? "layers" : "layer", i));
  }
  return UpgradeNet(net);
}

}  // namespace internal
}  // namespace shoal::caffe
