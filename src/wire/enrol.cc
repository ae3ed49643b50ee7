#include "wire/enrol.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "wire/hello.h"
#include "wire/little_endian.h"

namespace shoal::wire {
namespace {

using Magic = std::array<char, 4>;
constexpr Magic kRequestMagic = {'S', 'H', 'E', 'Q'};
constexpr Magic kAnswerMagic = {'S', 'H', 'E', 'A'};
constexpr std::size_t kVersionAt = 4;
constexpr std::size_t kBodyBytesAt = 6;

// Appends fields after the header, whose length it fills in at the end.
class Writer {
 public:
  explicit Writer(const Magic& magic) {
    for (const char c : magic) bytes_.push_back(static_cast<std::byte>(c));
    Number(kEnrolVersion, 2);
    Number(0, 2);
  }
  void Number(std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) {
      bytes_.push_back(static_cast<std::byte>(value >> 8U * i & 0xffU));
    }
  }
  void Bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void Text(const std::string& text, std::size_t bytes_max) {
    SHOAL_CHECK(text.size() <= bytes_max);
    Number(text.size(), 2);
    Bytes(std::as_bytes(std::span(text)));
  }
  std::vector<std::byte> Take() && {
    StoreLittleEndian(bytes_.size() - kEnrolHeaderBytes,
                      std::span(bytes_).subspan(kBodyBytesAt, 2));
    return std::move(bytes_);
  }

 private:
  std::vector<std::byte> bytes_;
};

// Takes fields off the front. After the first that is not there, all are empty and
// Finish says which it was.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> Bytes(std::size_t count, const char* field) {
    if (bytes_.size() < count) Fail(std::string(field) + " is cut off");
    if (!wrong_.empty()) return {};
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  std::uint64_t Number(std::size_t width, const char* field) {
    return LoadLittleEndian(Bytes(width, field));
  }
  std::string Text(std::size_t bytes_max, const char* field) {
    const std::uint64_t size = Number(2, field);
    if (size > bytes_max) Fail(std::string(field) + " is too long");
    const auto bytes = Bytes(wrong_.empty() ? static_cast<std::size_t>(size) : 0, field);
    std::string text(bytes.size(), '\0');
    std::transform(bytes.begin(), bytes.end(), text.begin(),
                   [](std::byte byte) { return static_cast<char>(byte); });
    return text;
  }
  std::string PlainText(std::size_t bytes_max, const char* field) {
    std::string text = Text(bytes_max, field);
    if (!IsPlainText(text)) Fail(std::string(field) + " is not plain text");
    return text;
  }
  void Fail(std::string wrong) {
    if (wrong_.empty()) wrong_ = std::move(wrong);
  }
  Status Finish() {
    if (!bytes_.empty()) Fail("there are bytes after the last field");
    if (wrong_.empty()) return {};
    return {Code::kCorruption, "enrolment: " + wrong_};
  }

 private:
  std::span<const std::byte> bytes_;
  std::string wrong_;
};

Result<std::size_t> BodyBytes(EnrolHeader header, const Magic& magic, std::size_t bytes_max) {
  const bool ours =
      std::equal(magic.begin(), magic.end(), header.begin(),
                 [](char want, std::byte got) { return static_cast<std::byte>(want) == got; });
  if (!ours) return Status(Code::kCorruption, "enrolment: this is no shoal program");
  const std::uint64_t version = LoadLittleEndian(header.subspan(kVersionAt, 2));
  if (version != kEnrolVersion) {
    return Status(Code::kInvalidArgument, "enrolment: the other side speaks version " +
                                              std::to_string(version) + ", this program speaks " +
                                              std::to_string(kEnrolVersion));
  }
  const std::uint64_t bytes = LoadLittleEndian(header.subspan(kBodyBytesAt, 2));
  if (bytes > bytes_max) {
    return Status(Code::kCorruption,
                  "enrolment: a message of " + std::to_string(bytes) + " bytes is too long");
  }
  return static_cast<std::size_t>(bytes);
}

}  // namespace

std::vector<std::byte> EncodeEnrolRequest(const EnrolRequest& request) {
  Writer writer(kRequestMagic);
  writer.Bytes(request.secret);
  writer.Number(request.protocol, 2);
  writer.Number(request.is_64_bit ? 1 : 0, 1);
  writer.Text(request.public_key_pem, kPublicKeyBytesMax);
  writer.Text(request.device_name, kDeviceNameBytesMax);
  writer.Text(request.program_version, kProgramVersionBytesMax);
  return std::move(writer).Take();
}

