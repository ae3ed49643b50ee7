#include "os/flash/flash_store.h"

#include <utility>

#include "os/file.h"
#include "os/flash/layer_name.h"
#include "os/machine/memory.h"
#include "os/machine/sys_root.h"
#include "os/mapped_file.h"
#include "tensor/aligned_buffer.h"

namespace shoal::os {
namespace {

class MappedLayer final : public pipeline::LayerBytes {
 public:
  explicit MappedLayer(MappedFile file) : file_(std::move(file)) {}
  std::span<const std::byte> bytes() const override { return file_.bytes(); }

 private:
  const MappedFile file_;
};

class CopiedLayer final : public pipeline::LayerBytes {
 public:
  explicit CopiedLayer(AlignedBuffer copy) : copy_(std::move(copy)) {}
  std::span<const std::byte> bytes() const override { return copy_.bytes(); }

 private:
  const AlignedBuffer copy_;
};

// Whether a copy is faster than the mapping, and leaves a quarter of the memory to everybody else.
bool IsWorthACopy(std::uint64_t bytes) {
  const MemoryInfo memory = ReadMemoryInfo(SysRoot());
  return memory.huge_pages.ok() && *memory.huge_pages != HugePages::kNever &&
         memory.bytes_total.ok() && memory.bytes_available.ok() &&
         *memory.bytes_available >= *memory.bytes_total / 4 + bytes;
}

Result<std::shared_ptr<const pipeline::LayerBytes>> CopyLayer(const std::string& path) {
  SHOAL_ASSIGN_OR_RETURN(const File file, File::Open(path));
  SHOAL_ASSIGN_OR_RETURN(AlignedBuffer copy, AlignedBuffer::Make(file.size()));
  SHOAL_RETURN_IF_ERROR(file.ReadAt(0, copy.bytes()));
  return std::shared_ptr<const pipeline::LayerBytes>(
      std::make_shared<const CopiedLayer>(std::move(copy)));
}

Result<std::shared_ptr<const pipeline::LayerBytes>> MapLayer(const std::string& path) {
  SHOAL_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
  return std::shared_ptr<const pipeline::LayerBytes>(
      std::make_shared<const MappedLayer>(std::move(file)));
}

}  // namespace

FlashStore::FlashStore(Loop& loop, LayerDirectory directory)
    : loop_(loop),
      directory_(std::move(directory)),
      alive_(std::make_shared<char>()),
      thread_([&loop](UniqueFunction<void()> task) { loop.Post(std::move(task)); }) {}

FlashStore::~FlashStore() { stop_ = true; }

Result<std::unique_ptr<FlashStore>> FlashStore::Make(Loop& loop, LayerDirectory directory,
                                                     Check check) {
  SHOAL_ASSIGN_OR_RETURN(const LayerUsage usage, directory.Usage());
  std::unique_ptr<FlashStore> store(new FlashStore(loop, std::move(directory)));
  MutexLock lock(store->mutex_);
  for (const StoredLayer& layer : usage.layers) {
    if (layer.whole) store->whole_[layer.name].usable = check == Check::kByReceivers;
  }
  return store;
}

std::shared_ptr<const pipeline::LayerBytes> FlashStore::Find(const std::string& sha256) {
  MutexLock lock(mutex_);
  const auto found = whole_.find(sha256);
  if (found == whole_.end() || !found->second.usable) return nullptr;
  if (auto held = found->second.held.lock()) {
    if (held == ready_) ready_.reset();
    return held;
  }
  const auto layer = MapLayer(directory_.WholePath(sha256));
  if (!layer.ok()) {
    // Somebody has removed it; otherwise there may be memory or descriptors for it later.
    if (layer.status().code() == Code::kNotFound) whole_.erase(found);
    return nullptr;
  }
  directory_.Touch(sha256);
  found->second.held = *layer;
  return *layer;
}

std::vector<std::string> FlashStore::Whole() const {
  MutexLock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, entry] : whole_) names.push_back(name);
  return names;
}

// Gives `done` on the loop what `work` returns on the thread.
template <class Answer>
void FlashStore::Run(UniqueFunction<Answer()> work, UniqueFunction<void(Answer)> done) {
  const auto answer = std::make_shared<std::optional<Answer>>();
  const auto callback = std::make_shared<UniqueFunction<void(Answer)>>(std::move(done));
  Job job;
  job.run = [work = std::move(work), answer]() mutable { answer->emplace(work()); };
  job.done = [answer, callback](JobTag) { (*callback)(std::move(**answer)); };
  if (Status queued = thread_.Submit(std::move(job)); !queued.ok()) {
    loop_.Post([alive = std::weak_ptr<void>(alive_), callback, queued = std::move(queued)] {
      if (!alive.expired()) (*callback)(Answer(queued));
    });
  }
}

