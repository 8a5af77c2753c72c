/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests peers that write anything to their ready rings, and memory of no valid listener. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "msgep/ready.h"
#include "msgep/shm/shm.h"
#include "shm_rig.h"

#define WHOLE (MSGEP_FIRST | MSGEP_LAST)
#define FOES 6
#define PAIRS 6
#define LEN (2 * sizeof(struct msgep_ready_ring))

/* A client whose later connections have ready rings, and a valid one in the same queue. */
struct scene {
	struct side s;
	struct fid_ep *pair[PAIRS][2];
	struct foe f[FOES];
	struct msgep_ready_ring *ring; /* [0]: the foe writes it */
	uint32_t last;                 /* number of its last entry */
};

static void open_scene(struct scene *c)
{
	struct shm_params params = foe_params();

	memset(c, 0, sizeof(*c));
	params.queue = 0xf0e;
	side_open(&c->s);
	for (int i = 0; i < PAIRS; i++)
		pair_open(&c->s, c->pair[i]);
	for (int i = 0; i < FOES; i++) {
		ASSERT_EQ(foe_open(&c->f[i], &c->s, &params), 0);
		ASSERT_EQ(c->f[i].ready_fd >= 0, i >= 4);
	}
	c->ring = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, c->f[4].ready_fd, 0);
	ASSERT(c->ring != MAP_FAILED);
	side_work(&c->s);
}

static void close_scene(struct scene *c)
{
	for (int i = 0; i < FOES; i++)
		foe_close(&c->f[i]);
	for (int i = 0; i < PAIRS; i++) {
		pair_check(&c->s, c->pair[i]);
		pair_close(&c->s, c->pair[i]);
	}
	ASSERT(!munmap(c->ring, LEN));
	side_close(&c->s);
}

/* The number that the side has chosen for the foe's connection. */
static uint32_t number_of(const struct foe *f)
{
	return atomic_load(&f->control[0].notify) - 1;
}

static void put_entry(struct scene *c, uint32_t entry, uint32_t number)
{
	atomic_store(&c->ring[0].entries[entry % MSGEP_READY_ROOM], (uint64_t)entry << 32 | number);
}

static void put_message(struct scene *c, int foe)
{
	static const char payload[8] = "payload";
	struct msgep_frame f = { .kind = MSGEP_MSG, .flags = WHOLE, .len = 8, .total = 8 };

	foe_put(&c->f[foe], MSGEP_REQ, &f, payload, sizeof(payload));
}

/* Its connections are visited when it announces them, and not before. */
TEST(shm_ready_bad, announcements_are_numbered_from_one)
{
	struct scene c;
	char to[8];

	open_scene(&c);
	ASSERT_EQ(post_recv(c.f[5].ep, to, 8, to), 0);
	put_message(&c, 5);
	side_work(&c.s);
	put_entry(&c, 1, number_of(&c.f[5]));
	ASSERT_EQ(side_await(&c.s, to), 0);
	close_scene(&c);
}

/* Entries for other connections, none at all, and out of order: its own messages are found once it
 * announces them, or once an entry shows that others were lost. */
TEST(shm_ready_bad, entries_that_lie_harm_nobody)
{
	static const uint32_t numbers[] = { 0, 1, 2, 17, 1u << 30, 1u << 31, UINT32_MAX };
	static const uint32_t jumps[] = { 1, 2, MSGEP_READY_ROOM, MSGEP_READY_ROOM + 1, 1u << 20 };
	struct scene c;
	char to[8];

	open_scene(&c);
	for (size_t i = 0; i < sizeof(jumps) / sizeof(*jumps); i++) {
		for (size_t j = 0; j < sizeof(numbers) / sizeof(*numbers); j++) {
			/* Where the reader looks, whatever the entry claims to be. */
			uint64_t entry = (uint64_t)(c.last + jumps[i]) << 32 | numbers[j];

			atomic_store(&c.ring[0].entries[(c.last + 1) % MSGEP_READY_ROOM], entry);
			c.last += jumps[i];
			side_work(&c.s);
			pair_check(&c.s, c.pair[5]);
		}
	}
	ASSERT_EQ(post_recv(c.f[4].ep, to, 8, to), 0);
	put_message(&c, 4);
	put_entry(&c, c.last + 1, number_of(&c.f[4]));
	ASSERT_EQ(side_await(&c.s, to), 0);
	close_scene(&c);
}

TEST(shm_ready_bad, a_ring_of_garbage_harms_nobody)
{
	struct scene c;

	open_scene(&c);
	memset(c.ring, 0xff, LEN);
	side_work(&c.s);
	memset(c.ring, 0x41, LEN);
	side_work(&c.s);
	for (size_t i = 0; i < MSGEP_READY_ROOM; i++)
		atomic_store(&c.ring[0].entries[i], i * 0x9e3779b97f4a7c15u);
	side_work(&c.s);
	close_scene(&c);
}

