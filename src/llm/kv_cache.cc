#include "llm/kv_cache.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"

namespace shoal::llm {

KvSequence::~KvSequence() {
  for (const std::uint32_t page : pages_) cache_->GiveBack(page);
}

KvSequence::KvSequence(KvSequence&& other) noexcept
    : cache_(other.cache_),
      pages_(std::exchange(other.pages_, {})),
      length_(std::exchange(other.length_, 0)) {}

Status KvSequence::Grow(std::size_t length) {
  const std::size_t wanted = (length + kPagePositions - 1) / kPagePositions;
  const std::size_t had = pages_.size();
  // What is written into next may belong to others, too.
  const bool copy = length > length_ && length_ % kPagePositions != 0 &&
                    cache_->pages_[pages_[length_ / kPagePositions]].users > 1;
  std::uint32_t own = 0;
  if (copy) {
    SHOAL_ASSIGN_OR_RETURN(own, cache_->Take());
  }
  while (pages_.size() < wanted) {
    const Result<std::uint32_t> page = cache_->Take();
    if (!page.ok()) {
      while (pages_.size() > had) {
        cache_->GiveBack(pages_.back());
        pages_.pop_back();
      }
      if (copy) cache_->GiveBack(own);
      return page.status();
    }
    pages_.push_back(*page);
  }
  if (copy) {
    std::uint32_t& shared = pages_[length_ / kPagePositions];
    std::memcpy(cache_->pages_[own].data.data(), cache_->pages_[shared].data.data(),
                cache_->shape_.page_bytes());
    cache_->GiveBack(shared);
    shared = own;
  }
  length_ = std::max(length_, length);
  return {};
}

void KvSequence::Shrink(std::size_t length) {
  SHOAL_CHECK_LE(length, length_);
  const std::size_t kept = (length + kPagePositions - 1) / kPagePositions;
  while (pages_.size() > kept) {
    cache_->GiveBack(pages_.back());
    pages_.pop_back();
  }
  length_ = length;
}

KvSequence KvSequence::Share(std::size_t length) const {
  SHOAL_CHECK_LE(length, length_);
  KvSequence other(*cache_);
  const std::size_t shared = (length + kPagePositions - 1) / kPagePositions;
  for (std::size_t i = 0; i < shared; ++i) {
    ++cache_->pages_[pages_[i]].users;
    other.pages_.push_back(pages_[i]);
  }
  other.length_ = length;
  return other;
}

std::byte* KvSequence::At(std::size_t layer, std::size_t part, std::size_t position) const {
  const KvShape& shape = cache_->shape_;
  KvCache::Page& page = cache_->pages_[pages_[position / kPagePositions]];
  return page.data.data() + layer * shape.layer_bytes() + part * shape.head_bytes() +
         position % kPagePositions * shape.row_bytes();
}

std::byte* KvSequence::Keys(std::size_t layer, std::size_t head, std::size_t position) const {
  return At(layer, head, position);
}

std::byte* KvSequence::Values(std::size_t layer, std::size_t head, std::size_t position) const {
  return At(layer, cache_->shape_.kv_heads + head, position);
}

Status KvCache::KeepLayers(std::size_t first, std::size_t count) {
  SHOAL_CHECK(first <= shape_.layers && count <= shape_.layers - first);
  KvShape kept = shape_;
  kept.layers = count;
  for (Page& page : pages_) {
    SHOAL_ASSIGN_OR_RETURN(AlignedBuffer data, AlignedBuffer::Make(kept.page_bytes()));
    // Those that nobody uses only change their size.
    if (page.users > 0) {
      std::memcpy(data.data(), page.data.data() + first * shape_.layer_bytes(), kept.page_bytes());
    }
    page.data = std::move(data);
  }
  shape_ = kept;
  return {};
}

Result<std::uint32_t> KvCache::Take() {
  if (!free_.empty()) {
    const std::uint32_t page = free_.back();
    free_.pop_back();
    pages_[page].users = 1;
    return page;
  }
  if (pages_.size() >= pages_max_) {
    return Status(Code::kResourceExhausted,
                  "the KV cache is full: all of its " + std::to_string(pages_max_) + " pages of " +
                      std::to_string(kPagePositions) + " positions are in use");
  }
  SHOAL_ASSIGN_OR_RETURN(AlignedBuffer data, AlignedBuffer::Make(shape_.page_bytes()));
  pages_.push_back({std::move(data), 1});
  return static_cast<std::uint32_t>(pages_.size() - 1);
}

void KvCache::GiveBack(std::uint32_t page) {
  if (--pages_[page].users == 0) free_.push_back(page);
}

}  // namespace shoal::llm
