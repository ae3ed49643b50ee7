#include "os/net/certificates.h"

#include <gtest/gtest.h>

#include "os/net/tls.h"

namespace shoal::os {
namespace {

// What a node holds after it joined.
struct Node {
  std::string key_pem;
  NodeCertificate certificate;
};

Node Join(const Authority& authority, NodeId id) {
  Node node;
  node.key_pem = *MakePrivateKey();
  node.certificate = *IssueCertificate(authority, id, *PublicKeyOf(node.key_pem));
  return node;
}

TEST(Certificates, NameTheNodeTheyWereIssuedFor) {
  const Authority authority = *MakeAuthority("attic");
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{0}}) {
    const Node node = Join(authority, NodeId{number});
    const Result<NodeId> named = NodeOfCertificate(node.certificate.certificate_pem);
    ASSERT_TRUE(named.ok()) << named.status().ToString();
    EXPECT_EQ(*named, NodeId{number});
    EXPECT_NE(node.certificate.serial, 0U);
    EXPECT_LT(node.certificate.serial, std::uint64_t{1} << 63U);
  }
}

TEST(Certificates, OfTheSameNodeDifferInTheirSerial) {
  const Authority authority = *MakeAuthority("attic");
  EXPECT_NE(Join(authority, NodeId{1}).certificate.serial,
            Join(authority, NodeId{1}).certificate.serial);
}

TEST(Certificates, AnAuthorityIsNotANode) {
  const Authority authority = *MakeAuthority("node-x");
  EXPECT_EQ(NodeOfCertificate(authority.certificate_pem).status().code(), Code::kInvalidArgument);
}

TEST(Certificates, RefuseWhatIsNotPem) {
  const Authority authority = *MakeAuthority("attic");
  const std::string garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  for (const std::string& text : {std::string(), garbage, std::string(1 << 20, 'A')}) {
    EXPECT_EQ(NodeOfCertificate(text).status().code(), Code::kInvalidArgument);
    EXPECT_EQ(PublicKeyOf(text).status().code(), Code::kInvalidArgument);
    EXPECT_EQ(IssueCertificate(authority, NodeId{1}, text).status().code(), Code::kInvalidArgument);
  }
}

TEST(Certificates, AreNotIssuedWithSomebodyElsesKey) {
  const Authority attic = *MakeAuthority("attic");
  const Authority cellar = *MakeAuthority("cellar");
  const std::string public_pem = *PublicKeyOf(*MakePrivateKey());
  const Authority mixed{.certificate_pem = attic.certificate_pem, .key_pem = cellar.key_pem};
  EXPECT_EQ(IssueCertificate(mixed, NodeId{1}, public_pem).status().code(), Code::kInvalidArgument);
}

TEST(TlsIdentity, IsMadeOfPartsThatBelongTogether) {
  const Authority attic = *MakeAuthority("attic");
  const Authority cellar = *MakeAuthority("cellar");
  const Node node = Join(attic, NodeId{7});
  const std::string& pem = node.certificate.certificate_pem;
  const auto identity = TlsIdentity::Make(attic.certificate_pem, pem, node.key_pem);
  ASSERT_TRUE(identity.ok()) << identity.status().ToString();
  EXPECT_EQ((*identity)->node(), NodeId{7});

  EXPECT_EQ(TlsIdentity::Make(cellar.certificate_pem, pem, node.key_pem).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(TlsIdentity::Make(attic.certificate_pem, pem, *MakePrivateKey()).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(TlsIdentity::Make("", pem, node.key_pem).status().code(), Code::kInvalidArgument);
}

TEST(TlsIdentity, DoesNotQuoteAKeyInAMessage) {
  const Authority authority = *MakeAuthority("attic");
  const Node node = Join(authority, NodeId{7});
  const auto identity =
      TlsIdentity::Make(authority.certificate_pem, node.certificate.certificate_pem,
                        node.key_pem.substr(0, node.key_pem.size() / 2));
  ASSERT_FALSE(identity.ok());
  EXPECT_EQ(identity.status().message().find(node.key_pem.substr(40, 20)), std::string::npos);
}

}  // namespace
}  // namespace shoal::os