/* The number by which it wants to be told is written to its own ring, whatever it is. */
TEST(shm_ready_bad, numbers_that_it_chooses_reach_its_own_ring_only)
{
	static const uint32_t numbers[] = { 1, 2, 1000, (1u << 31) - 1, UINT32_MAX };
	struct scene c;
	int sent;

	open_scene(&c);
	for (uint32_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		uint32_t number = (numbers[i] & ~(1u << 31)) - 1;

		atomic_store(&c.f[4].control[1].notify, numbers[i]);
		ASSERT_EQ(post_send(c.f[4].ep, "message", 8, &sent), 0);
		ASSERT_EQ(side_await(&c.s, &sent), 0);
		ASSERT_EQ(atomic_load(&c.ring[1].entries[i + 1]), (uint64_t)(i + 1) << 32 | number);
		side_work(&c.s);
		for (int j = 0; j < PAIRS; j++)
			pair_check(&c.s, c.pair[j]);
	}
	/* A connection without a ring has none to write to. */
	atomic_store(&c.f[0].control[1].notify, 5);
	ASSERT_EQ(post_send(c.f[0].ep, "message", 8, &sent), 0);
	ASSERT_EQ(side_await(&c.s, &sent), 0);
	close_scene(&c);
}

/* Knowing the numbers of another client's queues is not enough. */
TEST(shm_ready_bad, another_process_gets_other_rings)
{
	struct scene c;
	struct msgep_ready *r;
	struct msgep_cq *cq;

	open_scene(&c);
	cq = dofi_container(c.s.cq, struct msgep_cq, fid);
	/* The foe's rings, those of both ends of the pairs. */
	ASSERT_EQ(cq->n_ready, 3);
	r = dofi_container(c.f[4].ep, struct msgep_ep, fid)->ready;
	r->pid++;
	foe_close(&c.f[0]);
	{
		struct shm_params params = foe_params();

		params.queue = 0xf0e;
		ASSERT_EQ(foe_open(&c.f[0], &c.s, &params), 0);
	}
	ASSERT_EQ(c.f[0].ready_fd, -1);
	ASSERT(dofi_container(c.f[0].ep, struct msgep_ep, fid)->ready_pair != r);
	close_scene(&c);
}

static int memory(const char *name, size_t len, int seals)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ASSERT(fd >= 0 && !ftruncate(fd, (off_t)len) && !fcntl(fd, F_ADD_SEALS, seals));
	return fd;
}

static int map_memory(struct side *s, struct fid_ep *end, int fd)
{
	struct msgep_ep *ep = dofi_container(end, struct msgep_ep, fid);
	struct msgep_eq *eq = dofi_container(s->eq, struct msgep_eq, fid);
	int ret;

	pthread_mutex_lock(&eq->lock);
	ret = msgep_ready_map(ep, fd);
	if (!ret)
		ASSERT(ep->ready && ep->ready->map);
	else
		ASSERT(!ep->ready && !ep->ready_pair);
	msgep_ready_release(ep);
	pthread_mutex_unlock(&eq->lock);
	close(fd);
	return ret;
}

TEST(shm_ready_bad, memory_that_is_not_valid_is_not_mapped)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct fid_ep *ep;
	struct side s;
	int fds[2];

	side_open(&s);
	ASSERT_EQ(fi_endpoint(s.domain, &s.info, &ep, NULL), 0);
	ASSERT_EQ(fi_ep_bind(ep, &s.eq->fid, 0), 0);
	ASSERT_EQ(fi_ep_bind(ep, &s.cq->fid, FI_RECV | FI_TRANSMIT), 0);
	ASSERT(!pipe(fds));
	ASSERT_EQ(map_memory(&s, ep, fds[0]), -EPROTO);
	close(fds[1]);
	ASSERT_EQ(map_memory(&s, ep, memory("short", LEN - 4096, seals)), -EPROTO);
	ASSERT_EQ(map_memory(&s, ep, memory("long", LEN + 4096, seals)), -EPROTO);
	ASSERT_EQ(map_memory(&s, ep, memory("open", LEN, 0)), -EPROTO);
	ASSERT_EQ(map_memory(&s, ep, memory("shrinks", LEN, F_SEAL_GROW)), -EPROTO);
	ASSERT_EQ(map_memory(&s, ep, memory("grows", LEN, F_SEAL_SHRINK)), -EPROTO);
	ASSERT_EQ(map_memory(&s, ep, memory("valid", LEN, seals)), 0);
	ASSERT_EQ(fi_close(&ep->fid), 0);
	side_close(&s);
}