std::vector<std::byte> EncodeEnrolAnswer(const EnrolAnswer& answer) {
  Writer writer(kAnswerMagic);
  writer.Number(static_cast<std::uint64_t>(answer.verdict), 1);
  writer.Number(answer.protocol, 2);
  writer.Text(answer.program_version, kProgramVersionBytesMax);
  writer.Number(ToNumber(answer.node), 8);
  writer.Number(answer.cluster_port, 2);
  writer.Text(answer.certificate_pem, kCertificateBytesMax);
  writer.Text(answer.authority_pem, kCertificateBytesMax);
  return std::move(writer).Take();
}

Result<std::size_t> EnrolRequestBodyBytes(EnrolHeader header) {
  return BodyBytes(header, kRequestMagic, kEnrolRequestBytesMax);
}

Result<std::size_t> EnrolAnswerBodyBytes(EnrolHeader header) {
  return BodyBytes(header, kAnswerMagic, kEnrolAnswerBytesMax);
}

Result<EnrolRequest> DecodeEnrolRequest(std::span<const std::byte> body) {
  Reader reader(body);
  EnrolRequest request;
  const auto secret = reader.Bytes(kJoinSecretBytes, "secret");
  std::copy(secret.begin(), secret.end(), request.secret.begin());
  request.protocol = static_cast<std::uint16_t>(reader.Number(2, "protocol"));
  const std::uint64_t is_64_bit = reader.Number(1, "is_64_bit");
  if (is_64_bit > 1) reader.Fail("is_64_bit is neither 0 nor 1");
  request.is_64_bit = is_64_bit == 1;
  request.public_key_pem = reader.Text(kPublicKeyBytesMax, "public_key");
  request.device_name = reader.PlainText(kDeviceNameBytesMax, "device_name");
  request.program_version = reader.PlainText(kProgramVersionBytesMax, "program_version");
  SHOAL_RETURN_IF_ERROR(reader.Finish());
  return request;
}

Result<EnrolAnswer> DecodeEnrolAnswer(std::span<const std::byte> body) {
  Reader reader(body);
  EnrolAnswer answer;
  const std::uint64_t verdict = reader.Number(1, "verdict");
  if (verdict > static_cast<std::uint64_t>(EnrolVerdict::kHeadFailed)) {
    reader.Fail("verdict is unknown");
  }
  answer.verdict = static_cast<EnrolVerdict>(verdict);
  answer.protocol = static_cast<std::uint16_t>(reader.Number(2, "protocol"));
  answer.program_version = reader.PlainText(kProgramVersionBytesMax, "program_version");
  answer.node = NodeId{reader.Number(8, "node")};
  answer.cluster_port = static_cast<std::uint16_t>(reader.Number(2, "cluster_port"));
  answer.certificate_pem = reader.Text(kCertificateBytesMax, "certificate");
  answer.authority_pem = reader.Text(kCertificateBytesMax, "authority");
  SHOAL_RETURN_IF_ERROR(reader.Finish());
  return answer;
}

std::string ExplainVerdict(const EnrolAnswer& answer) {
  switch (answer.verdict) {
    case EnrolVerdict::kWelcome:
      return "welcome";
    case EnrolVerdict::kUnknownToken:
      return "the head does not know this join token; make a new one there with `shoal token`";
    case EnrolVerdict::kExpiredToken:
      return "this join token has expired; make a new one on the head with `shoal token`";
    case EnrolVerdict::kUsedToken:
      return "this join token was used before; make a new one on the head with `shoal token`, "
             "--uses N lets N devices join";
    case EnrolVerdict::kTooManyAttempts:
      return "too many join tokens from this address were refused; wait a minute, then try again";
    case EnrolVerdict::kWrongProtocol:
      return "the head runs shoal " + answer.program_version + " (protocol " +
             std::to_string(answer.protocol) + "), this program speaks protocol " +
             std::to_string(kProtocolVersion) + "; put the same version on both";
    case EnrolVerdict::kNot64Bit:
      return "this is a 32-bit program, and a cluster needs 64-bit devices";
    case EnrolVerdict::kMalformed:
      return "the head did not understand the request; put the same version of shoal on both";
    case EnrolVerdict::kHeadFailed:
      return "the head could not write down the new member; its log says why";
  }
  return "the head gave a reason that this program does not know";
}

}  // namespace shoal::wire
