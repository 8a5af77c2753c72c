/* SPDX-License-Identifier: BSD-2-Clause */
/* A secret that both ends of a connection must know, if the user wants that.
 *
 * The setting CM_SECRET_FILE names a file whose content (16 to 1024 bytes, line ends at its end do
 * not count) is the key. Both sides send fresh random bytes first; every message after that
 * ends with
 *
 *   HMAC-SHA256(key, "C" from the client or "L" from the listener, the client's 32 random bytes,
 *               the listener's 32, the message)
 *
 * and is worth nothing without. That says who connects; the data that follows is not protected.
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

/* NULL in *out: none is wanted. Negative error: it is wanted and not to be had; reported. */
int msgep_secret_load(struct msgep_secret **out);
void msgep_secret_free(struct msgep_secret *secret);
bool msgep_secret_nonce(uint8_t *nonce);
/* HMAC-SHA256 (MSGEP_CM_MAC bytes) of these parts, one after the other, MSGEP_SECRET_MOST bytes in all
 * at most. False: no memory or the like. */
bool msgep_secret_mac(const struct msgep_secret *secret, const struct iovec *part, size_t n,
		      uint8_t *mac);
/* Takes the same time wherever the difference is. */
bool msgep_secret_equal(const uint8_t *a, const uint8_t *b, size_t len);
/* nonces: the client's, then the listener's. False: no memory or the like. */
bool msgep_secret_seal(const struct msgep_secret *secret, char from, const uint8_t *nonces,
		       const uint8_t *msg, size_t len, uint8_t *mac);
bool msgep_secret_verify(const struct msgep_secret *secret, char from, const uint8_t *nonces,
			 const uint8_t *msg, size_t len, const uint8_t *mac);

#endif
