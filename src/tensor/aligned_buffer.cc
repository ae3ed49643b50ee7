#include "tensor/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <string>

namespace shoal {
namespace {

// Huge pages are 2 MiB on x86-64 and on arm64 with 4 KiB base pages.
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

}  // namespace

void AlignedBuffer::Free::operator()(std::byte* data) const {
  std::free(data);  // NOLINT(cppcoreguidelines-no-malloc): the pair of posix_memalign
}

Result<AlignedBuffer> AlignedBuffer::Make(std::size_t bytes) {
  AlignedBuffer buffer;
  if (bytes == 0) return buffer;
  const std::size_t alignment = bytes >= kHugePageBytes ? kHugePageBytes : kTensorAlignment;
  void* data = nullptr;
  if (posix_memalign(&data, alignment, bytes) != 0) {
    return Status(Code::kResourceExhausted, "cannot allocate " + std::to_string(bytes) + " bytes");
  }
  buffer.data_.reset(static_cast<std::byte*>(data));
  buffer.size_ = bytes;
  // What is left beyond whole huge pages stays in small ones, so that nothing is wasted. Best
  // effort: kernels without transparent huge pages refuse, and that is fine.
  const std::size_t whole = bytes / kHugePageBytes * kHugePageBytes;
  if (whole > 0) (void)madvise(data, whole, MADV_HUGEPAGE);
  return buffer;
}

}  // namespace shoal
