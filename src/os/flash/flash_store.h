// FlashStore: pipeline::LayerStore on a LayerDirectory. Files are written, hashed and read on a
// thread of its own.
//
// Whole layers are mapped read-only, which the system may drop under memory pressure. Where it has
// huge pages for anonymous memory, and plenty of it, a layer that is opened is copied instead: a
// token reads all weights, and through small pages that takes a fifth longer (ADR 0012).
//
// A chunk is hashed before it is written, and a layer is synced before it is called whole; so the
// file of a whole layer is right unless flash has lost bits since, or somebody has changed it. That
// is found by hashing it again, about a second for a gigabyte: once in every process, when Open is
// asked for a layer before its first use (Find does not find it until then). Bits that go bad after
// that are not noticed.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "os/flash/layer_directory.h"
#include "os/flash/layer_writer.h"
#include "os/loop.h"
#include "os/thread_executor.h"
#include "pipeline/layer_store.h"

namespace shoal::os {

// Made, used and destroyed on its event loop.
class FlashStore final : public pipeline::LayerStore {
 public:
  enum class Check : std::uint8_t {
    kBeforeUse,
    // Find finds layers that were not hashed: on a head, which only gives them to nodes that check
    // every chunk. Open hashes them there, too.
    kByReceivers,
  };

  // `loop` outlives it. Fails if the directory cannot be read.
  static Result<std::unique_ptr<FlashStore>> Make(Loop& loop, LayerDirectory directory,
                                                  Check check);
  // Waits for the chunk that is being read or written. Callbacks that have not come do not come.
  ~FlashStore() override;
  FlashStore(const FlashStore&) = delete;
  FlashStore& operator=(const FlashStore&) = delete;

  // As in pipeline::LayerStore; one layer is open at a time, the last one.
  std::shared_ptr<const pipeline::LayerBytes> Find(const std::string& sha256) override
      SHOAL_EXCLUDES(mutex_);
  std::vector<std::string> Whole() const override SHOAL_EXCLUDES(mutex_);
  void Open(const wire::pb::LayerFile& layer,
            UniqueFunction<void(Result<std::uint32_t>)> done) override;
  void Append(const wire::pb::LayerFile& layer, std::uint32_t chunk, std::vector<std::byte> bytes,
              UniqueFunction<void(Status)> done) override;

 private:
  struct Entry {
    bool usable = false;
    bool right = false;  // It was hashed in this process.
    std::weak_ptr<const pipeline::LayerBytes> held;
  };

  FlashStore(Loop& loop, LayerDirectory directory);
  template <class Answer>
  void Run(UniqueFunction<Answer()> work, UniqueFunction<void(Answer)> done);

  // On the thread.
  Result<std::uint32_t> OpenNow(const wire::pb::LayerFile& layer) SHOAL_EXCLUDES(mutex_);
  Result<bool> CheckWhole(const wire::pb::LayerFile& layer) SHOAL_EXCLUDES(mutex_);
  Status MakeRoom(const wire::pb::LayerFile& layer, std::uint64_t bytes) SHOAL_EXCLUDES(mutex_);
  Status AppendNow(const wire::pb::LayerFile& layer, std::uint32_t chunk,
                   const std::vector<std::byte>& bytes) SHOAL_EXCLUDES(mutex_);
  void SetRight(const std::string& name) SHOAL_EXCLUDES(mutex_);
  bool Hold(const std::string& name) SHOAL_EXCLUDES(mutex_);

  Loop& loop_;
  LayerDirectory directory_;
  std::atomic<bool> stop_ = false;
  std::shared_ptr<void> alive_;  // As ThreadExecutor's.

  mutable Mutex mutex_;
  std::map<std::string, Entry> whole_ SHOAL_GUARDED_BY(mutex_);
  // What was opened last, until somebody finds it.
  std::shared_ptr<const pipeline::LayerBytes> ready_ SHOAL_GUARDED_BY(mutex_);

  std::optional<LayerWriter> writer_;  // Of the layer that is open; the thread's.
  ThreadExecutor thread_;              // Last: it uses everything above.
};

}  // namespace shoal::os
