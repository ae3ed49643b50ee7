#include "os/net/enrol_server.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "os/net/door_internal.h"
#include "os/net/endpoint_internal.h"
#include "os/net/enrol_guest_internal.h"
#include "os/net/strangers_internal.h"
#include "wire/hello.h"

namespace shoal::os {

using boost::asio::ip::tcp;
using wire::EnrolVerdict;

class EnrolServer::Impl final : private EnrolGuestOwner {
 public:
  Impl(Loop& loop, HeadDirectory& directory, Options options)
      : loop_(loop),
        directory_(directory),
        options_(std::move(options)),
        strangers_(loop, "enrolment", options_.log) {}
  ~Impl() override {
    for (auto& [key, guest] : guests_) guest->Close();
  }

  Result<std::string> Listen(const std::string& address);

 private:
  void Receive(tcp::socket socket);
  wire::EnrolAnswer OnRequest(const EnrolGuest& guest,
                              const Result<wire::EnrolRequest>& request) override;
  void OnGone(EnrolGuest& guest, const Status& why) override;

  // The answer without what only members get.
  wire::EnrolAnswer AnswerWith(EnrolVerdict verdict) const;
  // What speaks against a request before its token is looked at.
  EnrolVerdict Judge(const EnrolGuest& guest, const Result<wire::EnrolRequest>& request) const;
  wire::EnrolAnswer Refuse(const EnrolGuest& guest, EnrolVerdict verdict, std::string_view why);
  wire::EnrolAnswer Admit(const EnrolGuest& guest, const wire::EnrolRequest& request);

  Loop& loop_;
  HeadDirectory& directory_;
  Options options_;
  Strangers strangers_;
  std::unordered_map<EnrolGuest*, std::shared_ptr<EnrolGuest>> guests_;
  std::vector<std::unique_ptr<Door>> doors_;  // Last: they call Receive.
};

namespace {

// For the log; what the guest is told is in wire::ExplainVerdict.
std::string_view NameOf(EnrolVerdict verdict) {
  switch (verdict) {
    case EnrolVerdict::kWelcome:
      return "welcome";
    case EnrolVerdict::kUnknownToken:
      return "unknown token";
    case EnrolVerdict::kExpiredToken:
      return "expired token";
    case EnrolVerdict::kUsedToken:
      return "token was used before";
    case EnrolVerdict::kTooManyAttempts:
      return "too many attempts";
    case EnrolVerdict::kWrongProtocol:
      return "its program speaks another version of the protocol";
    case EnrolVerdict::kNot64Bit:
      return "a 32-bit program";
    case EnrolVerdict::kMalformed:
      return "not a request to join";
    case EnrolVerdict::kHeadFailed:
      return "the head failed";
  }
  return "unknown";
}

}  // namespace

Result<std::string> EnrolServer::Impl::Listen(const std::string& address) {
  SHOAL_ASSIGN_OR_RETURN(const auto endpoint, ParseEndpoint(address));
  SHOAL_ASSIGN_OR_RETURN(
      std::unique_ptr<Door> door,
      Door::Open(loop_, endpoint, [this](tcp::socket socket) { Receive(std::move(socket)); }));
  doors_.push_back(std::move(door));
  return FormatEndpoint(doors_.back()->endpoint());
}

void EnrolServer::Impl::Receive(tcp::socket socket) {
  if (guests_.size() >= options_.guests_max) {
    strangers_.Refuse(RemoteAddress(socket), "too many devices at once");
    return;  // Closes it.
  }
  std::shared_ptr<EnrolGuest> guest = EnrolGuest::Receive(
      loop_, std::move(socket), *directory_.identity(), options_.deadline, *this);
  EnrolGuest* key = guest.get();
  guests_.emplace(key, std::move(guest));
}

void EnrolServer::Impl::OnGone(EnrolGuest& guest, const Status& why) {
  if (!why.ok()) strangers_.Refuse(guest.address(), why.message());
  guests_.erase(&guest);
}

wire::EnrolAnswer EnrolServer::Impl::AnswerWith(EnrolVerdict verdict) const {
  return {.verdict = verdict,
          .protocol = wire::kProtocolVersion,
          .program_version = options_.program_version,
          .node = {},
          .cluster_port = 0,
          .certificate_pem = {},
          .authority_pem = {}};
}

wire::EnrolAnswer EnrolServer::Impl::Refuse(const EnrolGuest& guest, EnrolVerdict verdict,
                                            std::string_view why) {
  strangers_.Refuse(guest.address(), why);
  return AnswerWith(verdict);
}

EnrolVerdict EnrolServer::Impl::Judge(const EnrolGuest& guest,
                                      const Result<wire::EnrolRequest>& request) const {
  if (strangers_.Refusals(guest.address()) >= options_.refusals_max) {
    return EnrolVerdict::kTooManyAttempts;
  }
  if (!request.ok()) {
    return request.status().code() == Code::kInvalidArgument ? EnrolVerdict::kWrongProtocol
                                                             : EnrolVerdict::kMalformed;
  }
  if (!request->is_64_bit) return EnrolVerdict::kNot64Bit;
  if (request->protocol != wire::kProtocolVersion) return EnrolVerdict::kWrongProtocol;
  return EnrolVerdict::kWelcome;
}

wire::EnrolAnswer EnrolServer::Impl::OnRequest(const EnrolGuest& guest,
                                               const Result<wire::EnrolRequest>& request) {
  const EnrolVerdict verdict = Judge(guest, request);
  if (verdict == EnrolVerdict::kWelcome) return Admit(guest, *request);
  return Refuse(guest, verdict, NameOf(verdict));
}

wire::EnrolAnswer EnrolServer::Impl::Admit(const EnrolGuest& guest,
                                           const wire::EnrolRequest& request) {
  Result<Admission> admission = directory_.Admit(request, options_.now());
  if (!admission.ok()) {
    return Refuse(guest, EnrolVerdict::kHeadFailed, admission.status().message());
  }
  if (admission->verdict != EnrolVerdict::kWelcome) {
    return Refuse(guest, admission->verdict, NameOf(admission->verdict));
  }
  wire::EnrolAnswer answer = AnswerWith(EnrolVerdict::kWelcome);
  answer.node = admission->node;
  answer.cluster_port = options_.cluster_port;
  answer.certificate_pem = std::move(admission->certificate_pem);
  answer.authority_pem = directory_.authority().certificate_pem;
  if (options_.log) {
    options_.log("enrolment: " + guest.address() + " joined as node " +
                 std::to_string(ToNumber(answer.node)) + " (" + request.device_name + ")");
  }
  return answer;
}

EnrolServer::EnrolServer(Loop& loop, HeadDirectory& directory, Options options)
    : impl_(std::make_unique<Impl>(loop, directory, std::move(options))) {}
EnrolServer::~EnrolServer() = default;

Result<std::string> EnrolServer::Listen(const std::string& address) {
  return impl_->Listen(address);
}

}  // namespace shoal::os
