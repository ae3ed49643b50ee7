#include "train/model.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"

namespace shoal::train {

Result<std::unique_ptr<Model>> Model::Open(caffe::Network network, const FeedOptions& options,
                                           const ReadFile& read) {
  std::unique_ptr<Model> model(new Model(std::move(network)));
  for (const data::SourceDef& def : model->network_.sources) {
    SHOAL_ASSIGN_OR_RETURN(auto feed, Feed::Open(def, options, read));
    model->feeds_.push_back(std::move(feed));
  }
  return model;
}

std::map<std::string, Shape> Model::InputShapes(std::int64_t batch) const {
  std::map<std::string, Shape> shapes;
  for (const auto& feed : feeds_) feed->AddShapes(batch > 0 ? batch : feed->def().batch, shapes);
  return shapes;
}

std::int64_t Model::Batch(std::int64_t batch) const {
  if (!feeds_.empty()) return std::max<std::int64_t>(batch > 0 ? batch : feeds_[0]->def().batch, 1);
  for (const nn::LayerDef& layer : network_.net.layers) {
    const auto* input = std::get_if<nn::InputDef>(&layer.op);
    if (input == nullptr || input->shapes.empty() || input->shapes[0].empty()) continue;
    return std::max<std::int64_t>(input->shapes[0][0], 1);
  }
  return 1;
}

std::size_t Model::LoaderBytes(std::int64_t batch) const {
  std::size_t bytes = 0;
  for (const auto& feed : feeds_) bytes += feed->LoaderBytes(batch > 0 ? batch : feed->def().batch);
  return bytes;
}

Status Model::Build(const BuildOptions& options, nn::ParamStore& params, nn::ConvChooser& chooser,
                    Parallel& parallel) {
  SHOAL_ASSIGN_OR_RETURN(net_, nn::Net::Build(network_.net,
                                              {.input_shapes = InputShapes(options.batch),
                                               .backward = options.backward,
                                               .bytes_max = options.bytes_max,
                                               .seed = options.seed},
                                              params, chooser, parallel));
  batch_override_ = options.batch;
  batch_ = Batch(options.batch);
  return {};
}

Status Model::Start(std::span<const data::Cursor> cursors) {
  SHOAL_CHECK(cursors.empty() || cursors.size() == feeds_.size());
  for (std::size_t i = 0; i < feeds_.size(); ++i) {
    std::optional<data::Cursor> cursor;
    if (!cursors.empty()) cursor = cursors[i];
    const std::int64_t batch = batch_override_ > 0 ? batch_override_ : feeds_[i]->def().batch;
    SHOAL_RETURN_IF_ERROR(feeds_[i]->Start(batch, cursor));
  }
  return {};
}

Status Model::FillInputs() {
  for (const auto& feed : feeds_) SHOAL_RETURN_IF_ERROR(feed->Fill(*net_));
  return {};
}

std::vector<data::Cursor> Model::cursors() const {
  std::vector<data::Cursor> cursors;
  for (const auto& feed : feeds_) cursors.push_back(feed->cursor());
  return cursors;
}

std::vector<data::Cursor> Model::CursorsAfter(std::uint64_t steps) const {
  std::vector<data::Cursor> cursors;
  for (const auto& feed : feeds_) {
    const std::int64_t batch = batch_override_ > 0 ? batch_override_ : feed->def().batch;
    cursors.push_back(feed->After(steps * static_cast<std::uint64_t>(batch)));
  }
  return cursors;
}

std::vector<NamedValue> Model::Scalars() {
  std::vector<NamedValue> scalars;
  for (const std::size_t value : net_->graph().results()) {
    const nn::Blob blob = net_->blob(value);
    if (blob.elements() != 1 || blob.data == nullptr) continue;
    scalars.push_back({net_->graph().values()[value].name, blob.data[0]});
  }
  return scalars;
}

Result<std::vector<NamedValue>> AverageScores(Model& model, std::int64_t batches) {
  std::vector<NamedValue> sums;
  for (std::int64_t i = 0; i < batches; ++i) {
    SHOAL_RETURN_IF_ERROR(model.FillInputs());
    SHOAL_RETURN_IF_ERROR(model.net().Forward(static_cast<std::uint64_t>(i)).status());
    const std::vector<NamedValue> scores = model.Scalars();
    if (sums.empty()) {
      sums = scores;
    } else {
      for (std::size_t s = 0; s < sums.size(); ++s) sums[s].value += scores[s].value;
    }
  }
  for (NamedValue& sum : sums) sum.value /= static_cast<double>(batches);
  return sums;
}

}  // namespace shoal::train
