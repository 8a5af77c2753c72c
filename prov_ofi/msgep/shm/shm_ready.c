/* SPDX-License-Identifier: BSD-2-Clause */
/* Creates the ready rings (ready.h) of connections over shared memory.
 *
 * The first POLLED connections of the same queues of two processes have none: polling few costs
 * less. For each further one the listener passes a descriptor of the memory with its answer, always
 * the same: a sealed memfd with a ring per direction (0: written by the client). The client
 * recognises by the inode that it has mapped it already.
 *
 * A client is identified by its PID and by random numbers of its queues. A process that only knows
 * these numbers, because it is connected to the same client, gets rings of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_size.h"
#include "base/forkfd.h"
#include "msgep/cm/cm.h"
#include "msgep/ready.h"
#include "msgep/shm/shm.h"

#define POLLED 4u
#define READY_LEN (2 * sizeof(struct msgep_ready_ring))

uint64_t msgep_ready_queue_id(struct msgep_cq *cq)
{
	uint64_t id = atomic_load(&cq->id), none = 0;

	if (id || getrandom(&id, sizeof(id), 0) != sizeof(id))
		return id;
	return atomic_compare_exchange_strong(&cq->id, &none, id) ? id : none;
}

/* ---------------------------------------------------------------- pairs of queues */

static struct msgep_ready *ready_new(const struct msgep_ep *ep)
{
	struct msgep_ready *r = aligned_alloc(64, sizeof(*r));

	if (!r)
		return NULL;
	memset(r, 0, sizeof(*r));
	r->rx_cq = ep->rx_cq;
	r->tx_cq = ep->tx_cq;
	r->transport = ep->transport;
	r->fd = -1;
	dofi_lock_init(&r->read_lock);
	dofi_lock_init(&r->write_lock);
	return r;
}

static void ready_free(struct msgep_ready *r)
{
	if (r->map)
		munmap(r->map, READY_LEN);
	if (r->fd >= 0)
		dofi_forkfd_close(r->fd);
	free(r->active);
	free(r->eps);
	free(r);
}

/* Caller holds rx_cq->poll. */
static void ready_attach(struct msgep_ready *r, struct msgep_ep *ep)
{
	DOFI_ASSERT_LOCKED(&r->rx_cq->poll);
	if (!r->refs++)
		dofi_list_append(&r->rx_cq->ready_pairs, &r->link);
	ep->ready_pair = r;
}

void msgep_ready_release(struct msgep_ep *ep)
{
	struct msgep_ready *r = ep->ready_pair;
	bool last;

	ep->ready_pair = ep->ready = NULL;
	if (!r)
		return;
	dofi_lock(&r->rx_cq->poll);
	last = !--r->refs;
	if (last)
		dofi_list_remove(&r->link);
	dofi_unlock(&r->rx_cq->poll);
	if (!last)
		return;
	msgep_cq_detach_ready(r->rx_cq, r);
	msgep_cq_detach_ready(r->tx_cq, r);
	ready_free(r);
}

/* The number of the newest entry, which is not 0 if the memory has been mapped before: the client
 * has closed its last connection since, and the listener has not. */
static uint32_t ready_last_entry(struct msgep_ready_ring *ring)
{
	uint32_t last = (uint32_t)(atomic_load(&ring->entries[0]) >> 32);

	for (uint32_t i = 1; i < MSGEP_READY_ROOM; i++) {
		uint32_t entry = (uint32_t)(atomic_load(&ring->entries[i]) >> 32);

		if ((int32_t)(entry - last) > 0)
			last = entry;
	}
	return last;
}

