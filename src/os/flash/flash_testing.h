// Layers and a directory for them, for tests.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/random.h"
#include "os/flash/layer_name.h"
#include "pipeline/layer_store.h"
#include "wire/piece.h"

namespace shoal::os {

// Two chunks and a piece of a third.
inline constexpr std::uint64_t kTestLayerBytes = 2 * wire::kChunkBytes + 12345;

struct TestLayer {
  std::vector<std::byte> bytes;
  wire::pb::LayerFile file;

  const std::string& name() const { return file.sha256(); }
  std::vector<std::byte> Chunk(std::uint32_t chunk) const {
    const auto begin =
        bytes.begin() + static_cast<std::ptrdiff_t>(std::size_t{chunk} * wire::kChunkBytes);
    return {begin, begin + static_cast<std::ptrdiff_t>(pipeline::ChunkSize(bytes.size(), chunk))};
  }
};

inline TestLayer MakeTestLayer(std::uint64_t seed, std::uint64_t bytes = kTestLayerBytes) {
  TestLayer layer;
  Random random(seed);
  layer.bytes.resize(bytes);
  for (std::byte& byte : layer.bytes) byte = static_cast<std::byte>(random.Bits());
  layer.file.set_bytes(bytes);
  for (std::uint32_t i = 0; i < pipeline::ChunkCount(bytes); ++i) {
    *layer.file.mutable_chunks() += HashOf(layer.Chunk(i));
  }
  layer.file.set_sha256(HashOf(layer.file.chunks()));
  return layer;
}

// The first bytes of a layer, or all and zeros after them.
inline void WriteBytes(const std::string& path, std::vector<std::byte> bytes, std::size_t size) {
  bytes.resize(size);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(size));
}

inline void FlipBit(const std::string& path, std::size_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(byte ^ 1));
}

// While it lives, no file grows beyond so many bytes: what a full disk does to a writer.
class FullDisk {
 public:
  explicit FullDisk(std::uint64_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

class FlashDirectoryTest : public testing::Test {
 protected:
  FlashDirectoryTest() { std::filesystem::remove_all(path_); }
  ~FlashDirectoryTest() override { std::filesystem::remove_all(path_); }

  const std::string path_ = testing::TempDir() + "flash_" +
                            testing::UnitTest::GetInstance()->current_test_info()->name() +
                            std::to_string(::getpid());
};

}  // namespace shoal::os
