// Layers that bring data.
#include "caffe/layer_reader_internal.h"

namespace shoal::caffe::internal {
namespace {

Result<std::int64_t> ReadCrop(const LayerReader& layer,
                              const caffe_proto::TransformationParameter& proto) {
  std::int64_t crop = proto.crop_size();
  if (proto.has_crop_h() || proto.has_crop_w()) {
    if (proto.crop_h() != proto.crop_w() || (crop != 0 && crop != proto.crop_h())) {
      return layer.Error("crop_h and crop_w differ; only square crops (crop_size) are supported");
    }
    crop = proto.crop_h();
  }
  SHOAL_RETURN_IF_ERROR(layer.Range("crop_size", crop, 0, kMaxSide));
  return crop;
}

Result<data::TransformDef> ReadTransform(const LayerReader& layer) {
  const auto& proto = layer.proto().transform_param();
  data::TransformDef transform;
  transform.scale = proto.scale();
  SHOAL_RETURN_IF_ERROR(layer.Finite("scale", transform.scale));
  transform.mirror = proto.mirror();
  SHOAL_ASSIGN_OR_RETURN(transform.crop, ReadCrop(layer, proto));
  transform.mean_file = proto.mean_file();
  transform.mean_values.assign(proto.mean_value().begin(), proto.mean_value().end());
  if (proto.has_mean_file() && proto.mean_value_size() > 0) {
    return layer.Error("give mean_file or mean_value, not both");
  }
  for (const float mean : transform.mean_values) {
    SHOAL_RETURN_IF_ERROR(layer.Finite("mean_value", mean));
  }
  transform.force_color = proto.force_color();
  transform.force_gray = proto.force_gray();
  if (transform.force_color && transform.force_gray) {
    return layer.Error("give force_color or force_gray, not both");
  }
  return transform;
}

// What all of them have. The tops are the images and, if there is a second one, the labels.
Result<data::SourceDef> ReadSource(const LayerReader& layer, std::int64_t batch) {
  const auto& proto = layer.proto();
  data::SourceDef source;
  source.layer = proto.name();
  SHOAL_RETURN_IF_ERROR(layer.Range("batch_size", batch, 1, kMaxBatch));
  source.batch = batch;
  source.data_top = proto.top(0);
  if (proto.top_size() > 1) source.label_top = proto.top(1);
  SHOAL_ASSIGN_OR_RETURN(source.transform, ReadTransform(layer));
  return source;
}

}  // namespace

Result<data::SourceDef> ReadLmdbSource(const LayerReader& layer) {
  const auto& proto = layer.proto().data_param();
  if (proto.source().empty()) return layer.Error("data_param needs source, the data set's path");
  SHOAL_ASSIGN_OR_RETURN(data::SourceDef source, ReadSource(layer, proto.batch_size()));
  // Caffe's default is LevelDB, which we do not read; a net can be built and timed without data.
  if (proto.backend() != caffe_proto::DataParameter::LMDB) {
    layer.Warn("backend is LEVELDB" + std::string(proto.has_backend() ? "" : " by default") +
               "; the source is opened as LMDB");
  }
  if (proto.force_encoded_color()) source.transform.force_color = true;
  source.from = data::LmdbDef{.path = proto.source(), .rand_skip = proto.rand_skip()};
  return source;
}

Result<data::SourceDef> ReadImageListSource(const LayerReader& layer) {
  const auto& proto = layer.proto().image_data_param();
  if (proto.source().empty()) {
    return layer.Error("image_data_param needs source, a file with lines \"path label\"");
  }
  SHOAL_ASSIGN_OR_RETURN(data::SourceDef source, ReadSource(layer, proto.batch_size()));
  SHOAL_RETURN_IF_ERROR(layer.Range("new_height", proto.new_height(), 0, kMaxSide));
  SHOAL_RETURN_IF_ERROR(layer.Range("new_width", proto.new_width(), 0, kMaxSide));
  if ((proto.new_height() == 0) != (proto.new_width() == 0)) {
    return layer.Error("new_height and new_width must both be given, or neither");
  }
  source.from = data::ImageListDef{.path = proto.source(),
                                   .root_folder = proto.root_folder(),
                                   .new_height = proto.new_height(),
                                   .new_width = proto.new_width(),
                                   .shuffle = proto.shuffle(),
                                   .color = proto.is_color(),
                                   .rand_skip = proto.rand_skip()};
  return source;
}

Result<data::SourceDef> ReadMemorySource(const LayerReader& layer) {
  const auto& proto = layer.proto().memory_data_param();
  SHOAL_ASSIGN_OR_RETURN(data::SourceDef source, ReadSource(layer, proto.batch_size()));
  caffe_proto::BlobShape shape;
  for (const std::int64_t dim : {std::int64_t{proto.batch_size()}, std::int64_t{proto.channels()},
                                 std::int64_t{proto.height()}, std::int64_t{proto.width()}}) {
    shape.add_dim(dim);
  }
  SHOAL_ASSIGN_OR_RETURN(const auto dims, ReadShape(layer, "memory_data_param", shape));
  source.from = data::MemoryDef{.channels = dims[1], .height = dims[2], .width = dims[3]};
  return source;
}

}  // namespace shoal::caffe::internal
