/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moves messages through hand-written rings in shared memory, one for each peer and direction. A
 * chunk has a sequence number, which is its position plus one; long messages take several chunks,
 * which sender and receiver copy at the same time. The receiver creates the memory, and the sender
 * maps it by its path in /proc.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc.h"
#include "transport.h"

#define CHUNKS 64u
#define CHUNK 8192u

struct chunk {
	_Alignas(64) _Atomic uint64_t sequence;
	uint64_t len;   /* of the whole message */
	uint32_t bytes; /* in this chunk */
	uint8_t data[CHUNK];
};

struct ring {
	_Alignas(128) _Atomic uint64_t head; /* published read position */
	_Alignas(128) struct chunk chunk[CHUNKS];
};

struct tshm_peer {
	struct ring *in, *out;
	uint64_t at, published; /* of `in` */
	uint64_t pos, acked;    /* of `out`: next to write, and the published head of the reader */
	size_t put;             /* bytes of the current message that have been written */
	uint8_t *into;          /* where the rest of the incoming message belongs */
	size_t rest;
};

struct tshm {
	struct perf_transport base;
	struct tshm_peer peer[PERF_MAX_PEERS];
	uint8_t *in, *out;
	uint8_t *peer_target;
	size_t len;
	int fd;
};

/* The path of the memory of a process. */
struct place {
	uint64_t pid;
	uint64_t fd;
};

static struct tshm *tshm(struct perf_transport *t)
{
	return (struct tshm *)t;
}

/* ---------------------------------------------------------------- connecting */

static int shm_map(struct perf_transport *t, int fd, uint8_t **mem)
{
	void *at =
		mmap(NULL, tshm(t)->len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);

	if (at == MAP_FAILED)
		return perf_transport_error(t, -errno, "mmap");
	*mem = at;
	return 0;
}

