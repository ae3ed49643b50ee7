#include "caffe/weights_file.h"

#include <gtest/gtest.h>

#include <string>

#include "caffe.pb.h"
#include "caffe/mean_file.h"
#include "caffe/net_file.h"
#include "caffe/solver_state_file.h"

namespace shoal::caffe {
namespace {

// Protobuf's own classes, as Caffe uses them, are the other side of each test.
using caffe_proto::BlobProto;
using caffe_proto::NetParameter;

const Blob kMatrix{.shape = {2, 3}, .values = {1, 2, 3, 4, 5, 6}};
const Blob kVector{.shape = {2}, .values = {-1, 0.5}};

void Fill(BlobProto* proto, const Blob& blob) {
  for (const auto dim : blob.shape) proto->mutable_shape()->add_dim(dim);
  for (const float value : blob.values) proto->add_data(value);
}

TEST(WeightsFile, ReadsWhatProtobufWrote) {
  NetParameter net;
  net.set_name("net");
  auto* layer = net.add_layer();
  layer->set_name("fc");
  layer->set_type("InnerProduct");
  layer->mutable_inner_product_param()->set_num_output(2);
  Fill(layer->add_blobs(), kMatrix);
  Fill(layer->add_blobs(), kVector);
  net.add_layer()->set_name("relu");
  const auto weights = ReadWeights("w", net.SerializeAsString());
  ASSERT_TRUE(weights.ok()) << weights.status().ToString();
  EXPECT_EQ(weights->net, "net");
  ASSERT_EQ(weights->layers.size(), 1U);
  EXPECT_EQ(weights->layers[0],
            (NamedBlobs{.layer = "fc", .type = "InnerProduct", .blobs = {kMatrix, kVector}}));
}

TEST(WeightsFile, ProtobufReadsWhatWeWrite) {
  const WeightsFile weights{
      .net = "n", .layers = {{.layer = "fc", .type = "InnerProduct", .blobs = {kMatrix, kVector}}}};
  NetParameter net;
  ASSERT_TRUE(net.ParseFromString(WriteWeights(weights)));
  EXPECT_EQ(net.name(), "n");
  ASSERT_EQ(net.layer_size(), 1);
  EXPECT_EQ(net.layer(0).type(), "InnerProduct");
  ASSERT_EQ(net.layer(0).blobs_size(), 2);
  EXPECT_EQ(net.layer(0).blobs(0).shape().dim(1), 3);
  EXPECT_EQ(net.layer(0).blobs(0).data(5), 6);
  const auto again = ReadWeights("w", WriteWeights(weights));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->layers, weights.layers);
}

TEST(WeightsFile, AScalarAndAnEmptyBlobSurvive) {
  const WeightsFile weights{
      .net = "",
      .layers = {{.layer = "bn",
                  .type = "BatchNorm",
                  .blobs = {{.shape = {}, .values = {7}}, {.shape = {0, 3}, .values = {}}}}}};
  const auto again = ReadWeights("w", WriteWeights(weights));
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(again->layers, weights.layers);
}

TEST(WeightsFile, LegacyContainersAndShapes) {
  NetParameter net;
  auto* v1 = net.add_layers();
  v1->set_name("ip");
  v1->set_type(caffe_proto::V1LayerParameter::INNER_PRODUCT);
  auto* blob = v1->add_blobs();
  blob->set_num(1);
  blob->set_channels(1);
  blob->set_height(2);
  blob->set_width(3);
  for (const float value : kMatrix.values) blob->add_data(value);
  auto* v0 = net.add_layers()->mutable_layer();
  v0->set_name("conv");
  v0->set_type("conv");
  Fill(v0->add_blobs(), kVector);
  const auto weights = ReadWeights("w", net.SerializeAsString());
  ASSERT_TRUE(weights.ok()) << weights.status().ToString();
  ASSERT_EQ(weights->layers.size(), 2U);
  EXPECT_EQ(weights->layers[0].type, "InnerProduct");
  EXPECT_EQ(weights->layers[0].blobs[0].shape, (std::vector<std::int64_t>{1, 1, 2, 3}));
  EXPECT_EQ(weights->layers[0].blobs[0].values, kMatrix.values);
  EXPECT_TRUE(SameButForOnes(weights->layers[0].blobs[0].shape, kMatrix.shape));
  EXPECT_FALSE(SameButForOnes({1, 3, 2}, kMatrix.shape));
  EXPECT_EQ(weights->layers[1].layer, "conv");
  EXPECT_EQ(weights->layers[1].blobs[0], kVector);
}

TEST(WeightsFile, UnpackedFloatsAndDoubles) {
  // layer { name: "x" blobs { data: 1 data: 2 (unpacked) shape { dim: 2 } } }
  const std::string floats("\x2D\x00\x00\x80\x3F\x2D\x00\x00\x00\x40\x3A\x02\x08\x02", 14);
  const std::string layer = "\x0A\x01x\x3A\x0E" + floats;
  const auto unpacked = ReadWeights("w", "\xA2\x06" + std::string(1, char(layer.size())) + layer);
  ASSERT_TRUE(unpacked.ok()) << unpacked.status().ToString();
  EXPECT_EQ(unpacked->layers[0].blobs[0], (Blob{.shape = {2}, .values = {1, 2}}));

  NetParameter net;
  auto* blob = net.add_layer()->add_blobs();
  blob->mutable_shape()->add_dim(1);
  blob->add_double_data(0.25);
  const auto doubles = ReadWeights("w", net.SerializeAsString());
  ASSERT_TRUE(doubles.ok()) << doubles.status().ToString();
  EXPECT_EQ(doubles->layers[0].blobs[0].values, std::vector<float>{0.25});
}

TEST(WeightsFile, EveryCutIsAnErrorOrAShorterFile) {
  const std::string bytes =
      WriteWeights({.net = "n",
                    .layers = {{.layer = "a", .type = "Scale", .blobs = {kMatrix}},
                               {.layer = "b", .type = "Scale", .blobs = {kVector}}}});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto weights = ReadWeights("w", bytes.substr(0, size));
    if (weights.ok()) {
      EXPECT_EQ(weights->layers.size(), 1U) << size;  // Cut between the layers.
    }
  }
}

