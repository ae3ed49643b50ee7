#include "os/net/dns_message.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>

namespace shoal::os {
namespace {

constexpr std::size_t kHeaderBytes = 12;
constexpr std::size_t kNameBytesMax = 255;  // RFC 1035, 2.3.4.
constexpr std::size_t kLabelBytesMax = 63;
constexpr std::uint16_t kClassInternet = 1;
constexpr std::uint16_t kTypeAlias = 5;  // CNAME.
constexpr int kAliasesMax = 16;

// Bits of the header's second word.
constexpr std::uint16_t kIsAnswer = 0x8000;
constexpr std::uint16_t kOpcode = 0x7800;
constexpr std::uint16_t kCutShort = 0x0200;
constexpr std::uint16_t kWantRecursion = 0x0100;
constexpr std::uint16_t kOutcome = 0x000f;
constexpr std::uint16_t kNoSuchName = 3;

Status Corrupt(const char* what) { return {Code::kCorruption, std::string("DNS answer: ") + what}; }

void Put16(std::vector<std::byte>& out, std::uint16_t number) {
  out.push_back(static_cast<std::byte>(number >> 8U));
  out.push_back(static_cast<std::byte>(number & 0xffU));
}

std::string Canonical(std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

// Reads from the front of a message; nothing after the first failure.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> message) : message_(message) {}

  std::optional<std::uint16_t> Number16() {
    const auto bytes = Take(2);
    if (!bytes) return std::nullopt;
    return static_cast<std::uint16_t>(std::to_integer<unsigned>((*bytes)[0]) << 8U |
                                      std::to_integer<unsigned>((*bytes)[1]));
  }

  std::optional<std::span<const std::byte>> Take(std::size_t count) {
    if (count > message_.size() - at_) return std::nullopt;
    const auto bytes = message_.subspan(at_, count);
    at_ += count;
    return bytes;
  }

  // Lower case, without a final dot. A pointer may only lead to the front of where the name
  // (or the pointer before) begins, so that following them comes to an end.
  std::optional<std::string> Name() {
    std::string name;
    std::size_t at = at_;
    std::size_t before = at_;
    bool jumped = false;
    for (;;) {
      if (at >= message_.size()) return std::nullopt;
      const auto size = std::to_integer<std::size_t>(message_[at]);
      if (size == 0) break;
      if ((size & 0xc0U) == 0xc0U) {
        if (at + 1 >= message_.size()) return std::nullopt;
        const std::size_t to =
            (size & 0x3fU) << 8U | std::to_integer<std::size_t>(message_[at + 1]);
        if (to >= before) return std::nullopt;
        if (!jumped) at_ = at + 2;
        jumped = true;
        at = before = to;
        continue;
      }
      if (size > kLabelBytesMax || size >= message_.size() - at) return std::nullopt;
      if (!name.empty()) name += '.';
      for (const std::byte c : message_.subspan(at + 1, size)) {
        name += static_cast<char>(std::tolower(std::to_integer<int>(c)));
      }
      if (name.size() > kNameBytesMax) return std::nullopt;
      at += size + 1;
    }
    if (!jumped) at_ = at + 1;
    return name;
  }

  std::size_t at() const { return at_; }
  void Seek(std::size_t at) { at_ = at; }

 private:
  std::span<const std::byte> message_;
  std::size_t at_ = 0;
};

struct Record {
  std::string owner;
  std::uint16_t type = 0;
  std::string alias;  // If type is kTypeAlias.
  DnsAddress address;
};

// Nothing: the message ends, or is wrong, here.
std::optional<Record> ReadRecord(Reader& reader) {
  Record record;
  auto owner = reader.Name();
  if (!owner) return std::nullopt;
  record.owner = *std::move(owner);
  const auto type = reader.Number16();
  const auto record_class = reader.Number16();
  const auto time_to_live = reader.Take(4);  // Nothing is kept between runs.
  const auto size = reader.Number16();
  if (!type || !record_class || !time_to_live || !size) return std::nullopt;
  const std::size_t begin = reader.at();
  const auto data = reader.Take(*size);
  if (!data) return std::nullopt;
  if (*record_class != kClassInternet) return record;  // Of type 0: means nothing to us.
  if (*type == kTypeAlias) {
    reader.Seek(begin);
    auto alias = reader.Name();
    if (!alias || reader.at() != begin + *size) return std::nullopt;
    record.alias = *std::move(alias);
  } else if ((*type == static_cast<std::uint16_t>(DnsType::kA) && *size == 4) ||
             (*type == static_cast<std::uint16_t>(DnsType::kAaaa) && *size == 16)) {
    record.address.v6 = *size == 16;
    std::transform(data->begin(), data->end(), record.address.bytes.begin(),
                   [](std::byte b) { return std::to_integer<std::uint8_t>(b); });
  } else {
    return record;
  }
  record.type = *type;
  return record;
}

// The addresses of `name` among the records, by way of its aliases.
std::vector<DnsAddress> AddressesOf(std::string name, DnsType type,
                                    const std::vector<Record>& records) {
  std::vector<DnsAddress> addresses;
  for (int i = 0; i < kAliasesMax; ++i) {
    const Record* alias = nullptr;
    for (const Record& record : records) {
      if (record.owner != name) continue;
      if (record.type == static_cast<std::uint16_t>(type)) addresses.push_back(record.address);
      if (record.type == kTypeAlias) alias = &record;
    }
    if (!addresses.empty() || alias == nullptr) break;
    name = alias->alias;
  }
  return addresses;
}

}  // namespace

Result<std::vector<std::byte>> EncodeDnsQuery(const DnsQuestion& question) {
  const Status wrong(Code::kInvalidArgument, "\"" + question.name + "\" is not the name of a host");
  std::vector<std::byte> query;
  Put16(query, question.id);
  Put16(query, kWantRecursion);
  Put16(query, 1);  // One question; no answers, authorities or additions.
  for (int i = 0; i < 3; ++i) Put16(query, 0);
  std::string_view rest = question.name;
  if (rest.ends_with('.')) rest.remove_suffix(1);
  if (rest.empty() || rest.size() > kNameBytesMax - 2) return wrong;
  while (!rest.empty()) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    if (dot == 0 || dot > kLabelBytesMax || dot + 1 == rest.size()) return wrong;
    query.push_back(static_cast<std::byte>(dot));
    for (const char c : rest.substr(0, dot)) query.push_back(static_cast<std::byte>(c));
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  query.push_back(std::byte{0});
  Put16(query, static_cast<std::uint16_t>(question.type));
  Put16(query, kClassInternet);
  return query;
}

Result<std::vector<DnsAddress>> ParseDnsAnswer(std::span<const std::byte> message,
                                               const DnsQuestion& question) {
  if (message.size() < kHeaderBytes) return Corrupt("too short");
  Reader reader(message);
  const std::uint16_t id = *reader.Number16();
  const std::uint16_t flags = *reader.Number16();
  const std::uint16_t questions = *reader.Number16();
  const std::uint16_t answers = *reader.Number16();
  (void)reader.Take(4);  // How many authorities and additions follow; they are not read.
  if (id != question.id || (flags & kIsAnswer) == 0 || (flags & kOpcode) != 0) {
    return Corrupt("to another query");
  }
  const auto name = questions == 1 ? reader.Name() : std::nullopt;
  const auto type = reader.Number16();
  const auto question_class = reader.Number16();
  if (!name || *name != Canonical(question.name) || !type ||
      *type != static_cast<std::uint16_t>(question.type) || !question_class ||
      *question_class != kClassInternet) {
    return Corrupt("to another question");
  }
  const unsigned outcome = flags & kOutcome;
  if (outcome == kNoSuchName) {
    return Status(Code::kNotFound, "there is no host called " + question.name);
  }
  if (outcome != 0) {
    return Status(Code::kUnavailable, "the DNS server answers with error " +
                                          std::to_string(outcome) + " for " + question.name);
  }
  std::vector<Record> records;
  for (unsigned i = 0; i < answers; ++i) {
    auto record = ReadRecord(reader);
    if (!record && (flags & kCutShort) != 0) break;
    if (!record) return Corrupt("a broken record");
    records.push_back(*std::move(record));
  }
  return AddressesOf(Canonical(question.name), question.type, records);
}

}  // namespace shoal::os
