// Classifier: a trained network that says what is on an image. Takes files for deployment (with an
// Input layer), and those for training, whose data layer then says how images are prepared and
// whose losses become probabilities.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "data/source_def.h"
#include "data/transform.h"
#include "nn/first_supported.h"
#include "nn/net.h"

namespace shoal {

struct ClassifierOptions {
  std::string net;               // A prototxt, or "zoo:NAME".
  std::string weights;           // A .caffemodel.
  std::optional<Shape> image{};  // (C, H, W), if the network does not say.
  std::string mean_file{};       // These instead of what a data layer says.
  std::vector<float> mean_values{};
  std::optional<float> scale{};
  bool red_first = false;  // The network learnt from pixels in that order, as from CIFAR's files.
  std::int64_t resize =
      0;  // To squares of this before the middle is cut out; 0: see classifier.cc.
};

struct Guess {
  std::size_t klass = 0;
  float probability = 0;
};

// Not thread-safe; computes on the Parallel it was given.
class Classifier {
 public:
  // Failures name the file, and the layer if there is one to name.
  static Result<std::unique_ptr<Classifier>> Make(const ClassifierOptions& options,
                                                  Parallel& parallel);

  std::size_t classes() const;
  // The best guesses for the JPEG or PNG file `path`, best first.
  Result<std::vector<Guess>> Classify(const std::string& path, std::size_t guesses);

 private:
  Classifier() = default;
  Status PrepareImages(const ClassifierOptions& options, data::TransformDef def);

  nn::FirstSupported chooser_;  // One image does not pay for measuring.
  nn::ParamStore params_;
  std::unique_ptr<nn::Net> net_;
  std::string input_;  // Names of blobs.
  std::string output_;
  std::int64_t height_ = 0;  // Of images before the middle is cut out.
  std::int64_t width_ = 0;
  bool red_first_ = false;
  std::optional<data::Transform> transform_;
};

}  // namespace shoal
