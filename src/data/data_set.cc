#include "data/data_set.h"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "data/image_files.h"
#include "data/lmdb_source.h"

namespace shoal::data {
namespace {

namespace fs = std::filesystem;
using Source = Result<std::shared_ptr<const RecordSource>>;

template <class T>
Source Share(Result<T> source) {
  if (!source.ok()) return std::move(source).status();
  return std::shared_ptr<const RecordSource>(std::make_shared<T>(*std::move(source)));
}

bool Exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool IsDirectory(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// The files themselves, or those that a directory has under their published names.
std::vector<std::string> CifarFiles(const DataSetOptions& options, DataSetFormat format) {
  if (options.paths.size() != 1 || !IsDirectory(options.paths[0])) return options.paths;
  const std::string directory = options.paths[0] + "/";
  if (format == DataSetFormat::kCifar100) {
    return {directory + (options.test ? "test.bin" : "train.bin")};
  }
  if (options.test) return {directory + "test_batch.bin"};
  std::vector<std::string> files;
  for (int i = 1; i <= 5; ++i) {
    files.push_back(directory + "data_batch_" + std::to_string(i) + ".bin");
  }
  return files;
}

Source OpenMnist(const DataSetOptions& options) {
  if (options.paths.size() == 2) {
    return Share(MnistSource::Open(options.paths[0], options.paths[1]));
  }
  const std::string prefix = options.paths[0] + (options.test ? "/t10k-" : "/train-");
  return Share(MnistSource::Open(prefix + "images-idx3-ubyte", prefix + "labels-idx1-ubyte"));
}

Source OpenFolder(const DataSetOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(ImageFiles files, ImageFiles::FromFolder(options.paths[0]));
  if (options.gray) files.SetColors(Colors::kGray);
  return Share(Result<ImageFiles>(std::move(files)));
}

// How many paths a format can make sense of.
bool IsCountRight(DataSetFormat format, std::size_t count) {
  if (format == DataSetFormat::kCifar10 || format == DataSetFormat::kCifar100) return count >= 1;
  return count == 1 || (count == 2 && format == DataSetFormat::kMnist);
}

}  // namespace

Result<DataSetFormat> DetectFormat(const std::string& path) {
  if (!Exists(path)) return FileError(ENOENT, path);
  if (!IsDirectory(path)) {
    const std::string ending = fs::path(path).extension().string();
    if (ending == ".mdb") return DataSetFormat::kLmdb;
    if (ending == ".bin") return DataSetFormat::kCifar10;
    if (path.ends_with("-ubyte")) return DataSetFormat::kMnist;
    return DataSetFormat::kList;
  }
  if (Exists(path + "/data.mdb")) return DataSetFormat::kLmdb;
  if (Exists(path + "/data_batch_1.bin") || Exists(path + "/test_batch.bin")) {
    return DataSetFormat::kCifar10;
  }
  if (Exists(path + "/train.bin")) return DataSetFormat::kCifar100;
  if (Exists(path + "/train-images-idx3-ubyte") || Exists(path + "/t10k-images-idx3-ubyte")) {
    return DataSetFormat::kMnist;
  }
  return DataSetFormat::kFolder;
}

Source OpenDataSet(const DataSetOptions& options) {
  if (options.paths.empty()) return Status(Code::kInvalidArgument, "no data set given");
  DataSetFormat format = options.format;
  if (format == DataSetFormat::kAuto) {
    SHOAL_ASSIGN_OR_RETURN(format, DetectFormat(options.paths[0]));
  }
  if (!IsCountRight(format, options.paths.size())) {
    return Status(Code::kInvalidArgument, std::to_string(options.paths.size()) +
                                              " paths are not one data set: " + options.paths[0]);
  }
  switch (format) {
    case DataSetFormat::kCifar10:
      return Share(
          CifarSource::Open(CifarKind::k10, CifarFiles(options, format), options.cifar_order));
    case DataSetFormat::kCifar100:
      return Share(
          CifarSource::Open(CifarKind::k100, CifarFiles(options, format), options.cifar_order));
    case DataSetFormat::kMnist:
      return OpenMnist(options);
    case DataSetFormat::kList:
      return Share(ImageFiles::FromList(
          {.path = options.paths[0], .root_folder = options.root_folder, .color = !options.gray}));
    case DataSetFormat::kLmdb:
      return Share(LmdbSource::Open(options.paths[0]));
    case DataSetFormat::kFolder:
    case DataSetFormat::kAuto:
      break;
  }
  return OpenFolder(options);
}

}  // namespace shoal::data
