// Opens a data set by where its files are: what a user has downloaded, as it is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "data/binary_sets.h"
#include "data/record.h"

namespace shoal::data {

enum class DataSetFormat : std::uint8_t {
  kAuto,  // By what is there.
  kCifar10,
  kCifar100,
  kMnist,
  kFolder,  // A directory for each class.
  kList,    // Lines "path label".
  kLmdb,
};

struct DataSetOptions {
  DataSetFormat format = DataSetFormat::kAuto;
  // The directory, list or database; for CIFAR also the .bin files, for MNIST also the file
  // of images and the file of labels.
  std::vector<std::string> paths{};
  // Of a directory with both parts (CIFAR, MNIST), the test part.
  bool test = false;
  CifarOrder cifar_order = CifarOrder::kRedFirst;
  bool gray = false;          // Of a folder or list.
  std::string root_folder{};  // Of a list; empty: the paths are as the list has them.
};

// kInvalidArgument: `paths` are not such a data set; failures name the file.
Result<std::shared_ptr<const RecordSource>> OpenDataSet(const DataSetOptions& options);

// The format that kAuto finds for `path`.
Result<DataSetFormat> DetectFormat(const std::string& path);

}  // namespace shoal::data
