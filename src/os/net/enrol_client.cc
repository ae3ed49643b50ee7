#include "os/net/enrol_client.h"

#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "os/net/certificates.h"
#include "os/net/endpoint_internal.h"
#include "os/net/http_connection_internal.h"
#include "os/net/tls.h"
#include "wire/enrol.h"
#include "wire/hello.h"

namespace shoal::os {
namespace {

// What a failed connection most likely means.
Status Explain(Status why) {
  if (why.code() == Code::kUnavailable) {
    return {why.code(), std::string(why.message()) +
                            "; is `shoal serve` running there, is this its enrolment port, and are "
                            "not too many devices joining at once?"};
  }
  if (why.code() == Code::kCorruption) {
    return {why.code(), std::string(why.message()) + "; is this the enrolment port of a head?"};
  }
  return why;
}

Status ReadFully(HttpConnection& connection, std::span<std::byte> out) {
  while (!out.empty()) {
    SHOAL_ASSIGN_OR_RETURN(const std::size_t n, connection.Read(out));
    out = out.subspan(n);
  }
  return {};
}

Result<wire::EnrolAnswer> Ask(HttpConnection& connection, const wire::EnrolRequest& request) {
  const std::vector<std::byte> bytes = wire::EncodeEnrolRequest(request);
  SHOAL_RETURN_IF_ERROR(
      connection.Write({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  std::array<std::byte, wire::kEnrolHeaderBytes> header{};
  if (Status read = ReadFully(connection, header); !read.ok()) {
    // Only a door for members wants a certificate of who has none yet.
    if (read.code() != Code::kInvalidArgument) return read;
    return Status(read.code(),
                  "this is the port for members; new devices knock at the enrolment port, which "
                  "`shoal token` prints on the head");
  }
  SHOAL_ASSIGN_OR_RETURN(const std::size_t body_bytes, wire::EnrolAnswerBodyBytes(header));
  std::vector<std::byte> body(body_bytes);
  SHOAL_RETURN_IF_ERROR(ReadFully(connection, body));
  return wire::DecodeEnrolAnswer(body);
}

// The head is to be believed by now, but a mistake of its own should not be kept on disk.
Status CheckFiles(const NodeFiles& files, const wire::AuthorityHash& expected) {
  SHOAL_ASSIGN_OR_RETURN(const wire::AuthorityHash hash, HashOfAuthority(files.authority_pem));
  if (hash != expected) {
    return {Code::kInvalidArgument, "it sent the certificate of another authority"};
  }
  SHOAL_ASSIGN_OR_RETURN(
      const auto identity,
      TlsIdentity::Make(files.authority_pem, files.certificate_pem, files.key_pem));
  if (identity->node() != files.node) {
    return {Code::kInvalidArgument, "it sent the certificate of another node"};
  }
  return {};
}

Result<NodeFiles> EnrolAt(Loop& loop, const boost::asio::ip::tcp::endpoint& endpoint,
                          const EnrolOptions& options) {
  NodeFiles files;
  SHOAL_ASSIGN_OR_RETURN(files.key_pem, MakePrivateKey());
  wire::EnrolRequest request{.secret = options.token.secret,
                             .protocol = wire::kProtocolVersion,
                             .is_64_bit = true,  // Others do not compile: base/check.cc.
                             .public_key_pem = {},
                             .device_name = options.device_name,
                             .program_version = options.program_version};
  SHOAL_ASSIGN_OR_RETURN(request.public_key_pem, PublicKeyOf(files.key_pem));
  SHOAL_ASSIGN_OR_RETURN(
      const std::unique_ptr<HttpConnection> connection,
      HttpConnection::Connect(loop, endpoint, options.connect_max, options.silence_max));
  SHOAL_RETURN_IF_ERROR(connection->Secure(options.token.authority));
  SHOAL_ASSIGN_OR_RETURN(const wire::EnrolAnswer answer, Ask(*connection, request));
  if (answer.verdict != wire::EnrolVerdict::kWelcome) {
    return Status(Code::kInvalidArgument, wire::ExplainVerdict(answer));
  }
  files.node = answer.node;
  files.certificate_pem = answer.certificate_pem;
  files.authority_pem = answer.authority_pem;
  files.heads = {FormatEndpoint({endpoint.address(), answer.cluster_port})};
  SHOAL_RETURN_IF_ERROR(CheckFiles(files, options.token.authority));
  return files;
}

}  // namespace

Result<NodeFiles> Enrol(Loop& loop, const EnrolOptions& options) {
  if (options.device_name.size() > wire::kDeviceNameBytesMax ||
      !wire::IsPlainText(options.device_name)) {
    return Status(Code::kInvalidArgument, "the name of a device is at most 64 bytes of plain text");
  }
  SHOAL_ASSIGN_OR_RETURN(const auto endpoint, ParseEndpoint(options.head));
  Result<NodeFiles> files = EnrolAt(loop, endpoint, options);
  if (files.ok()) return files;
  return Explain(std::move(files).status()).Annotate("head at " + options.head);
}

}  // namespace shoal::os
