#include "transport/sealed/sealed.hpp"

#include <dlfcn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/format.hpp"
#include "base/library_function.hpp"
#include "weft/error.hpp"

namespace weft {

namespace {

constexpr std::size_t key_bytes = 16;
constexpr std::size_t salt_bytes = 4;
constexpr std::size_t nonce_bytes = 12;
constexpr std::size_t secret_bytes = 32;
// Of one direction: the key of AES, and the first bytes of all its nonces.
constexpr std::size_t direction_bytes = key_bytes + salt_bytes;

// The functions of libcrypto that are called. It is in a context of its own, so that neither sees what the program does
// with OpenSSL, nor the program what weft does.
struct crypto_library {
  decltype(&::OPENSSL_init_crypto) init_crypto;
  decltype(&::OSSL_LIB_CTX_new) lib_ctx_new;
  decltype(&::EVP_PKEY_Q_keygen) pkey_q_keygen;
  decltype(&::EVP_PKEY_free) pkey_free;
  decltype(&::EVP_PKEY_get_raw_public_key) pkey_get_raw_public_key;
  decltype(&::EVP_PKEY_new_raw_public_key_ex) pkey_new_raw_public_key_ex;
  decltype(&::EVP_PKEY_CTX_new_from_pkey) pkey_ctx_new_from_pkey;
  decltype(&::EVP_PKEY_CTX_free) pkey_ctx_free;
  decltype(&::EVP_PKEY_derive_init) pkey_derive_init;
  decltype(&::EVP_PKEY_derive_set_peer) pkey_derive_set_peer;
  decltype(&::EVP_PKEY_derive) pkey_derive;
  decltype(&::EVP_KDF_fetch) kdf_fetch;
  decltype(&::EVP_KDF_CTX_new) kdf_ctx_new;
  decltype(&::EVP_KDF_CTX_free) kdf_ctx_free;
  decltype(&::EVP_KDF_derive) kdf_derive;
  decltype(&::EVP_CIPHER_fetch) cipher_fetch;
  decltype(&::EVP_CIPHER_CTX_new) cipher_ctx_new;
  decltype(&::EVP_CIPHER_CTX_free) cipher_ctx_free;
  decltype(&::EVP_CIPHER_CTX_ctrl) cipher_ctx_ctrl;
  decltype(&::EVP_CipherInit_ex) cipher_init_ex;
  decltype(&::EVP_CipherUpdate) cipher_update;
  decltype(&::EVP_CipherFinal_ex) cipher_final_ex;
  decltype(&::OPENSSL_cleanse) cleanse;

