#include "os/flash/layer_writer.h"

#include <algorithm>
#include <vector>

#include "os/file.h"
#include "os/flash/layer_name.h"
#include "pipeline/layer_store.h"
#include "wire/piece.h"

namespace shoal::os {

Result<std::uint32_t> CountRightChunks(const std::string& path, const wire::pb::LayerFile& layer,
                                       const std::atomic<bool>& stop) {
  // Read, not mapped: flash that does not answer then is a Status.
  SHOAL_ASSIGN_OR_RETURN(const File file, File::Open(path));
  std::vector<std::byte> buffer(
      static_cast<std::size_t>(std::min<std::uint64_t>(layer.bytes(), wire::kChunkBytes)));
  const std::uint32_t chunks = pipeline::ChunkCount(layer.bytes());
  for (std::uint32_t i = 0; i < chunks; ++i) {
    if (stop) return Status(Code::kCancelled, "the program ends");
    const std::span<std::byte> bytes =
        std::span(buffer).first(pipeline::ChunkSize(layer.bytes(), i));
    const std::uint64_t begin = std::uint64_t{i} * wire::kChunkBytes;
    if (begin + bytes.size() > file.size()) return i;
    // Flash that cannot be read any more has lost the chunk.
    if (!file.ReadAt(begin, bytes).ok() || HashOf(bytes) != ChunkHash(layer, i)) return i;
  }
  return chunks;
}

Result<LayerWriter> LayerWriter::Open(const std::string& path, const wire::pb::LayerFile& layer,
                                      const std::atomic<bool>& stop) {
  SHOAL_ASSIGN_OR_RETURN(ResumableFile file, ResumableFile::Open(path));
  SHOAL_ASSIGN_OR_RETURN(const std::uint32_t chunks, CountRightChunks(path, layer, stop));
  const std::uint64_t right =
      std::min(std::uint64_t{chunks} * wire::kChunkBytes, std::uint64_t{layer.bytes()});
  if (file.size() != right) SHOAL_RETURN_IF_ERROR(file.CutTo(right));
  return LayerWriter(std::move(file), layer, chunks);
}

bool LayerWriter::complete() const { return chunks_ == pipeline::ChunkCount(layer_.bytes()); }

Status LayerWriter::Append(std::uint32_t chunk, std::span<const std::byte> bytes) {
  if (complete() || chunk != chunks_ ||
      bytes.size() != pipeline::ChunkSize(layer_.bytes(), chunk) ||
      HashOf(bytes) != ChunkHash(layer_, chunk)) {
    return Status(Code::kCorruption,
                  "layer " + ToHex(layer_.sha256()) + ": not its chunk " + std::to_string(chunks_));
  }
  const std::uint64_t before = file_.size();
  if (Status written = file_.Append(bytes); !written.ok()) {
    // What fitted of the chunk is of no use. If even that fails, Open will cut it off.
    (void)file_.CutTo(before).ok();
    return written;
  }
  ++chunks_;
  return {};
}

Status LayerWriter::MoveTo(const std::string& path) {
  Status moved = file_.MoveTo(path);
  // What a failed sync has not written, the system may take for written from then on.
  if (!moved.ok()) (void)file_.Remove().ok();
  return moved;
}

}  // namespace shoal::os
