/* SPDX-License-Identifier: BSD-2-Clause */
/* Pulls data from the memory of another process of this host (CMA), and determines whether the
 * kernel permits it and it pays.
 *
 * The kernel permits it to processes of one user that may trace each other; only a test shows it.
 * Each side sends the address and value of a random number of its own, which the other one reads:
 * that also proves, each time, that the pid still belongs to the process that connected.
 *
 * One copy by the kernel competes with two copies through a ring on two CPUs; the faster one
 * depends on the machine, so a process measures once. DAPL_OFI_TEST_SHM_PULL (0 or 1) replaces the
 * measurement, so that tests cover both on any machine.
 *
 * `gone` and `revoked` are read after the data has been pulled, by an operation that modifies them,
 * as their owner does: either the owner's change is seen, or the data was pulled before the owner
 * continued. A load would not suffice on every machine.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/env.h"
#include "base/param.h"
#include "msgep/iov.h"
#include "msgep/shm/shm.h"

#define SAMPLE ((size_t)256 << 10)
#define ROUNDS 5
/* Tenths of the time of an ordinary copy that the kernel's copy may take. */
#define WORTH 25
#define VARIABLE "DAPL_OFI_TEST_SHM_PULL"

static uint64_t proof; /* read by peers */
static bool fast;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint64_t pull_best_of(const char *from, char *to, bool kernel)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		struct iovec local = { to, SAMPLE }, remote = { (void *)(uintptr_t)from, SAMPLE };
		uint64_t begun = dofi_now(), took;

		if (!kernel)
			memcpy(to, from, SAMPLE);
		else if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != (ssize_t)SAMPLE)
			return UINT64_MAX;
		took = dofi_now() - begun;
		if (took < best)
			best = took;
	}
	return best;
}

static void pull_measure(void)
{
	char *from = malloc(SAMPLE), *to = malloc(SAMPLE);
	const char *setting = dofi_env_secure(VARIABLE);
	uint64_t kernel, ordinary;

	if (getrandom(&proof, sizeof(proof), 0) != sizeof(proof) || !from || !to)
		goto out;
	memset(from, 1, SAMPLE);
	memset(to, 2, SAMPLE);
	ordinary = pull_best_of(from, to, false);
	kernel = pull_best_of(from, to, true);
	fast = setting ? *setting == '1' : kernel / WORTH <= ordinary / 10;
	dofi_log(DOFI_LOG_DEBUG, "shm: 256 KiB take the kernel %llu ns, memcpy %llu ns",
		 (unsigned long long)kernel, (unsigned long long)ordinary);
out:
	free(from);
	free(to);
}

void msgep_pull_get_params(struct msgep_puller *mine)
{
	pthread_once(&once, pull_measure);
	mine->pid = getpid();
	mine->place = (uintptr_t)&proof;
	mine->proof = proof;
}

/* Copies segments of the peer's memory to `to`, which is consumed accordingly. False: it failed, or
 * the process is not the same any more. */
static bool pull_copy(const struct msgep_puller *peer, struct iovec *to,
		      const struct msgep_segment *from, size_t n)
{
	struct iovec remote[MSGEP_IOV_INLINE + 1], local[MSGEP_IOV_MAX + 1];
	uint64_t total = 0, seen = 0;
	size_t locals;

	for (size_t i = 0; i < n; i++) {
		remote[i].iov_base = (void *)(uintptr_t)from[i].addr;
		remote[i].iov_len = from[i].len;
		total += from[i].len;
	}
	remote[n].iov_base = (void *)(uintptr_t)peer->place;
	remote[n].iov_len = sizeof(seen);
	locals = msgep_iov_truncate(to, local, total);
	local[locals].iov_base = &seen;
	local[locals].iov_len = sizeof(seen);
	return process_vm_readv(peer->pid, local, locals + 1, remote, n + 1, 0) ==
		       (ssize_t)(total + sizeof(seen)) &&
	       seen == peer->proof;
}

bool msgep_pull_try(const struct msgep_puller *peer)
{
	struct iovec none = { NULL, 0 };

	pthread_once(&once, pull_measure);
	return fast && dofi_param(DOFI_NUM_SHM_PULL_KIB) && peer->proof &&
	       pull_copy(peer, &none, NULL, 0);
}

size_t shm_pull_from(struct msgep_ep *ep)
{
	if (!atomic_load_explicit(&ep->w.shm->tx->pulls, memory_order_relaxed))
		return SIZE_MAX;
	return (size_t)dofi_param(DOFI_NUM_SHM_PULL_KIB) << 10;
}

bool shm_pull(struct msgep_ep *ep, struct iovec *to, const struct msgep_segment *from, size_t n)
{
	struct msgep_shm *shm = ep->w.shm;

	/* Whether pulling was permitted is taken from our own copy, not from memory that the peer
	 * shares. A writer that flushes its requests sets `gone` before it releases their
	 * memory. */
	return shm->pulls && pull_copy(&shm->peer, to, from, n) &&
	       !atomic_fetch_or(&shm->rx->gone, 0);
}

size_t shm_pull_to(struct msgep_ep *ep)
{
	return ep->w.shm->pulls ? (size_t)dofi_param(DOFI_NUM_SHM_PULL_KIB) << 10 : SIZE_MAX;
}

void shm_grant(struct msgep_ep *ep, uint32_t read)
{
	_Atomic uint64_t *revoked = &ep->w.shm->tx->revoked;
	uint64_t bit = (uint64_t)1 << (read % MSGEP_TARGET_READS);

	if (atomic_load_explicit(revoked, memory_order_relaxed) & bit)
		atomic_fetch_and(revoked, ~bit);
}

void shm_revoke(struct msgep_ep *ep, uint64_t reads)
{
	atomic_fetch_or(&ep->w.shm->tx->revoked, reads);
}

void shm_withdraw(struct msgep_ep *ep)
{
	atomic_fetch_or(&ep->w.shm->tx->gone, 1);
}

bool shm_revoked(struct msgep_ep *ep, uint32_t read)
{
	return atomic_fetch_or(&ep->w.shm->rx->revoked, 0) >> (read % MSGEP_TARGET_READS) & 1;
}
