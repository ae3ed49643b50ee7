// KvCache: the keys and values that a stage has computed, in pages of 64 positions for all
// of its layers. A sequence is a list of pages; pages of a common beginning are shared, and copied
// when one of the sequences writes into them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "kernels/kv_rows.h"
#include "tensor/aligned_buffer.h"

namespace shoal::llm {

inline constexpr std::size_t kPagePositions = 64;

struct KvShape {
  std::size_t layers;
  std::size_t kv_heads;
  std::size_t head_dim;
  kernels::KvType type = kernels::KvType::kF16;
  std::size_t row_bytes() const { return kernels::KvRowBytes(type, head_dim); }
  std::size_t head_bytes() const { return kPagePositions * row_bytes(); }
  std::size_t layer_bytes() const { return 2 * kv_heads * head_bytes(); }
  std::size_t page_bytes() const { return layers * layer_bytes(); }
};

class KvCache;

// The pages of one sequence. Gives them back when it ends; must not outlive its cache.
class KvSequence {
 public:
  explicit KvSequence(KvCache& cache) : cache_(&cache) {}
  ~KvSequence();
  KvSequence(KvSequence&& other) noexcept;
  KvSequence& operator=(KvSequence&& other) = delete;

  std::size_t length() const { return length_; }

  // Room for positions up to `length`, all of which may be written from the present length on.
  // kResourceExhausted: the cache is full; nothing has changed.
  Status Grow(std::size_t length);
  // Forgets what comes after.  REQUIRES: length <= length().
  void Shrink(std::size_t length);
  // A sequence with the same first `length` positions. REQUIRES: length <= length().
  KvSequence Share(std::size_t length) const;

  // Where the keys (values) of a head and position begin: row_bytes() of them; later positions of
  // the page follow.
  std::byte* Keys(std::size_t layer, std::size_t head, std::size_t position) const;
  std::byte* Values(std::size_t layer, std::size_t head, std::size_t position) const;

 private:
  friend class KvCache;
  std::byte* At(std::size_t layer, std::size_t part, std::size_t position) const;

  KvCache* cache_;
  std::vector<std::uint32_t> pages_;
  std::size_t length_ = 0;
};

// Not thread-safe. Memory is taken for each page when it is first used.
class KvCache {
 public:
  KvCache(KvShape shape, std::size_t pages_max) : shape_(shape), pages_max_(pages_max) {}
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  const KvShape& shape() const { return shape_; }
  std::size_t pages_used() const { return pages_.size() - free_.size(); }
  std::size_t pages_max() const { return pages_max_; }

  // Forgets all layers but [first, first + count), which are counted from 0 from now on; sequences
  // keep their positions. Takes memory for one page at a time. kResourceExhausted: there is none;
  // nothing is known of any sequence then. REQUIRES: it has these layers.
  Status KeepLayers(std::size_t first, std::size_t count);

 private:
  friend class KvSequence;
  struct Page {
    AlignedBuffer data;
    std::uint32_t users = 0;
  };

  Result<std::uint32_t> Take();
  void GiveBack(std::uint32_t page);

  KvShape shape_;
  std::size_t pages_max_;
  std::vector<Page> pages_;
  std::vector<std::uint32_t> free_;
};

}  // namespace shoal::llm
