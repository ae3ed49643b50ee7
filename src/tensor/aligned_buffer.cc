#include "tensor/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <string>

namespace shoal {
namespace {

// Huge pages are 2 MiB on x86-64 and on arm64 with 4 KiB base pages. Below four of
// them the rounding could waste a fifth of the buffer.
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
constexpr std::size_t kHugeBufferBytesMin = 4 * kHugePageBytes;

}  // namespace

void AlignedBuffer::Free::operator()(std::byte* data) const {
  std::free(data);  // NOLINT(cppcoreguidelines-no-malloc): the pair of aligned_alloc
}

Result<AlignedBuffer> AlignedBuffer::Make(std::size_t bytes) {
  const std::size_t alignment = bytes >= kHugeBufferBytesMin ? kHugePageBytes : kTensorAlignment;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  AlignedBuffer buffer;
  if (bytes == 0) return buffer;
  if (rounded >= bytes) {  // Not overflowed.
    // NOLINTNEXTLINE(cppcoreguidelines-no-malloc): C++'s aligned new cannot fail softly here
    buffer.data_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, rounded)));
  }
  if (buffer.data_ == nullptr) {
    return Status(Code::kResourceExhausted, "cannot allocate " + std::to_string(bytes) + " bytes");
  }
  buffer.size_ = bytes;
  // Best effort: kernels without transparent huge pages refuse, and that is fine.
  if (alignment == kHugePageBytes) (void)madvise(buffer.data(), rounded, MADV_HUGEPAGE);
  return buffer;
}

}  // namespace shoal
