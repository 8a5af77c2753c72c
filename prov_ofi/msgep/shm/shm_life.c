/* SPDX-License-Identifier: BSD-2-Clause */
/* Begin and end of a connection over shared memory: its memory and parameters. */
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/be_bytes.h"
#include "base/file_size.h"
#include "base/forkfd.h"
#include "base/param.h"
#include "msgep/cm/cm.h"
#include "msgep/shm/shm.h"

/* Limits of a ring that a peer provides. */
#define RING_MIN 4096u
#define RING_MAX (64u << 20)
#define PARAMS_MAGIC 0x444f5348u /* "DOSH" */
#define PARAMS_VERSION 5
#define PARAMS_LEN 64

bool shm_membarrier_works(void)
{
	static _Atomic int answer; /* 1: no, 2: yes */

	if (!atomic_load(&answer))
		atomic_store(&answer, 1 + !syscall(SYS_membarrier,
						   MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0));
	return atomic_load(&answer) == 2;
}

void shm_prepare(void)
{
	shm_membarrier_works();
}

static size_t shm_map_len(uint32_t size)
{
	return SHM_PAGE + 4 * (size_t)size;
}

static int shm_map(struct msgep_ep *ep, int fd, uint32_t size, bool active)
{
	struct msgep_shm *shm = calloc(1, sizeof(*shm));
	struct shm_control *control;
	char *ring;

	if (!shm)
		return -FI_ENOMEM;
	shm->map_len = shm_map_len(size);
	shm->map = mmap(NULL, shm->map_len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shm->map == MAP_FAILED) {
		int ret = -errno;

		free(shm);
		return ret;
	}
	shm->size = size;
	shm->most = size / 4 - (uint32_t)MSGEP_FRAME_HDR;
	shm->report = (size < SHM_NEAR ? size : SHM_NEAR) / 8;
	control = shm->map;
	ring = (char *)shm->map + SHM_PAGE;
	shm->tx = &control[!active];
	shm->rx = &control[active];
	for (int c = 0; c < MSGEP_CHANNELS; c++) {
		shm->out[c].base = ring + (size_t)size * (2u * !active + (unsigned int)c);
		shm->in[c].base = ring + (size_t)size * (2u * active + (unsigned int)c);
	}
	ep->w.shm = shm;
	return 0;
}

static int shm_make_memory(uint32_t size)
{
	int fd = dofi_forkfd(memfd_create("dat-ofi", MFD_CLOEXEC | MFD_ALLOW_SEALING)), ret;

	if (fd < 0)
		return -errno;
	ret = dofi_file_resize(fd, (off_t)shm_map_len(size));
	if (!ret && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		ret = -errno;
	if (!ret)
		return fd;
	dofi_forkfd_close(fd);
	return ret;
}

/* The reader begins at position 0; the nonce is known. */
static void shm_start_reading(struct msgep_ep *ep)
{
	for (int c = 0; c < MSGEP_CHANNELS; c++)
		shm_set_position(ep, c, 0);
	ep->watch.done = &ep->w.shm->tx->done;
}

void shm_keep_order(struct msgep_ep *ep)
{
	struct msgep_shm *shm = ep->w.shm;

	shm->taken_reported = shm->taken;
	atomic_store(&shm->rx->taken, shm->taken);
	atomic_store(&shm->rx->several, 1);
}

int shm_get_params(struct msgep_ep *ep, bool active, struct msgep_params *out)
{
	uint32_t kib = (uint32_t)dofi_param(DOFI_NUM_SHM_RING_KIB);
	/* A process of 32 bits has no addresses for more. */
	uint32_t size = sizeof(void *) < 8 && kib * 1024 > SHM_NEAR ? SHM_NEAR : kib * 1024;
	struct msgep_puller mine;
	uint8_t *p = out->data;
	int ret;

	out->fd = -1;
	if (active) {
		while (size & (size - 1))
			size &= size - 1;
		out->fd = shm_make_memory(size);
		if (out->fd < 0)
			return out->fd;
		ret = shm_map(ep, out->fd, size, true);
		if (!ret && getrandom(&ep->w.shm->nonce, 8, 0) != 8)
			ret = -errno;
		if (ret) {
			dofi_forkfd_close(out->fd);
			return ret;
		}
		shm_start_reading(ep);
	}
	if (msgep_cq_is_shared(ep->rx_cq))
		shm_keep_order(ep);
	p = dofi_put_be(p, PARAMS_MAGIC, 4);
	p = dofi_put_be(p, PARAMS_VERSION, 4);
	p = dofi_put_be(p, ep->w.shm->size, 4);
	p = dofi_put_be(p, shm_membarrier_works(), 4);
	p = dofi_put_be(p, ep->w.shm->nonce, 8);
	msgep_pull_get_params(&mine);
	p = dofi_put_be(p, (uint64_t)mine.pid, 8);
	p = dofi_put_be(p, mine.place, 8);
	p = dofi_put_be(p, mine.proof, 8);
	p = dofi_put_be(p, msgep_ready_queue_id(ep->rx_cq), 8);
	dofi_put_be(p, msgep_ready_queue_id(ep->tx_cq), 8);
	out->len = PARAMS_LEN;
	if (!active)
		out->fd = msgep_ready_share(ep, ep->w.shm->peer_rx, ep->w.shm->peer_tx);
	return 0;
}

/* Otherwise a peer could truncate memory that we are about to read. */
static bool shm_memory_ok(int fd, uint32_t size)
{
	const int wanted = F_SEAL_SHRINK | F_SEAL_GROW;
	struct stat st;
	int seals = fd < 0 ? -1 : fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & wanted) == wanted && !fstat(fd, &st) &&
	       st.st_size == (off_t)shm_map_len(size);
}

