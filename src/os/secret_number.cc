#include "os/secret_number.h"

#include <openssl/rand.h>

#include "base/check.h"
#include "os/net/openssl_internal.h"

namespace shoal::os {

std::uint64_t SecretNumber() {
  InitOpenSsl();
  std::uint64_t number = 0;
  SHOAL_CHECK_EQ(RAND_bytes(reinterpret_cast<unsigned char*>(&number), sizeof(number)), 1);
  return number;
}

}  // namespace shoal::os
