#include "os/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "os/file.h"

namespace shoal::os {
namespace {

int ToNative(Advice advice) {
  switch (advice) {
    case Advice::kWillNeed:
      return MADV_WILLNEED;
    case Advice::kSequential:
      return MADV_SEQUENTIAL;
    case Advice::kRandom:
      return MADV_RANDOM;
    case Advice::kHugePages:
      return MADV_HUGEPAGE;
  }
  return MADV_NORMAL;
}

}  // namespace

Result<MappedFile> MappedFile::Open(const std::string& path) {
  SHOAL_ASSIGN_OR_RETURN(const File file, File::Open(path));
  if (file.size() == 0) return Status(Code::kInvalidArgument, "empty file: " + path);
  if (file.size() > std::numeric_limits<std::size_t>::max()) {
    return Status(Code::kResourceExhausted, "larger than the address space: " + path);
  }
  const std::size_t size = static_cast<std::size_t>(file.size());
  void* start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd_.get(), 0);
  if (start == MAP_FAILED) return ErrnoStatus(errno, path);
  return MappedFile({static_cast<const std::byte*>(start), size});
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  // munmap wants a pointer to non-const memory although it does not write to it.
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::Advise(Advice advice, std::size_t offset, std::size_t length) const {
  if (offset >= bytes_.size()) return;
  length = std::min(length, bytes_.size() - offset);
  // madvise takes whole pages: 4 KiB here, 16 KiB on newer phones.
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t begin = offset / page * page;
  ::madvise(const_cast<std::byte*>(bytes_.data()) + begin, offset + length - begin,
            ToNative(advice));
}

void DropPages(std::span<const std::byte> part) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(part.data());
  const std::uintptr_t first = (begin + page - 1) / page * page;
  const std::uintptr_t last = (begin + part.size()) / page * page;
  // A read-only mapping of a file has nothing to lose.
  if (first < last) (void)::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace shoal::os
