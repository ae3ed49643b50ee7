#include "shoal/door_adapter.h"

#include <memory>
#include <utility>

namespace shoal {
namespace {

class ServerResponder final : public api::Responder {
 public:
  explicit ServerResponder(std::unique_ptr<os::HttpResponder> responder)
      : responder_(std::move(responder)) {}

  void Reply(int status, const api::Headers& headers, std::string_view body) override {
    responder_->Reply(status, headers, body);
  }
  void Begin(int status, const api::Headers& headers) override {
    responder_->Begin(status, headers);
  }
  void Write(std::string_view bytes) override { responder_->Write(bytes); }
  void End() override { responder_->End(); }
  void OnGone(UniqueFunction<void()> task) override { responder_->OnGone(std::move(task)); }

 private:
  std::unique_ptr<os::HttpResponder> responder_;
};

}  // namespace

os::HttpServer::Handler HandlerOf(api::Door& door) {
  return [&door](os::HttpServerRequest request, std::unique_ptr<os::HttpResponder> responder) {
    door.Handle({.method = std::move(request.method),
                 .target = std::move(request.target),
                 .headers = std::move(request.headers),
                 .body = std::move(request.body)},
                std::make_unique<ServerResponder>(std::move(responder)));
  };
}

}  // namespace shoal
