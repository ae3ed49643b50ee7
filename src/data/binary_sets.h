// Data sets that come as plain binary files: CIFAR-10, CIFAR-100 and MNIST, as their authors
// publish them (unpacked).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/files.h"
#include "data/record.h"

namespace shoal::data {

enum class CifarKind : std::uint8_t {
  k10,   // A label and 3 x 32 x 32 bytes.
  k100,  // A coarse label, a fine label, which is the one we take, and the same.
};

// The files store planes, red first. Caffe's CIFAR databases and the networks trained on
// them keep that order; photographs are blue first.
enum class CifarOrder : std::uint8_t { kRedFirst, kBlueFirst };

class CifarSource final : public RecordSource {
 public:
  // One after the other. kCorruption: a file is not a whole number of records.
  static Result<CifarSource> Open(CifarKind kind, const std::vector<std::string>& paths,
                                  CifarOrder order);

  std::int64_t size() const override { return size_; }
  Status Read(std::int64_t index, Record& out) const override;

 private:
  CifarSource(CifarKind kind, CifarOrder order) : kind_(kind), order_(order) {}

  CifarKind kind_;
  CifarOrder order_;
  std::vector<InputFile> files_;
  std::vector<std::int64_t> ends_;  // Records in the files up to each.
  std::int64_t size_ = 0;
};

class MnistSource final : public RecordSource {
 public:
  // An idx3 file of images and an idx1 file of as many labels. kCorruption: they are not.
  static Result<MnistSource> Open(const std::string& images, const std::string& labels);

  std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
  Status Read(std::int64_t index, Record& out) const override;

 private:
  MnistSource(InputFile images, std::int64_t height, std::int64_t width)
      : images_(std::move(images)), height_(height), width_(width) {}

  InputFile images_;
  std::int64_t height_;
  std::int64_t width_;
  std::vector<std::uint8_t> labels_;
};

}  // namespace shoal::data
