#include "os/flash/record_file.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "base/hash.h"
#include "data/datum.h"
#include "os/flash/layer_name.h"
#include "wire/little_endian.h"

namespace shoal::os {
namespace {

constexpr std::string_view kMagic = "shoalrec";
constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kHashBytes = 32;
constexpr std::size_t kHeaderBytes = 8 + kHashBytes + 2 * kWord;
constexpr std::size_t kEntryBytes = 4 * kWord;

using EntryHead = std::array<std::byte, kEntryBytes>;

std::uint64_t SumOf(std::span<const std::byte> bytes) {
  Fingerprint sum;
  sum.AddBytes(bytes);
  return sum.value();
}

void StoreWord(std::size_t word, std::uint64_t value, std::span<std::byte> out) {
  wire::StoreLittleEndian(value, out.subspan(word * kWord, kWord));
}

std::uint64_t LoadWord(std::size_t word, std::span<const std::byte> in) {
  return wire::LoadLittleEndian(in.subspan(word * kWord, kWord));
}

std::vector<std::byte> HeaderOf(const RecordFile::Options& options) {
  const std::string text = std::string(kMagic) + HashOf(options.id);
  std::vector<std::byte> header(kHeaderBytes);
  std::ranges::copy(std::as_bytes(std::span(text)), header.begin());
  const std::size_t words = text.size() / kWord;
  StoreWord(words, static_cast<std::uint64_t>(options.records), header);
  StoreWord(words + 1, SumOf(std::span(header).first(kHeaderBytes - kWord)), header);
  return header;
}

EntryHead HeadOf(std::int64_t index, std::span<const std::byte> datum) {
  EntryHead head;
  StoreWord(0, static_cast<std::uint64_t>(index), head);
  StoreWord(1, datum.size(), head);
  StoreWord(2, SumOf(datum), head);
  StoreWord(3, SumOf(std::span(head).first<3 * kWord>()), head);
  return head;
}

bool BeginsWith(const File& file, std::span<const std::byte> header) {
  std::vector<std::byte> there(header.size());
  return file.ReadAt(0, there).ok() && std::ranges::equal(there, header);
}

// How large the file may become, with what it has now.
Result<std::uint64_t> BytesMax(const RecordFile::Options& options, std::uint64_t now) {
  SHOAL_ASSIGN_OR_RETURN(const std::uint64_t free, FreeSpace(options.directory));
  const std::uint64_t more = free - std::min(free, RecordFile::kKeptFree);
  return std::min(options.flash_bytes, now + more);
}

}  // namespace

Result<std::unique_ptr<RecordFile>> RecordFile::Open(const Options& options) {
  if (options.records < 1) return Status(Code::kInvalidArgument, "a data set without records");
  const std::string path = options.directory + "/" + ToHex(HashOf(options.id)) + ".records";
  SHOAL_ASSIGN_OR_RETURN(ResumableFile writer, ResumableFile::Open(path));
  SHOAL_ASSIGN_OR_RETURN(File reader, File::Open(path));
  const std::vector<std::byte> header = HeaderOf(options);
  Entries entries;
  if (BeginsWith(reader, header)) {
    entries = Scan(reader, std::min(reader.size(), options.flash_bytes), options.records);
    std::uint64_t end = header.size();
    for (const auto& [index, entry] : entries) end = std::max(end, entry.offset + entry.length);
    SHOAL_RETURN_IF_ERROR(writer.CutTo(end));
  } else {
    SHOAL_RETURN_IF_ERROR(writer.Clear());
    SHOAL_RETURN_IF_ERROR(writer.Append(header));
  }
  SHOAL_ASSIGN_OR_RETURN(const std::uint64_t bytes_max, BytesMax(options, writer.size()));
  return std::unique_ptr<RecordFile>(
      new RecordFile(options, std::move(writer), std::move(reader), bytes_max, std::move(entries)));
}

RecordFile::Entries RecordFile::Scan(const File& file, std::uint64_t end, std::int64_t records) {
  Entries entries;
  std::uint64_t offset = kHeaderBytes;
  while (offset + kEntryBytes <= end) {
    EntryHead head;
    if (!file.ReadAt(offset, head).ok()) break;
    if (LoadWord(3, head) != SumOf(std::span(head).first<3 * kWord>())) break;
    const std::uint64_t index = LoadWord(0, head), length = LoadWord(1, head);
    offset += kEntryBytes;
    if (index >= static_cast<std::uint64_t>(records) || length > end - offset) break;
    if (length > static_cast<std::uint64_t>(data::kDatumBytesMax)) break;
    // A later one replaces an earlier one, which was damaged.
    entries[static_cast<std::int64_t>(index)] = {offset, length, LoadWord(2, head), false};
    offset += length;
  }
  return entries;
}

Result<std::vector<std::byte>> RecordFile::Fetch(std::int64_t index) const {
  Entry entry;
  {
    const MutexLock lock(mutex_);
    const auto found = entries_.find(index);
    if (found == entries_.end()) return train::RecordNotHere(index);
    entry = found->second;
  }
  std::vector<std::byte> bytes(entry.length);
  const bool right = reader_.ReadAt(entry.offset, bytes).ok() && SumOf(bytes) == entry.sum;
  const MutexLock lock(mutex_);
  const auto found = entries_.find(index);
  // Another thread may have dropped it, and it may have come again.
  const bool same = found != entries_.end() && found->second.offset == entry.offset;
  if (right && same) found->second.checked = true;
  if (right) return bytes;
  if (same) entries_.erase(found);
  return train::RecordNotHere(index);
}

bool RecordFile::Has(std::int64_t index) const {
  {
    const MutexLock lock(mutex_);
    const auto found = entries_.find(index);
    if (found != entries_.end() && found->second.checked) return true;
  }
  return memory_.Has(index) || Fetch(index).ok();
}

Status RecordFile::Read(std::int64_t index, data::Record& out) const {
  const Result<std::vector<std::byte>> bytes = Fetch(index);
  if (!bytes.ok()) return memory_.Read(index, out);
  return train::DecodeRecord(index, *bytes, colors_, out);
}

Status RecordFile::Put(std::int64_t index, std::span<const std::byte> datum) {
  SHOAL_RETURN_IF_ERROR(train::CheckRecord(size(), index, datum));
  if (Has(index)) return {};
  Status written;
  {
    const MutexLock lock(mutex_);
    const bool room = !broken_ && writer_.size() <= bytes_max_ &&
                      datum.size() + kEntryBytes <= bytes_max_ - writer_.size();
    if (room) {
      written = Append(index, datum);
      if (written.ok()) return {};
      broken_ = true;
    }
  }
  SHOAL_RETURN_IF_ERROR(memory_.Put(index, datum));
  return written;
}

Status RecordFile::Append(std::int64_t index, std::span<const std::byte> datum) {
  const EntryHead head = HeadOf(index, datum);
  const std::uint64_t begin = writer_.size();
  Status status = writer_.Append(head);
  if (status.ok()) status = writer_.Append(datum);
  if (!status.ok()) {
    // If this fails too, what is torn is cut off when the file is opened again.
    (void)writer_.CutTo(begin);
    return status;
  }
  // It need not be read for Has: it has just been here.
  entries_[index] = {begin + kEntryBytes, datum.size(), LoadWord(2, head), true};
  return {};
}

std::vector<std::int64_t> RecordFile::Present() const {
  std::vector<std::int64_t> present = memory_.Present();
  {
    const MutexLock lock(mutex_);
    for (const auto& [index, entry] : entries_) present.push_back(index);
  }
  std::sort(present.begin(), present.end());
  present.erase(std::unique(present.begin(), present.end()), present.end());
  return present;
}

}  // namespace shoal::os
