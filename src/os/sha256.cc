#include "os/sha256.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/check.h"
#include "os/net/openssl_internal.h"

namespace shoal::os {

struct Sha256::Impl {
  void Begin() const { SHOAL_CHECK(EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1); }
  OpenSslPtr<EVP_MD_CTX, EVP_MD_CTX_free> context{EVP_MD_CTX_new()};
};

Sha256::Sha256() {
  InitOpenSsl();
  impl_ = std::make_unique<Impl>();
  SHOAL_CHECK(impl_->context != nullptr);
  impl_->Begin();
}
Sha256::Sha256(Sha256&& other) noexcept = default;
Sha256& Sha256::operator=(Sha256&& other) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::Update(std::span<const std::byte> bytes) {
  SHOAL_CHECK(EVP_DigestUpdate(impl_->context.get(), bytes.data(), bytes.size()) == 1);
}

std::string Sha256::Finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  SHOAL_CHECK(EVP_DigestFinal_ex(impl_->context.get(), digest.data(), &size) == 1);
  impl_->Begin();
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    text += kDigits[digest[i] >> 4U];
    text += kDigits[digest[i] & 15U];
  }
  return text;
}

bool IsSha256(const std::string& text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(),
                                          [](unsigned char c) { return std::isxdigit(c) != 0; });
}

}  // namespace shoal::os
