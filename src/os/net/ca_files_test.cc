#include "os/net/ca_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "os/net/ca_files_internal.h"
#include "os/net/certificates.h"
#include "os/net/openssl_internal.h"

namespace shoal::os {
namespace {

const std::string kBroken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

class CaFilesTest : public testing::Test {
 protected:
  CaFilesTest() { std::filesystem::create_directories(directory_ + "/empty"); }
  ~CaFilesTest() override { std::filesystem::remove_all(directory_); }

  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ + "/" + name) << text;
    return directory_ + "/" + name;
  }
  static int CountOf(const CaCertificates& certificates) {
    X509_STORE* store = SSL_CTX_get_cert_store(CaInternals::Context(certificates));
    return sk_X509_OBJECT_num(X509_STORE_get0_objects(store));
  }

  const std::string directory_ = testing::TempDir() + "ca_" +
                                 testing::UnitTest::GetInstance()->current_test_info()->name() +
                                 std::to_string(::getpid());
  const std::string first_ = MakeAuthority("first")->certificate_pem;
  const std::string second_ = MakeAuthority("second")->certificate_pem;
};

TEST_F(CaFilesTest, ReadsABundleWithTextBetween) {
  const auto loaded = CaCertificates::Load(
      Write("bundle.pem", "# First\n" + first_ + kBroken + "\nSecond\n" + second_ + "rubbish"));
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  EXPECT_EQ(CountOf(**loaded), 2);
}

TEST_F(CaFilesTest, ReadsAndroidsFolder) {
  Write("5ed36f99.0", first_ + "Certificate:\n    Data:\n");
  Write("ff34af3f.1", second_);
  Write("readme", "not a certificate");
  const auto loaded = CaCertificates::Load(directory_);
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  EXPECT_EQ(CountOf(**loaded), 2);
}

TEST_F(CaFilesTest, TakesTheFirstPathThatHasSome) {
  const std::string broken = Write("broken.pem", kBroken);
  const std::string good = Write("good.pem", first_);
  EXPECT_TRUE(CaCertificates::LoadFirst({directory_ + "/none", broken, good}).ok());
  const auto none = CaCertificates::LoadFirst({broken, directory_ + "/empty", "/nowhere"});
  EXPECT_EQ(none.status().code(), Code::kNotFound);
  EXPECT_EQ(none.status().message(),
            "no certificates of authorities in " + broken + ", " + directory_ + "/empty, /nowhere");
}

TEST(CaPathsTest, TheUsersOwnComeFirst) {
  const auto paths = CaPaths("/my.pem", "/data/usr");
  ASSERT_GT(paths.size(), 3U);
  EXPECT_EQ(paths[0], "/my.pem");
  EXPECT_EQ(paths[1], "/data/usr/etc/tls/cert.pem");
  EXPECT_EQ(CaPaths("", "").front(), "/etc/ssl/certs/ca-certificates.crt");
  EXPECT_EQ(CaPaths("", "").back(), "/system/etc/security/cacerts");
}

}  // namespace
}  // namespace shoal::os