TEST(WeightsFile, BrokenFilesSaySo) {
  NetParameter net;
  auto* layer = net.add_layer();
  layer->set_name("fc");
  Fill(layer->add_blobs(), kVector);
  layer->mutable_blobs(0)->mutable_shape()->add_dim(3);
  const auto message = [](std::string_view bytes) {
    const auto weights = ReadWeights("w", bytes);
    return weights.ok() ? "ok" : std::string(weights.status().message());
  };
  EXPECT_EQ(message(net.SerializeAsString()),
            "w: layer \"fc\", blob 0 has the shape 2x3 but 2 values");
  layer->mutable_blobs(0)->mutable_shape()->set_dim(1, -1);
  EXPECT_EQ(message(net.SerializeAsString()),
            "w: layer \"fc\", blob 0 has a negative dimension: 2x-1");
  for (int i = 0; i < 4; ++i) layer->mutable_blobs(0)->mutable_shape()->add_dim(1LL << 60);
  layer->mutable_blobs(0)->mutable_shape()->set_dim(1, 1LL << 60);
  EXPECT_TRUE(message(net.SerializeAsString())
                  .starts_with("w: layer \"fc\", blob 0 has an impossible shape: 2x115292150460"));
  EXPECT_EQ(message(""), "w: the file is empty");
  EXPECT_EQ(message("\x89HDF\r\n"),
            "w: an HDF5 file; only binary files (snapshot_format: BINARYPROTO) are read");
  EXPECT_EQ(message("name: \"LeNet\""), "w: a text file; a binary .caffemodel is expected here");
  EXPECT_EQ(message("\x0A\x01n"), "w: has no layers; not a .caffemodel");
  EXPECT_EQ(message("\x0B"), "w: broken at byte 1: unknown kind of field");
  EXPECT_TRUE(message("\x12\x7Fx").starts_with("w: broken at byte 2: a field of 127 bytes "));
}

TEST(SolverStateFile, RoundTripAndProtobuf) {
  SolverStateFile state{.iter = 300,
                        .learned_net = "a_iter_300.caffemodel",
                        .history = {kMatrix, kVector},
                        .current_step = 2,
                        .minimum_loss = {},
                        .iter_last_event = 0};
  caffe_proto::SolverState proto;
  ASSERT_TRUE(proto.ParseFromString(WriteSolverState(state)));
  EXPECT_EQ(proto.iter(), 300);
  EXPECT_EQ(proto.learned_net(), "a_iter_300.caffemodel");
  EXPECT_EQ(proto.history(1).data(0), -1);
  EXPECT_EQ(proto.current_step(), 2);
  state.minimum_loss = 0.5F;
  state.iter_last_event = 7;
  const auto again = ReadSolverState("s", WriteSolverState(state));
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(*again, state);
  EXPECT_EQ(ReadSolverState("s", "\x12\x01x").status().message(),
            "s: says no iteration to go on from; not a .solverstate");
}

TEST(MeanFile, BothFormsAndWhatIsNoImage) {
  const Blob mean{.shape = {1, 2, 3}, .values = {1, 2, 3, 4, 5, 6}};
  BlobProto proto;
  ASSERT_TRUE(proto.ParseFromString(WriteMean(mean)));
  EXPECT_EQ(proto.num(), 1);
  EXPECT_EQ(proto.width(), 3);
  const auto legacy = ReadMean("m", WriteMean(mean));
  ASSERT_TRUE(legacy.ok()) << legacy.status().ToString();
  EXPECT_EQ(*legacy, mean);
  BlobProto modern;
  Fill(&modern, mean);
  EXPECT_EQ(*ReadMean("m", modern.SerializeAsString()), mean);
  BlobProto vector;
  Fill(&vector, kVector);
  EXPECT_EQ(ReadMean("m", vector.SerializeAsString()).status().message(),
            "m: not one image (channels, height, width) but 2");
}

TEST(NetFile, BinaryDefinitions) {
  NetParameter net;
  net.add_input("data");
  for (const int dim : {1, 2, 3, 4}) net.add_input_dim(dim);
  auto* layer = net.add_layer();
  layer->set_name("r");
  layer->set_type("ReLU");
  layer->add_bottom("data");
  layer->add_top("data");
  const auto file = NetFile::ParseBinary("net.bin", net.SerializeAsString());
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_TRUE(file->Build({}).ok());
  EXPECT_EQ(NetFile::ParseBinary("net.bin", "\x0A\x7F").status().message(),
            "net.bin: not a binary NetParameter, or cut short");
}

}  // namespace
}  // namespace shoal::caffe
