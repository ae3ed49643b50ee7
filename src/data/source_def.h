// SourceDef: where the images of a network come from and what happens to them on the way. What a
// data layer of a prototxt means; plain values.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace shoal::data {

// Pixels are BGR; (x - mean) · scale. Cropping and mirroring are random while training, the
// middle while testing (mirroring then too, if asked for: Caffe does).
struct TransformDef {
  float scale = 1;
  bool mirror = false;
  std::int64_t crop = 0;             // 0: none.
  std::string mean_file{};           // A BlobProto, subtracted where the crop lies in the image.
  std::vector<float> mean_values{};  // One for all channels, or one each.
  bool force_color = false;
  bool force_gray = false;
};

struct LmdbDef {
  std::string path{};
  std::int64_t rand_skip = 0;
};

// Lines "path label".
struct ImageListDef {
  std::string path{};
  std::string root_folder{};  // In front of every path, as it is.
  std::int64_t new_height = 0;
  std::int64_t new_width = 0;
  bool shuffle = false;
  bool color = true;
  std::int64_t rand_skip = 0;
};

// The program itself brings the images.
struct MemoryDef {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
};

struct SourceDef {
  std::string layer{};  // Its name, for messages.
  std::variant<LmdbDef, ImageListDef, MemoryDef> from{};
  TransformDef transform{};
  std::int64_t batch = 0;
  std::string data_top{};
  std::string label_top{};  // Empty: no labels.
};

}  // namespace shoal::data
