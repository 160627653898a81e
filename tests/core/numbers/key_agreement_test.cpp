#include "core/numbers/key_agreement.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "core/errors.hpp"

namespace dpmpi::key_agreement_test {
namespace {

SecretKey from_hex(const std::string& digits) { return SecretKey::from_bytes(parse_public_key(digits, "a key")); }

bool same(const SecretKey& a, const SecretKey& b) { return std::ranges::equal(a.bytes(), b.bytes()); }

// RFC 7748, section 6.1.
TEST(KeyAgreement, PublicKeysAreThoseOfTheStandard) {
  EXPECT_EQ(hex_of(public_key_of(from_hex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"))),
            "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
}

TEST(KeyAgreement, BothPartiesHaveOneKeyForAPurposeAndAnotherForTheNext) {
  const SecretKey a = SecretKey::from_system(), b = SecretKey::from_system(), c = SecretKey::from_system();
  const SecretKey ab = agreed_key(a, public_key_of(b), "mask");
  EXPECT_TRUE(same(ab, agreed_key(b, public_key_of(a), "mask")));
  EXPECT_FALSE(same(ab, agreed_key(a, public_key_of(b), "part")));
  EXPECT_FALSE(same(ab, agreed_key(a, public_key_of(c), "mask")));
  EXPECT_FALSE(same(ab, agreed_key(c, public_key_of(b), "mask")));
}

// With it everybody would have the same key.
TEST(KeyAgreement, APointOfLowOrderIsRefused) {
  PublicKey one{};
  EXPECT_THROW(agreed_key(SecretKey::from_system(), one, "mask"), DataError);
  one[0] = 1;
  EXPECT_THROW(agreed_key(SecretKey::from_system(), one, "mask"), DataError);
}

TEST(KeyAgreement, APublicKeyIsSixtyFourDigits) {
  const PublicKey key = public_key_of(SecretKey::from_system());
  EXPECT_EQ(parse_public_key(hex_of(key), "it"), key);
  for (const std::string& wrong : {std::string(), std::string(63, 'a'), std::string(65, 'a'), std::string(64, 'g')})
    EXPECT_THROW(parse_public_key(wrong, "it"), DataError) << wrong;
}

TEST(KeyAgreement, WhatIsSealedOpensUnderItsKeyAndContextAndInNoOtherWay) {
  const SecretKey key = SecretKey::from_system();
  const std::string sealed = seal(key, "the keys of a site", "round 1");
  EXPECT_EQ(sealed.size(), std::string("the keys of a site").size() + seal_bytes);
  EXPECT_EQ(open_sealed(key, sealed, "round 1"), "the keys of a site");
  EXPECT_EQ(open_sealed(key, sealed, "round 2"), "");
  EXPECT_EQ(open_sealed(SecretKey::from_system(), sealed, "round 1"), "");
  EXPECT_EQ(open_sealed(key, "short", "round 1"), "");
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_EQ(open_sealed(key, changed, "round 1"), "") << i;
  }
}

}  // namespace
}  // namespace dpmpi::key_agreement_test