static int ready_set_map(struct msgep_ready *r, int fd)
{
	struct msgep_ready_ring *ring;

	ring = mmap(NULL, READY_LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		return -errno;
	r->map = ring;
	r->in = &ring[r->active_side];
	r->out = &ring[!r->active_side];
	if (r->active_side) {
		atomic_store(&r->head, ready_last_entry(r->in));
		r->tail = ready_last_entry(r->out);
	}
	return 0;
}

/* ---------------------------------------------------------------- passive side */

static struct msgep_ready *ready_of_client(const struct msgep_ep *ep, pid_t pid, uint64_t peer_rx,
					   uint64_t peer_tx)
{
	struct msgep_ready *r;
	struct dofi_list *pos;

	dofi_list_each(pos, &ep->rx_cq->ready_pairs)
	{
		r = dofi_container(pos, struct msgep_ready, link);
		if (!r->active_side && r->tx_cq == ep->tx_cq && r->pid == pid &&
		    r->peer_rx == peer_rx && r->peer_tx == peer_tx)
			return r;
	}
	r = ready_new(ep);
	if (r) {
		r->pid = pid;
		r->peer_rx = peer_rx;
		r->peer_tx = peer_tx;
	}
	return r;
}

static bool ready_make_memory(struct msgep_ready *r)
{
	if (r->map)
		return true;
	r->fd = dofi_forkfd(memfd_create("dat-ofi", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	if (r->fd >= 0 && !dofi_file_resize(r->fd, (off_t)READY_LEN) &&
	    !fcntl(r->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) &&
	    !ready_set_map(r, r->fd))
		return true;
	if (r->fd >= 0)
		dofi_forkfd_close(r->fd);
	r->fd = -1;
	return false;
}

/* Without memory or descriptors the connection is polled. */
int msgep_ready_share(struct msgep_ep *ep, uint64_t peer_rx, uint64_t peer_tx)
{
	pid_t pid = msgep_cm_client_pid(ep);
	struct msgep_ready *r;
	int fd = -1;

	DOFI_ASSERT_LOCKED(&ep->eq->lock);
	if (!pid || !peer_rx || !peer_tx)
		return -1;
	dofi_lock(&ep->rx_cq->poll);
	r = ready_of_client(ep, pid, peer_rx, peer_tx);
	if (r) {
		ready_attach(r, ep);
		if (r->refs > POLLED && ready_make_memory(r))
			fd = dofi_forkfd(fcntl(r->fd, F_DUPFD_CLOEXEC, 0));
		if (fd >= 0)
			ep->ready = r;
	}
	dofi_unlock(&ep->rx_cq->poll);
	return fd;
}

/* ---------------------------------------------------------------- active side */

static struct msgep_ready *ready_of_memory(const struct msgep_ep *ep, const struct stat *st)
{
	struct dofi_list *pos;

	dofi_list_each(pos, &ep->rx_cq->ready_pairs)
	{
		struct msgep_ready *r = dofi_container(pos, struct msgep_ready, link);

		/* While it is mapped, no other file has its inode. */
		if (r->active_side && r->tx_cq == ep->tx_cq && r->dev == st->st_dev &&
		    r->ino == st->st_ino)
			return r;
	}
	return NULL;
}

static int ready_map_new(const struct msgep_ep *ep, int fd, const struct stat *st,
			 struct msgep_ready **out)
{
	struct msgep_ready *r = ready_new(ep);
	int ret = -ENOMEM;

	if (r) {
		r->active_side = true;
		r->dev = st->st_dev;
		r->ino = st->st_ino;
		ret = ready_set_map(r, fd);
	}
	if (ret && r)
		ready_free(r);
	*out = ret ? NULL : r;
	return ret;
}

int msgep_ready_map(struct msgep_ep *ep, int fd)
{
	const int wanted = F_SEAL_SHRINK | F_SEAL_GROW;
	int seals = fcntl(fd, F_GET_SEALS), ret = 0;
	struct msgep_ready *r;
	struct stat st;

	DOFI_ASSERT_LOCKED(&ep->eq->lock);
	/* The peer must not be able to truncate it. */
	if (seals < 0 || (seals & wanted) != wanted || fstat(fd, &st) ||
	    st.st_size != (off_t)READY_LEN)
		return -EPROTO;
	dofi_lock(&ep->rx_cq->poll);
	r = ready_of_memory(ep, &st);
	if (!r)
		ret = ready_map_new(ep, fd, &st, &r);
	if (!ret) {
		ready_attach(r, ep);
		ep->ready = r;
	}
	dofi_unlock(&ep->rx_cq->poll);
	return ret;
}