  OSSL_LIB_CTX* context;
  EVP_KDF* hkdf;
  EVP_CIPHER* aes_gcm;
};

crypto_library load_library() {
  constexpr const char* name = "libcrypto.so.3";
  void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);  // Never closed: threads use it.
  if (handle == nullptr)
    throw error(formatted(
        "messages over this network are authenticated by {}, which cannot be loaded ({}): install OpenSSL "
        "(Debian: libssl3), or let everybody who reaches the network read and change them: --secure off",
        name, ::dlerror()));
  crypto_library all{};
  find_function(handle, name, "OPENSSL_init_crypto", all.init_crypto);
  find_function(handle, name, "OSSL_LIB_CTX_new", all.lib_ctx_new);
  find_function(handle, name, "EVP_PKEY_Q_keygen", all.pkey_q_keygen);
  find_function(handle, name, "EVP_PKEY_free", all.pkey_free);
  find_function(handle, name, "EVP_PKEY_get_raw_public_key", all.pkey_get_raw_public_key);
  find_function(handle, name, "EVP_PKEY_new_raw_public_key_ex", all.pkey_new_raw_public_key_ex);
  find_function(handle, name, "EVP_PKEY_CTX_new_from_pkey", all.pkey_ctx_new_from_pkey);
  find_function(handle, name, "EVP_PKEY_CTX_free", all.pkey_ctx_free);
  find_function(handle, name, "EVP_PKEY_derive_init", all.pkey_derive_init);
  find_function(handle, name, "EVP_PKEY_derive_set_peer", all.pkey_derive_set_peer);
  find_function(handle, name, "EVP_PKEY_derive", all.pkey_derive);
  find_function(handle, name, "EVP_KDF_fetch", all.kdf_fetch);
  find_function(handle, name, "EVP_KDF_CTX_new", all.kdf_ctx_new);
  find_function(handle, name, "EVP_KDF_CTX_free", all.kdf_ctx_free);
  find_function(handle, name, "EVP_KDF_derive", all.kdf_derive);
  find_function(handle, name, "EVP_CIPHER_fetch", all.cipher_fetch);
  find_function(handle, name, "EVP_CIPHER_CTX_new", all.cipher_ctx_new);
  find_function(handle, name, "EVP_CIPHER_CTX_free", all.cipher_ctx_free);
  find_function(handle, name, "EVP_CIPHER_CTX_ctrl", all.cipher_ctx_ctrl);
  find_function(handle, name, "EVP_CipherInit_ex", all.cipher_init_ex);
  find_function(handle, name, "EVP_CipherUpdate", all.cipher_update);
  find_function(handle, name, "EVP_CipherFinal_ex", all.cipher_final_ex);
  find_function(handle, name, "OPENSSL_cleanse", all.cleanse);
  // At exit it would free what threads of weft may still use.
  all.init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
  all.context = all.lib_ctx_new();
  all.hkdf = all.kdf_fetch(all.context, "HKDF", nullptr);
  all.aes_gcm = all.cipher_fetch(all.context, "AES-128-GCM", nullptr);
  if (all.context == nullptr || all.hkdf == nullptr || all.aes_gcm == nullptr)
    throw error(formatted("{} has no HKDF or no AES-128-GCM", name));
  return all;
}

const crypto_library& libcrypto() {
  static const crypto_library loaded = load_library();
  return loaded;
}

void check(bool is_right, std::string_view what) {
  if (!is_right) throw error(formatted("libcrypto cannot {}", what));
}

// Bytes that nobody finds in memory afterwards.
template <std::size_t Size>
struct secret {
  std::array<unsigned char, Size> bytes{};
  secret() = default;
  secret(const secret&) = delete;
  secret& operator=(const secret&) = delete;
  ~secret() { libcrypto().cleanse(bytes.data(), Size); }
};

struct pkey_free {
  void operator()(EVP_PKEY* key) const noexcept { libcrypto().pkey_free(key); }
};
struct pkey_ctx_free {
  void operator()(EVP_PKEY_CTX* of) const noexcept { libcrypto().pkey_ctx_free(of); }
};
struct kdf_ctx_free {
  void operator()(EVP_KDF_CTX* of) const noexcept { libcrypto().kdf_ctx_free(of); }
};
struct cipher_ctx_free {
  void operator()(EVP_CIPHER_CTX* of) const noexcept { libcrypto().cipher_ctx_free(of); }
};
using pkey = std::unique_ptr<EVP_PKEY, pkey_free>;
using cipher_ctx = std::unique_ptr<EVP_CIPHER_CTX, cipher_ctx_free>;

// One direction of a channel.
class cipher {
 public:
  cipher(const unsigned char* derived, bool seals, protection how)
      : by_(libcrypto()), context_(by_.cipher_ctx_new()), enciphers_(how == protection::encrypt) {
    check(context_ != nullptr, "make a cipher");
    std::memcpy(nonce_.data(), derived + key_bytes, salt_bytes);
    check(by_.cipher_init_ex(context_.get(), by_.aes_gcm, nullptr, derived, nonce_.data(),
                             seals ? 1 : 0) == 1,
          "make a cipher");
  }

  [[nodiscard]] bool seal(std::uint64_t number, std::span<std::byte> message,
                          std::byte* code) noexcept {
    return begin(number) && take(message) && end() &&
           by_.cipher_ctx_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, seal_code_bytes, code) == 1;
  }
  [[nodiscard]] bool open(std::uint64_t number, std::span<std::byte> message,
                          const std::byte* code) noexcept {
    return begin(number) &&
           by_.cipher_ctx_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, seal_code_bytes,
                               const_cast<std::byte*>(code)) == 1 &&
           take(message) && end();
  }

 private:
  bool begin(std::uint64_t number) noexcept {
    std::memcpy(nonce_.data() + salt_bytes, &number, sizeof number);
    return by_.cipher_init_ex(context_.get(), nullptr, nullptr, nullptr, nonce_.data(), -1) == 1;
  }
  // As what is enciphered or deciphered where it stands, or as what only the code is made of.
  bool take(std::span<std::byte> message) noexcept {
    auto* const bytes = reinterpret_cast<unsigned char*>(message.data());
    int written = 0;
    return by_.cipher_update(context_.get(), enciphers_ ? bytes : nullptr, &written, bytes,
                             static_cast<int>(message.size())) == 1;
  }
  // Compares the codes, when it opens a message.
  bool end() noexcept {
    std::array<unsigned char, seal_code_bytes> nothing;
    int written = 0;
    return by_.cipher_final_ex(context_.get(), nothing.data(), &written) == 1;
  }

  const crypto_library& by_;
  cipher_ctx context_;
  std::array<unsigned char, nonce_bytes> nonce_{};  // A salt; the number is written behind it.
  const bool enciphers_;
};

