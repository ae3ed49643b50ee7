#include "wire/enrol.h"

#include <gtest/gtest.h>

#include <set>

#include "wire/hello.h"

namespace shoal::wire {
namespace {

EnrolRequest ExampleRequest() {
  EnrolRequest request{.protocol = kProtocolVersion,
                       .is_64_bit = true,
                       .public_key_pem = "-----BEGIN PUBLIC KEY-----",
                       .device_name = "Küche",
                       .program_version = "0.1.0"};
  request.secret.fill(std::byte{7});
  return request;
}

EnrolAnswer ExampleAnswer() {
  return {.verdict = EnrolVerdict::kWelcome,
          .protocol = kProtocolVersion,
          .program_version = "0.1.0",
          .node = NodeId{7},
          .cluster_port = 7400,
          .certificate_pem = "certificate",
          .authority_pem = "authority"};
}

EnrolHeader HeaderOf(const std::vector<std::byte>& bytes) {
  return EnrolHeader(bytes.data(), kEnrolHeaderBytes);
}

std::span<const std::byte> BodyOf(const std::vector<std::byte>& bytes) {
  return std::span(bytes).subspan(kEnrolHeaderBytes);
}

TEST(Enrol, MessagesComeBack) {
  const auto request = EncodeEnrolRequest(ExampleRequest());
  ASSERT_TRUE(EnrolRequestBodyBytes(HeaderOf(request)).ok());
  EXPECT_EQ(*EnrolRequestBodyBytes(HeaderOf(request)), request.size() - kEnrolHeaderBytes);
  ASSERT_TRUE(DecodeEnrolRequest(BodyOf(request)).ok());
  EXPECT_EQ(*DecodeEnrolRequest(BodyOf(request)), ExampleRequest());

  const auto answer = EncodeEnrolAnswer(ExampleAnswer());
  EXPECT_EQ(*EnrolAnswerBodyBytes(HeaderOf(answer)), answer.size() - kEnrolHeaderBytes);
  ASSERT_TRUE(DecodeEnrolAnswer(BodyOf(answer)).ok());
  EXPECT_EQ(*DecodeEnrolAnswer(BodyOf(answer)), ExampleAnswer());
}

TEST(Enrol, TheLargestMessagesFit) {
  EnrolRequest request = ExampleRequest();
  request.public_key_pem.assign(kPublicKeyBytesMax, 'x');
  request.device_name.assign(kDeviceNameBytesMax, 'x');
  request.program_version.assign(kProgramVersionBytesMax, 'x');
  EXPECT_TRUE(EnrolRequestBodyBytes(HeaderOf(EncodeEnrolRequest(request))).ok());
  EnrolAnswer answer = ExampleAnswer();
  answer.certificate_pem.assign(kCertificateBytesMax, 'x');
  answer.authority_pem.assign(kCertificateBytesMax, 'x');
  EXPECT_TRUE(EnrolAnswerBodyBytes(HeaderOf(EncodeEnrolAnswer(answer))).ok());
}

TEST(Enrol, CutOffAnywhereIsRefused) {
  const auto request = EncodeEnrolRequest(ExampleRequest());
  for (std::size_t size = 0; size < request.size() - kEnrolHeaderBytes; ++size) {
    EXPECT_EQ(DecodeEnrolRequest(BodyOf(request).first(size)).status().code(), Code::kCorruption);
  }
  const auto answer = EncodeEnrolAnswer(ExampleAnswer());
  for (std::size_t size = 0; size < answer.size() - kEnrolHeaderBytes; ++size) {
    EXPECT_EQ(DecodeEnrolAnswer(BodyOf(answer).first(size)).status().code(), Code::kCorruption);
  }
}

TEST(Enrol, MoreThanAMessageIsRefused) {
  auto request = EncodeEnrolRequest(ExampleRequest());
  request.push_back(std::byte{0});
  EXPECT_EQ(DecodeEnrolRequest(BodyOf(request)).status().message(),
            "enrolment: there are bytes after the last field");
}

TEST(Enrol, HeadersAreJudged) {
  auto bytes = EncodeEnrolRequest(ExampleRequest());
  EXPECT_EQ(EnrolAnswerBodyBytes(HeaderOf(bytes)).status().code(), Code::kCorruption);
  bytes[4] = std::byte{9};
  EXPECT_EQ(EnrolRequestBodyBytes(HeaderOf(bytes)).status().message(),
            "enrolment: the other side speaks version 9, this program speaks 1");
  bytes[4] = std::byte{1};
  bytes[6] = bytes[7] = std::byte{0xff};
  EXPECT_EQ(EnrolRequestBodyBytes(HeaderOf(bytes)).status().code(), Code::kCorruption);
}

TEST(Enrol, ANameCannotWriteToATerminal) {
  EnrolRequest request = ExampleRequest();
  for (const char* name : {"\x1b[2J", "a\nb", "\x7f", "\xc2\x9b", "\xff", "\xc3", "\xc0\xaf",
                           "\xed\xa0\x80", "\xe2\x80\xae", "\xf4\x90\x80\x80"}) {
    request.device_name = name;
    EXPECT_EQ(DecodeEnrolRequest(BodyOf(EncodeEnrolRequest(request))).status().message(),
              "enrolment: device_name is not plain text");
  }
  for (const char* name : {"", "Pixel 3a", "Küche", "電話", "📱"}) EXPECT_TRUE(IsPlainText(name));
}

TEST(Enrol, EveryVerdictIsExplainedInALineOfItsOwn) {
  std::set<std::string> lines;
  constexpr int kVerdicts = static_cast<int>(EnrolVerdict::kHeadFailed) + 1;
  for (int verdict = 0; verdict <= kVerdicts; ++verdict) {  // The last is none.
    EnrolAnswer answer = ExampleAnswer();
    answer.verdict = static_cast<EnrolVerdict>(verdict);
    EXPECT_EQ(ExplainVerdict(answer).find('\n'), std::string::npos);
    lines.insert(ExplainVerdict(answer));
  }
  EXPECT_EQ(lines.size(), std::size_t{kVerdicts + 1});
}

}  // namespace
}  // namespace shoal::wire