void FlashStore::Open(const wire::pb::LayerFile& layer,
                      UniqueFunction<void(Result<std::uint32_t>)> done) {
  Run<Result<std::uint32_t>>([this, layer] { return OpenNow(layer); }, std::move(done));
}

void FlashStore::Append(const wire::pb::LayerFile& layer, std::uint32_t chunk,
                        std::vector<std::byte> bytes, UniqueFunction<void(Status)> done) {
  Run<Status>(
      [this, layer, chunk, bytes = std::move(bytes)] { return AppendNow(layer, chunk, bytes); },
      std::move(done));
}

Result<std::uint32_t> FlashStore::OpenNow(const wire::pb::LayerFile& layer) {
  writer_.reset();
  SHOAL_RETURN_IF_ERROR(CheckLayerName(layer));
  if (Hold(layer.sha256())) return pipeline::ChunkCount(layer.bytes());
  SHOAL_ASSIGN_OR_RETURN(const bool whole, CheckWhole(layer));
  if (whole) return pipeline::ChunkCount(layer.bytes());
  SHOAL_ASSIGN_OR_RETURN(LayerWriter writer,
                         LayerWriter::Open(directory_.PartPath(layer.sha256()), layer, stop_));
  if (writer.complete()) {  // The program ended before it got its name.
    SHOAL_RETURN_IF_ERROR(writer.MoveTo(directory_.WholePath(layer.sha256())));
    SetRight(layer.sha256());
    Hold(layer.sha256());
    return writer.chunks();
  }
  if (Status room = MakeRoom(layer, writer.bytes_missing()); !room.ok()) {
    if (writer.chunks() == 0) (void)writer.Remove().ok();
    return room;
  }
  const std::uint32_t chunks = writer.chunks();
  writer_.emplace(std::move(writer));
  return chunks;
}

// Whether the whole layer is here and right. One that is not is removed, not cut: it may be mapped.
Result<bool> FlashStore::CheckWhole(const wire::pb::LayerFile& layer) {
  const std::string path = directory_.WholePath(layer.sha256());
  const Result<File> file = File::Open(path);
  if (!file.ok() && file.status().code() != Code::kNotFound) return file.status();
  if (file.ok() && file->size() == layer.bytes()) {
    SHOAL_ASSIGN_OR_RETURN(const std::uint32_t right, CountRightChunks(path, layer, stop_));
    if (right == pipeline::ChunkCount(layer.bytes())) {
      SetRight(layer.sha256());
      return Hold(layer.sha256());
    }
  }
  MutexLock lock(mutex_);
  whole_.erase(layer.sha256());
  if (file.ok()) SHOAL_RETURN_IF_ERROR(directory_.Remove(layer.sha256()));
  return false;
}

Status FlashStore::MakeRoom(const wire::pb::LayerFile& layer, std::uint64_t bytes) {
  SHOAL_ASSIGN_OR_RETURN(const std::vector<std::string> removed,
                         directory_.MakeRoom(bytes, [&](const std::string& name) {
                           if (name == layer.sha256()) return true;
                           MutexLock lock(mutex_);
                           const auto found = whole_.find(name);
                           return found != whole_.end() && !found->second.held.expired();
                         }));
  MutexLock lock(mutex_);
  for (const std::string& name : removed) whole_.erase(name);
  return {};
}

Status FlashStore::AppendNow(const wire::pb::LayerFile& layer, std::uint32_t chunk,
                             const std::vector<std::byte>& bytes) {
  if (!writer_ || writer_->layer().sha256() != layer.sha256()) {
    return Status(Code::kUnavailable, "layer " + ToHex(layer.sha256()) + " is not open");
  }
  SHOAL_RETURN_IF_ERROR(writer_->Append(chunk, bytes));
  if (!writer_->complete()) return {};
  LayerWriter writer = *std::exchange(writer_, std::nullopt);
  SHOAL_RETURN_IF_ERROR(writer.MoveTo(directory_.WholePath(layer.sha256())));
  SetRight(layer.sha256());
  return {};
}

void FlashStore::SetRight(const std::string& name) {
  MutexLock lock(mutex_);
  whole_[name].usable = true;
  whole_[name].right = true;
}

// Sees to it that the event loop finds a right layer without having to read it. False: there is
// none, or not any more.
bool FlashStore::Hold(const std::string& name) {
  {
    MutexLock lock(mutex_);
    const auto found = whole_.find(name);
    if (found == whole_.end() || !found->second.right) return false;
    if ((ready_ = found->second.held.lock()) != nullptr) return true;
  }
  const std::string path = directory_.WholePath(name);
  const Result<File> file = File::Open(path);
  auto layer = file.ok() && IsWorthACopy(file->size()) ? CopyLayer(path) : MapLayer(path);
  if (!layer.ok()) return false;
  directory_.Touch(name);
  MutexLock lock(mutex_);
  whole_[name].held = *layer;
  ready_ = *std::move(layer);
  return true;
}

}  // namespace shoal::os
