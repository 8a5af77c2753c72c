/* SPDX-License-Identifier: BSD-2-Clause */
/* Optional shared secret that authenticates both ends of a connection.
 *
 * The setting CM_SECRET_FILE names a file whose content (16 to 1024 bytes, trailing line ends are
 * ignored) is the key. Both sides send fresh random bytes first; every later message ends with
 *
 *   HMAC-SHA256(key, "C" from the client or "L" from the listener, the client's 32 random bytes,
 *               the listener's 32, the message)
 *
 * and is rejected without it. This authenticates the peers; the data that follows is not protected.
 */
#ifndef DOFI_MSGEP_CM_SECRET_H
#define DOFI_MSGEP_CM_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define MSGEP_CM_NONCE 32
#define MSGEP_CM_MAC 32
#define MSGEP_SECRET_MOST 1024

struct msgep_secret;

/* *out is NULL if no secret is configured. Negative error: it cannot be used, which is reported. */
int msgep_secret_load(struct msgep_secret **out);
void msgep_secret_free(struct msgep_secret *secret);
bool msgep_secret_nonce(uint8_t *nonce);
/* HMAC-SHA256 (MSGEP_CM_MAC bytes) of the concatenated parts, at most MSGEP_SECRET_MOST bytes in
 * total. False: libcrypto failed or the parts are too long. */
bool msgep_secret_mac(const struct msgep_secret *secret, const struct iovec *part, size_t n,
		      uint8_t *mac);
/* Compares in constant time. */
bool msgep_secret_equal(const uint8_t *a, const uint8_t *b, size_t len);
/* nonces: the client's, then the listener's. False: libcrypto failed. */
bool msgep_secret_seal(const struct msgep_secret *secret, char from, const uint8_t *nonces,
		       const uint8_t *msg, size_t len, uint8_t *mac);
bool msgep_secret_verify(const struct msgep_secret *secret, char from, const uint8_t *nonces,
			 const uint8_t *msg, size_t len, const uint8_t *mac);

#endif