// What X25519 makes of the two keys. It refuses keys that lead to a secret which everybody knows.
void agree(EVP_PKEY* own, const public_key& theirs, secret<secret_bytes>& to) {
  const crypto_library& by = libcrypto();
  const pkey peer(by.pkey_new_raw_public_key_ex(
      by.context, "X25519", nullptr, reinterpret_cast<const unsigned char*>(theirs.data()),
      theirs.size()));
  check(peer != nullptr, "read the key of a peer");
  const std::unique_ptr<EVP_PKEY_CTX, pkey_ctx_free> agreeing(
      by.pkey_ctx_new_from_pkey(by.context, own, nullptr));
  std::size_t size = to.bytes.size();
  check(agreeing != nullptr && by.pkey_derive_init(agreeing.get()) == 1 &&
            by.pkey_derive_set_peer(agreeing.get(), peer.get()) == 1 &&
            by.pkey_derive(agreeing.get(), to.bytes.data(), &size) == 1 && size == secret_bytes,
        "agree with the key of a peer");
}

// HKDF of RFC 5869. `about` says what the keys are for: others come out for anything else.
void derive(secret<secret_bytes>& from, std::span<unsigned char> about,
            secret<2 * direction_bytes>& to) {
  const crypto_library& by = libcrypto();
  const std::unique_ptr<EVP_KDF_CTX, kdf_ctx_free> deriving(by.kdf_ctx_new(by.hkdf));
  std::array<char, 7> digest{"SHA256"};
  // The functions that make such are in the library; these are what they make.
  const std::array<OSSL_PARAM, 4> parameters{
      {OSSL_PARAM_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), digest.size() - 1),
       OSSL_PARAM_octet_string(OSSL_KDF_PARAM_KEY, from.bytes.data(), from.bytes.size()),
       OSSL_PARAM_octet_string(OSSL_KDF_PARAM_INFO, about.data(), about.size()), OSSL_PARAM_END}};
  check(deriving != nullptr &&
            by.kdf_derive(deriving.get(), to.bytes.data(), to.bytes.size(), parameters.data()) == 1,
        "derive keys");
}

}  // namespace

struct sealed_channel::ciphers {
  cipher to_peer;
  cipher from_peer;
};

sealed_channel::sealed_channel(std::unique_ptr<ciphers> with) : with_(std::move(with)) {}
sealed_channel::~sealed_channel() = default;

bool sealed_channel::seal(std::uint64_t number, std::span<std::byte> message,
                          std::byte* code) noexcept {
  return with_->to_peer.seal(number, message, code);
}

bool sealed_channel::open(std::uint64_t number, std::span<std::byte> message,
                          const std::byte* code) noexcept {
  return with_->from_peer.open(number, message, code);
}

struct key_pair::pair {
  pkey key;
};

key_pair::key_pair() : pair_(std::make_unique<pair>()) {
  const crypto_library& by = libcrypto();
  pair_->key.reset(by.pkey_q_keygen(by.context, nullptr, "X25519"));
  std::size_t size = told_.size();
  check(pair_->key != nullptr &&
            by.pkey_get_raw_public_key(
                pair_->key.get(), reinterpret_cast<unsigned char*>(told_.data()), &size) == 1 &&
            size == told_.size(),
        "make a key pair");
}
key_pair::~key_pair() = default;

std::unique_ptr<sealed_channel> key_pair::channel_with(const public_key& theirs, std::uint32_t own,
                                                       std::uint32_t peer, protection how) const {
  WEFT_ASSERT(own != peer);
  const bool is_first = own < peer;
  // Both say the same: the endpoint with the lower number stands first.
  std::vector<unsigned char> about;
  const auto append = [&about](std::span<const std::byte> bytes) {
    for (const std::byte each : bytes) about.push_back(std::to_integer<unsigned char>(each));
  };
  const std::array numbers{std::min(own, peer), std::max(own, peer)};
  append(std::as_bytes(std::span("weft messages 1")));
  append(std::as_bytes(std::span(&how, 1)));
  append(std::as_bytes(std::span(numbers)));
  append(is_first ? told_ : theirs);
  append(is_first ? theirs : told_);
  secret<secret_bytes> agreed;
  agree(pair_->key.get(), theirs, agreed);
  secret<2 * direction_bytes> derived;
  derive(agreed, about, derived);
  const unsigned char* const upward = derived.bytes.data();  // From the lower number.
  const unsigned char* const downward = upward + direction_bytes;
  return std::make_unique<sealed_channel>(std::unique_ptr<sealed_channel::ciphers>(
      new sealed_channel::ciphers{cipher(is_first ? upward : downward, true, how),
                                  cipher(is_first ? downward : upward, false, how)}));
}

}  // namespace weft
