/* SPDX-License-Identifier: BSD-2-Clause */
/* Maintains the bitmap of descriptors that a forked child closes. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/forkfd.h"

#define MOST (1 << 20)
/* A file of the program would have this number only if the program chose it with F_SETSIG. */
#define OWN_SIGNAL (_NSIG - 1)

static _Atomic uint64_t marks[MOST / 64];
/* Words at and above this index have no bit set. */
static _Atomic int words;

bool dofi_forkfd_claim(int fd)
{
	int word = fd >> 6, known;
	uint64_t bit = (uint64_t)1 << (fd & 63);

	if (fd < 0)
		return false;
	(void)fcntl(fd, F_SETSIG, OWN_SIGNAL);
	if (fd >= MOST)
		return false;
	known = atomic_load(&words);
	while (known <= word && !atomic_compare_exchange_weak(&words, &known, word + 1))
		;
	return !(atomic_fetch_or(&marks[word], bit) & bit);
}

int dofi_forkfd(int fd)
{
	(void)dofi_forkfd_claim(fd);
	return fd;
}

/* A kernel without this command marks none, and takes all for marked. */
bool dofi_forkfd_is_open(int fd)
{
	int sig = fd < 0 ? 0 : fcntl(fd, F_GETSIG);

	return sig == OWN_SIGNAL || (sig < 0 && errno == EINVAL);
}

bool dofi_forkfd_is(int fd)
{
	return fd >= 0 && fd < MOST && (atomic_load(&marks[fd >> 6]) >> (fd & 63) & 1);
}

void dofi_forkfd_forget(int fd)
{
	if (fd >= 0 && fd < MOST)
		atomic_fetch_and(&marks[fd >> 6], ~((uint64_t)1 << (fd & 63)));
}

void dofi_forkfd_close(int fd)
{
	dofi_forkfd_forget(fd);
	if (dofi_forkfd_is_open(fd))
		close(fd);
}

/* Uses syscall: no cancellation point. */
void dofi_forkfd_close_all(void)
{
	int most = atomic_load(&words);

	for (int word = 0; word < most; word++) {
		uint64_t set = atomic_exchange(&marks[word], 0);

		for (; set; set &= set - 1) {
			int fd = (word << 6) + __builtin_ctzll(set);

			if (dofi_forkfd_is_open(fd))
				syscall(SYS_close, fd);
		}
	}
}