static int shm_map_peer(struct perf_transport *t, const struct place *place)
{
	struct stat st;
	char path[64];
	int fd, ret;

	snprintf(path, sizeof(path), "/proc/%lu/fd/%lu", (unsigned long)place->pid,
		 (unsigned long)place->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return perf_transport_error(t, -errno, "open");
	ret = st.st_size == (off_t)tshm(t)->len ? shm_map(t, fd, &tshm(t)->out)
						: perf_transport_error(t, -EPROTO, "open");
	close(fd);
	return ret;
}

static int shm_create(struct perf_transport *t)
{
	struct tshm *s = tshm(t);

	s->fd = memfd_create("dat_perf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (s->fd < 0 || ftruncate(s->fd, (off_t)s->len) ||
	    fcntl(s->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		return perf_transport_error(t, -errno, "memfd_create");
	return shm_map(t, s->fd, &s->in);
}

static int shm_open_rings(struct perf_transport *t)
{
	size_t rings = (size_t)t->peers * sizeof(struct ring);
	struct tshm *s = tshm(t);
	struct place mine, theirs;
	int i, ret;

	s->len = rings + (t->c->op == PERF_TWO_QUEUES ? t->c->size : 0);
	ret = shm_create(t);
	mine = (struct place){ (uint64_t)getpid(), (uint64_t)s->fd };
	perf_stage("connect");
	if (!ret)
		ret = perf_put(t->run->chan, &mine, sizeof(mine));
	if (!ret)
		ret = perf_get(t->run->chan, &theirs, sizeof(theirs),
			       (int)t->run->plan->timeout_ms);
	if (!ret)
		ret = shm_map_peer(t, &theirs);
	for (i = 0; !ret && i < t->peers; i++) {
		s->peer[i].in = (struct ring *)s->in + i;
		s->peer[i].out = (struct ring *)s->out + i;
	}
	if (ret || t->c->op != PERF_TWO_QUEUES)
		return ret;
	t->target = s->in + rings;
	s->peer_target = s->out + rings;
	t->source = calloc(1, t->c->size);
	return t->source ? 0 : perf_transport_error(t, -ENOMEM, "calloc");
}

static int shm_close_rings(struct perf_transport *t)
{
	struct tshm *s = tshm(t);

	munmap(s->in, s->len);
	munmap(s->out, s->len);
	close(s->fd);
	free(t->source);
	return 0;
}

/* ---------------------------------------------------------------- messages */

static bool ring_is_full(struct tshm_peer *p)
{
	if (p->pos - p->acked == CHUNKS)
		p->acked = atomic_load_explicit(&p->out->head, memory_order_acquire);
	return p->pos - p->acked == CHUNKS;
}

static int shm_start(struct perf_transport *t, int peer)
{
	struct tshm_peer *p = &tshm(t)->peer[peer];
	struct perf_msgs *out = &t->peer[peer].out;

	while (perf_msg_waits(out) && !ring_is_full(p)) {
		struct chunk *chunk = &p->out->chunk[p->pos % CHUNKS];
		struct perf_msg *msg = perf_msg_at(out, out->next);
		size_t n = msg->len - p->put < CHUNK ? msg->len - p->put : CHUNK;

		memcpy(chunk->data, msg->buf + p->put, n);
		chunk->bytes = (uint32_t)n;
		chunk->len = msg->len;
		atomic_store_explicit(&chunk->sequence, ++p->pos, memory_order_release);
		p->put += n;
		if (p->put < msg->len)
			continue;
		p->put = 0;
		out->next++;
		out->done++;
	}
	return 0;
}

/* 1 if the next chunk has arrived and been taken. */
static int chunk_take(struct perf_transport *t, struct tshm_peer *p, struct perf_msgs *in)
{
	struct chunk *chunk = &p->in->chunk[p->at % CHUNKS];

	if (atomic_load_explicit(&chunk->sequence, memory_order_acquire) != p->at + 1)
		return 0;
	if (!p->into) {
		if (!perf_msg_waits(in))
			return 0;
		p->rest = (size_t)chunk->len;
		p->into = perf_msg_take(in, p->rest);
	}
	if (!p->into || chunk->bytes > CHUNK || chunk->bytes > p->rest)
		return perf_error(-EPROTO, t->ops->name, "receive", "%u of %zu bytes", chunk->bytes,
				  p->rest);
	memcpy(p->into, chunk->data, chunk->bytes);
	p->into += chunk->bytes;
	p->rest -= chunk->bytes;
	if (++p->at - p->published >= CHUNKS / 4) {
		p->published = p->at;
		atomic_store_explicit(&p->in->head, p->published, memory_order_release);
	}
	if (!p->rest) {
		p->into = NULL;
		in->done++;
	}
	return 1;
}

static int shm_progress(struct perf_transport *t)
{
	int i, n = 0, ret = 0;

	for (i = 0; ret >= 0 && i < t->peers; i++) {
		if (perf_msg_waits(&t->peer[i].out))
			ret = shm_start(t, i);
		if (!ret)
			ret = chunk_take(t, &tshm(t)->peer[i], &t->peer[i].in);
		n += ret > 0;
		ret = ret > 0 ? 0 : ret;
	}
	return ret < 0 ? ret : n;
}

/* ---------------------------------------------------------------- two-queues */

/* The last byte is seen after the others. */
static int shm_write(struct perf_transport *t)
{
	size_t last = t->c->size - 1;
	uint8_t *to = tshm(t)->peer_target;

	memcpy(to, t->source, last);
	__atomic_store_n(&to[last], t->source[last], __ATOMIC_RELEASE);
	return 0;
}

static int shm_written(struct perf_transport *t)
{
	(void)t;
	return 1;
}

/* Connection A is the ring. */
static int shm_look(struct perf_transport *t)
{
	int ret = chunk_take(t, &tshm(t)->peer[0], &t->peer[0].in);

	return ret > 0 ? perf_transport_error(t, -EPROTO, "connection A") : ret;
}

const struct perf_transport_ops perf_shm_transport = {
	.name = "memory",
	.open = shm_open_rings,
	.close = shm_close_rings,
	.start = shm_start,
	.progress = shm_progress,
	.write = shm_write,
	.written = shm_written,
	.look = shm_look,
	.size = sizeof(struct tshm),
};