/* Takes what both sides need from the other's parameters. */
static void shm_set_peer(struct msgep_ep *ep, const uint8_t *data)
{
	struct msgep_shm *shm = ep->w.shm;

	shm->fences = !shm_membarrier_works() || !dofi_get_be(data + 12, 4);
	/* Not the pid that it reports: it could name a process that we may read and it may not. */
	shm->peer.pid = msgep_cm_own_peer(ep);
	shm->peer.place = dofi_get_be(data + 32, 8);
	shm->peer.proof = dofi_get_be(data + 40, 8);
	shm->pulls = shm->peer.pid && msgep_pull_try(&shm->peer);
	atomic_store(&shm->rx->pulls, shm->pulls);
}

int shm_set_peer_params(struct msgep_ep *ep, bool active, struct msgep_params *in)
{
	uint32_t size;
	int ret = -EPROTO;

	if (in->len != PARAMS_LEN || dofi_get_be(in->data, 4) != PARAMS_MAGIC)
		return ret;
	if (dofi_get_be(in->data + 4, 4) != PARAMS_VERSION)
		return -EPROTONOSUPPORT;
	size = (uint32_t)dofi_get_be(in->data + 8, 4);
	if (active) {
		shm_set_peer(ep, in->data);
		if (size != ep->w.shm->size)
			return ret;
		return in->fd < 0 ? 0 : msgep_ready_map(ep, in->fd);
	}
	if (size < RING_MIN || size > RING_MAX || (size & (size - 1)) ||
	    !shm_memory_ok(in->fd, size))
		return ret;
	ret = shm_map(ep, in->fd, size, false);
	if (ret)
		return ret;
	dofi_forkfd_close(in->fd);
	in->fd = -1;
	shm_set_peer(ep, in->data);
	ep->w.shm->nonce = dofi_get_be(in->data + 16, 8);
	shm_start_reading(ep);
	ep->w.shm->peer_rx = dofi_get_be(in->data + 48, 8);
	ep->w.shm->peer_tx = dofi_get_be(in->data + 56, 8);
	return 0;
}

void shm_close(struct msgep_ep *ep)
{
	msgep_ready_release(ep);
	munmap(ep->w.shm->map, ep->w.shm->map_len);
	free(ep->w.shm);
	ep->w.shm = NULL;
	ep->watch.done = NULL;
}
