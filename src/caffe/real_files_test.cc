// Files that Caffe's own examples and their users have published. They are not part of this
// repository: without them the tests are skipped.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "caffe/mean_file.h"
#include "caffe/net_file.h"
#include "caffe/weights_file.h"

namespace shoal::caffe {
namespace {

class RealFiles : public testing::Test {
 protected:
  // Skips the test if there is no such file.
  static std::string Read(const std::string& name) {
    std::ifstream file(std::string(SHOAL_SHARED_DATA) + "/caffe/" + name, std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
  }
};

#define READ_OR_SKIP(variable, name)       \
  const std::string variable = Read(name); \
  if (variable.empty()) GTEST_SKIP() << name << " is not here"

TEST_F(RealFiles, CifarQuickWeightsFitTheNet) {
  READ_OR_SKIP(bytes, "cifar10_quick_iter_5000.caffemodel");
  const auto weights = ReadWeights("cifar10_quick", bytes);
  ASSERT_TRUE(weights.ok()) << weights.status().ToString();
  ASSERT_EQ(weights->layers.size(), 5U);
  EXPECT_EQ(weights->layers[0].layer, "conv1");
  EXPECT_EQ(weights->layers[0].type, "Convolution");
  EXPECT_TRUE(SameButForOnes(weights->layers[0].blobs[0].shape, {32, 3, 5, 5}));
  EXPECT_EQ(weights->layers[4].layer, "ip2");
  EXPECT_TRUE(SameButForOnes(weights->layers[4].blobs[0].shape, {10, 64}));
  const auto again = ReadWeights("again", WriteWeights(*weights));
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(again->layers, weights->layers);
}

TEST_F(RealFiles, CifarQuickNets) {
  for (const char* name : {"cifar10_quick.prototxt", "cifar10_quick_train_test.prototxt"}) {
    READ_OR_SKIP(text, name);
    const auto file = NetFile::Parse(name, text);
    ASSERT_TRUE(file.ok()) << file.status().ToString();
    for (const nn::Phase phase : {nn::Phase::kTrain, nn::Phase::kTest}) {
      const auto network = file->Build({.phase = phase});
      ASSERT_TRUE(network.ok()) << network.status().ToString();
      EXPECT_GE(network->net.layers.size(), 13U);
    }
  }
}

TEST_F(RealFiles, Lenet) {
  READ_OR_SKIP(bytes, "lenet_iter_10000.everpeace.caffemodel");
  const auto weights = ReadWeights("lenet", bytes);
  ASSERT_TRUE(weights.ok()) << weights.status().ToString();
  ASSERT_EQ(weights->layers.size(), 4U);
  EXPECT_EQ(weights->layers[3].layer, "ip2");
  EXPECT_EQ(weights->layers[3].blobs[1].values.size(), 10U);
  // The weights come with the definition they were trained with.
  const auto net = NetFile::ParseBinary("lenet", bytes);
  ASSERT_TRUE(net.ok()) << net.status().ToString();
  EXPECT_TRUE(net->Build({}).ok()) << net->Build({}).status().ToString();
}

TEST_F(RealFiles, Mean) {
  READ_OR_SKIP(bytes, "mean.binaryproto");
  const auto mean = ReadMean("mean", bytes);
  ASSERT_TRUE(mean.ok()) << mean.status().ToString();
  EXPECT_EQ(mean->shape, (std::vector<std::int64_t>{3, 32, 32}));
  EXPECT_EQ(*ReadMean("again", WriteMean(*mean)), *mean);
}

}  // namespace
}  // namespace shoal::caffe
