/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the shared secret, and computes and verifies message authentication codes.
 *
 * HMAC comes from OpenSSL's libcrypto, which is loaded only if a secret is configured.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/param.h"
#include "proto/cm_secret.h"

#define LEAST 16
#define MOST 1024

struct msgep_secret {
	size_t len;
	uint8_t key[MOST];
};

static struct {
	const void *(*sha256)(void);
	unsigned char *(*hmac)(const void *md, const void *key, int key_len,
			       const unsigned char *data, size_t len, unsigned char *mac,
			       unsigned int *mac_len);
} crypto;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void secret_load_library(void)
{
	static const char *const names[] = { "libcrypto.so.3", "libcrypto.so.1.1" };
	void *lib = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !lib; i++)
		lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return;
	*(void **)&crypto.sha256 = dlsym(lib, "EVP_sha256");
	*(void **)&crypto.hmac = dlsym(lib, "HMAC");
}

static int secret_read_key(int fd, struct msgep_secret *secret)
{
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_mode & (S_IROTH | S_IWOTH))
		return -EPERM;
	if (st.st_size > MOST)
		return -EFBIG;
	n = read(fd, secret->key, MOST);
	if (n < 0)
		return -errno;
	while (n && (secret->key[n - 1] == '\n' || secret->key[n - 1] == '\r'))
		n--;
	secret->len = (size_t)n;
	return n < LEAST ? -ENODATA : 0;
}

static const char *secret_reason(int err)
{
	switch (err) {
	case -EPERM:
		return "others than its owner and group may read or write it";
	case -EFBIG:
		return "it has more than 1024 bytes";
	case -ENODATA:
		return "it has fewer than 16 bytes";
	case -ENOSYS:
		return "it requires OpenSSL's libcrypto, which is not installed";
	case -EINVAL:
		return "it is not a regular file";
	default:
		return strerror(-err);
	}
}

static void secret_report(const char *path, int err)
{
	dofi_report("DAPL_OFI_CM_SECRET_FILE=%s cannot be used: %s", path, secret_reason(err));
	if (err == -EPERM)
		dofi_report("try: chmod o= %s", path);
	else if (err == -ENOSYS)
		dofi_report("try: install OpenSSL's library (Debian: libssl3)");
	else
		dofi_report("try: let DAPL_OFI_CM_SECRET_FILE name a readable file with a secret "
			    "of 16 to 1024 bytes");
}

int msgep_secret_load(struct msgep_secret **out)
{
	const char *path = dofi_param_path(DOFI_STR_CM_SECRET_FILE);
	struct msgep_secret *secret;
	int ret, fd;

	*out = NULL;
	/* A user who relies on a secret must not get unauthenticated connections. */
	if (dofi_param_ignored(DOFI_STR_CM_SECRET_FILE)) {
		dofi_report("DAPL_OFI_CM_SECRET_FILE cannot be used: the program has more rights "
			    "than its caller (setuid, setgid or file capabilities)");
		dofi_report("try: unset DAPL_OFI_CM_SECRET_FILE, or start the program as the user "
			    "whose rights it needs");
		return -EPERM;
	}
	if (!path)
		return 0;
	secret = calloc(1, sizeof(*secret));
	if (!secret)
		return -ENOMEM;
	/* O_NONBLOCK: opening a fifo must not block. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ret = fd < 0 ? -errno : secret_read_key(fd, secret);
	if (fd >= 0)
		close(fd);
	pthread_once(&once, secret_load_library);
	if (!ret && (!crypto.sha256 || !crypto.hmac))
		ret = -ENOSYS;
	if (ret) {
		secret_report(path, ret);
		msgep_secret_free(secret);
		return ret;
	}
	*out = secret;
	return 0;
}

void msgep_secret_free(struct msgep_secret *secret)
{
	if (secret)
		explicit_bzero(secret, sizeof(*secret));
	free(secret);
}

bool msgep_secret_nonce(uint8_t *nonce)
{
	return getrandom(nonce, MSGEP_CM_NONCE, 0) == MSGEP_CM_NONCE;
}

bool msgep_secret_mac(const struct msgep_secret *secret, const struct iovec *part, size_t n,
		      uint8_t *mac)
{
	uint8_t all[MSGEP_SECRET_MOST];
	unsigned int got = 0;
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		if (part[i].iov_len > sizeof(all) - len)
			return false;
		if (part[i].iov_len)
			memcpy(all + len, part[i].iov_base, part[i].iov_len);
		len += part[i].iov_len;
	}
	return crypto.hmac(crypto.sha256(), secret->key, (int)secret->len, all, len, mac, &got) &&
	       got == MSGEP_CM_MAC;
}

bool msgep_secret_equal(const uint8_t *a, const uint8_t *b, size_t len)
{
	volatile uint8_t differs = 0;

	for (size_t i = 0; i < len; i++)
		differs |= (uint8_t)(a[i] ^ b[i]);
	return !differs;
}

bool msgep_secret_seal(const struct msgep_secret *secret, char from, const uint8_t *nonces,
		       const uint8_t *msg, size_t len, uint8_t *mac)
{
	const struct iovec part[] = {
		{ &from, 1 },
		{ (void *)(uintptr_t)nonces, 2 * MSGEP_CM_NONCE },
		{ (void *)(uintptr_t)msg, len },
	};

	return msgep_secret_mac(secret, part, sizeof(part) / sizeof(part[0]), mac);
}

bool msgep_secret_verify(const struct msgep_secret *secret, char from, const uint8_t *nonces,
			 const uint8_t *msg, size_t len, const uint8_t *mac)
{
	uint8_t right[MSGEP_CM_MAC];

	return msgep_secret_seal(secret, from, nonces, msg, len, right) &&
	       msgep_secret_equal(right, mac, MSGEP_CM_MAC);
}
