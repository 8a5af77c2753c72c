/* SPDX-License-Identifier: BSD-2-Clause */
/* Two processes: data in both directions, polled memory, targets that make no call. */
#include "rig.h"

#include <sys/resource.h>

/* What one process sends to the other about itself. */
struct card {
	DAT_CONN_QUAL qual;
	struct sockaddr_storage addr;
	uint64_t mem;
	DAT_RMR_CONTEXT rmr;
};

struct half {
	struct node n;
	struct side s;
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
	struct card peer;
	int fd;
};

static const char *ia_to_use;

/* The passive half: listens, sends its card, accepts. */
static void serve(struct half *h, int fd)
{
	struct card c;

	memset(h, 0, sizeof(*h));
	memset(&c, 0, sizeof(c));
	h->fd = fd;
	node_open_name(&h->n, ia_to_use ? ia_to_use : ia_name());
	side_make(&h->s, &h->n, NULL);
	h->cr_evd = evd_make(&h->n, 8, DAT_EVD_CR_FLAG);
	OK(dat_psp_create_any(h->n.ia, &c.qual, h->cr_evd, DAT_PSP_CONSUMER_FLAG, &h->psp));
	memcpy(&c.addr, h->n.attr.ia_address_ptr,
	       h->n.attr.ia_address_ptr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
							      : sizeof(struct sockaddr_in6));
	c.mem = (uintptr_t)h->s.buf.mem;
	c.rmr = h->s.buf.rmr;
	dt_put(fd, &c, sizeof(c));
	dt_get(fd, &h->peer, sizeof(h->peer));
	OK(dat_cr_accept(EV_CR(h->cr_evd, h->psp, c.qual), h->s.ep, 0, NULL));
	EV_CONN(h->s.conn, ESTABLISHED, h->s.ep);
}

static void attach(struct half *h, int fd)
{
	struct card c;

	memset(h, 0, sizeof(*h));
	memset(&c, 0, sizeof(c));
	h->fd = fd;
	node_open_name(&h->n, ia_to_use ? ia_to_use : ia_name());
	side_make(&h->s, &h->n, NULL);
	dt_get(fd, &h->peer, sizeof(h->peer));
	c.mem = (uintptr_t)h->s.buf.mem;
	c.rmr = h->s.buf.rmr;
	dt_put(fd, &c, sizeof(c));
	OK(connect_to(h->s.ep, (DAT_IA_ADDRESS_PTR)&h->peer.addr, h->peer.qual));
	EV_CONN(h->s.conn, ESTABLISHED, h->s.ep);
}

static void half_close(struct half *h)
{
	if (h->psp) {
		OK(dat_psp_free(h->psp));
		OK(dat_ep_free(h->s.ep));
		h->s.ep = NULL;
		OK(dat_evd_free(h->cr_evd));
	}
	side_free(&h->s);
	node_close(&h->n);
}

static DAT_RETURN write_peer(struct half *h, size_t off, size_t len, size_t to, uint64_t cookie)
{
	DAT_LMR_TRIPLET t = seg(&h->s.buf, off, len);
	DAT_RMR_TRIPLET r = rem_raw(h->peer.mem + to, len, h->peer.rmr);

	return dat_ep_post_rdma_write(h->s.ep, 1, &t, ck(cookie), &r, DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN read_peer(struct half *h, size_t off, size_t len, size_t from, uint64_t cookie)
{
	DAT_LMR_TRIPLET t = seg(&h->s.buf, off, len);
	DAT_RMR_TRIPLET r = rem_raw(h->peer.mem + from, len, h->peer.rmr);

	return dat_ep_post_rdma_read(h->s.ep, 1, &t, ck(cookie), &r, DAT_COMPLETION_DEFAULT_FLAG);
}

/* ---- both sides send and write ---- */

static void exchange(struct half *h, unsigned int mine, unsigned int theirs)
{
	uint64_t i;

	for (i = 0; i < 16; i++)
		OK(post_recv(&h->s, 32768 + (size_t)i * 1024, 1024, i));
	dt_put_byte(h->fd, 'r');
	dt_expect_byte(h->fd, 'r');
	for (i = 0; i < 16; i++) {
		fill(h->s.buf.mem + i * 1024, 1024, mine + (unsigned int)i);
		OK(post_send(&h->s, (size_t)i * 1024, 1024, 100 + i));
	}
	for (i = 0; i < 16; i++) {
		EV_DTO(h->s.recv, h->s.ep, i, OP_RECV, 1024);
		CHECK_FILL(h->s.buf.mem + 32768 + i * 1024, 1024, theirs + (unsigned int)i);
		EV_DTO(h->s.req, h->s.ep, 100 + i, OP_SEND, 1024);
	}
	/* Writes into the other's memory, read back from there. */
	fill(h->s.buf.mem, 8192, mine);
	OK(write_peer(h, 0, 8192, 50000, 1));
	OK(read_peer(h, 8192, 8192, 50000, 2));
	EV_DTO(h->s.req, h->s.ep, 1, OP_WRITE, 8192);
	EV_DTO(h->s.req, h->s.ep, 2, OP_READ, 8192);
	CHECK_FILL(h->s.buf.mem + 8192, 8192, mine);
	dt_put_byte(h->fd, 'w');
	dt_expect_byte(h->fd, 'w');
	CHECK_FILL(h->s.buf.mem + 50000, 8192, theirs);
}

static void exchange_peer(int fd, const void *arg)
{
	struct half h;

	(void)arg;
	serve(&h, fd);
	exchange(&h, 500, 900);
	EV_CONN(h.s.conn, DISCONNECTED, h.s.ep);
	half_close(&h);
}

static void exchange_test(void)
{
	struct dt_peer peer;
	struct half h;

	dt_peer_start(&peer, exchange_peer, NULL);
	attach(&h, peer.fd);
	exchange(&h, 900, 500);
	OK(dat_ep_disconnect(h.s.ep, DAT_CLOSE_GRACEFUL_FLAG));
	EV_CONN(h.s.conn, DISCONNECTED, h.s.ep);
	half_close(&h);
	dt_peer_finish(&peer);
}

TEST(process, exchange_of_messages_and_memory)
{
	exchange_test();
}

TEST(process, exchange_over_ipv6)
{
	need_ipv6();
	ia_to_use = ia6_name();
	exchange_test();
}

/* ---- a target that makes no call ---- */

static void idle_peer(int fd, const void *arg)
{
	struct half h;

	(void)arg;
	serve(&h, fd);
	fill(h.s.buf.mem, 20000, 5);
	dt_put_byte(fd, 'i');
	/* No DAT call from here until the other side is done. */
	dt_expect_byte(fd, 'd');
	CHECK_FILL(h.s.buf.mem + 30000, 20000, 6);
	half_close(&h);
}

TEST(process, idle_target_serves_reads_and_takes_writes)
{
	struct dt_peer peer;
	struct half h;
	struct dt_start start;
	int i;

	dt_peer_start(&peer, idle_peer, NULL);
	attach(&h, peer.fd);
	dt_expect_byte(peer.fd, 'i');
	fill(h.s.buf.mem + 20000, 20000, 6);
	start = dt_start();
	for (i = 0; i < 20; i++) {
		memset(h.s.buf.mem, 0, 20000);
		OK(read_peer(&h, 0, 20000, 0, 1));
		OK(write_peer(&h, 20000, 20000, 30000, 2));
		EV_DTO(h.s.req, h.s.ep, 1, OP_READ, 20000);
		EV_DTO(h.s.req, h.s.ep, 2, OP_WRITE, 20000);
		CHECK_FILL(h.s.buf.mem, 20000, 5);
	}
	ASSERT(dt_in_time(&start, 3000000));
	dt_put_byte(peer.fd, 'd');
	half_close(&h);
	dt_peer_finish(&peer);
}

/* ---- legacy: both sides only poll memory ---- */

#define ROUNDS 200
#define BLOCK 4000

/* Waits, without a call, for the number of a round in the last aligned word of a block. */
static void see_round(const char *mem, uint32_t round)
{
	const uint32_t *word = (const uint32_t *)(const void *)(mem + BLOCK - 4);
	uint64_t end = dt_now_us() + 5000000ull * dt_slow();

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != round)
		if (dt_now_us() > end)
			FAIL("round %u does not arrive, the word is %#x", round, *word);
	/* The last bytes land last: the rest of the block is there. */
	CHECK_FILL(mem, BLOCK - 4, round);
}

static void show_round(struct half *h, uint32_t round)
{
	fill(h->s.buf.mem, BLOCK - 4, round);
	memcpy(h->s.buf.mem + BLOCK - 4, &round, 4);
	OK(write_peer(h, 0, BLOCK, 8192, round));
	EV_DTO(h->s.req, h->s.ep, round, OP_WRITE, BLOCK);
}

static void spin_peer(int fd, const void *arg)
{
	struct half h;
	uint32_t i;

	(void)arg;
	serve(&h, fd);
	for (i = 1; i <= ROUNDS; i++) {
		see_round(h.s.buf.mem + 8192, i);
		show_round(&h, i);
	}
	dt_expect_byte(fd, 'd');
	half_close(&h);
}

TEST_LIMIT(legacy, data_programs_spin_on_memory_that_the_peer_writes, 60)
{
	struct dt_peer peer;
	struct half h;
	uint32_t i;

	dt_peer_start(&peer, spin_peer, NULL);
	attach(&h, peer.fd);
	for (i = 1; i <= ROUNDS; i++) {
		show_round(&h, i);
		see_round(h.s.buf.mem + 8192, i);
	}
	dt_put_byte(peer.fd, 'd');
	half_close(&h);
	dt_peer_finish(&peer);
}

/* ---- legacy: write on one endpoint, notify by a send on another ---- */

struct two {
	struct half h;
	struct side tell;
};

static void second_connection(struct two *t, bool passive)
{
	DAT_CONN_QUAL qual;
	DAT_EVENT ev;

	side_make(&t->tell, &t->h.n, NULL);
	if (passive) {
		EV_NEXT(t->h.cr_evd, &ev);
		OK(dat_cr_accept(cr_of(&ev), t->tell.ep, 0, NULL));
	} else {
		qual = t->h.peer.qual;
		OK(connect_to(t->tell.ep, (DAT_IA_ADDRESS_PTR)&t->h.peer.addr, qual));
	}
	EV_CONN(t->tell.conn, ESTABLISHED, t->tell.ep);
}

static void visible_peer(int fd, const void *arg)
{
	struct two t;
	int i;

	(void)arg;
	serve(&t.h, fd);
	second_connection(&t, true);
	for (i = 0; i < 16; i++)
		OK(post_recv(&t.tell, 0, 8, 1));
	dt_put_byte(fd, 'r');
	for (i = 0; i < 300; i++) {
		EV_DTO(t.tell.recv, t.tell.ep, 1, OP_RECV, 8);
		CHECK_FILL(t.h.s.buf.mem, 30000, (unsigned int)i);
		OK(post_recv(&t.tell, 0, 8, 1));
		dt_put_byte(fd, 'n');
	}
	dt_expect_byte(fd, 'd');
	side_free(&t.tell);
	half_close(&t.h);
}

TEST_LIMIT(legacy, data_completion_of_a_write_means_visible_at_the_target, 60)
{
	struct dt_peer peer;
	struct two t;
	int i;

	dt_peer_start(&peer, visible_peer, NULL);
	attach(&t.h, peer.fd);
	second_connection(&t, false);
	dt_expect_byte(peer.fd, 'r');
	for (i = 0; i < 300; i++) {
		fill(t.h.s.buf.mem, 30000, (unsigned int)i);
		OK(write_peer(&t.h, 0, 30000, 0, 5));
		EV_DTO(t.h.s.req, t.h.s.ep, 5, OP_WRITE, 30000);
		OK(post_send(&t.tell, 0, 8, 6));
		EV_DTO(t.tell.req, t.tell.ep, 6, OP_SEND, 8);
		dt_expect_byte(peer.fd, 'n');
	}
	dt_put_byte(peer.fd, 'd');
	side_free(&t.tell);
	half_close(&t.h);
	dt_peer_finish(&peer);
}

/* ---- legacy: what psp_create_any gives is unique on the host ---- */

static void any_peer(int fd, const void *arg)
{
	DAT_PSP_HANDLE psp[20];
	DAT_CONN_QUAL qual[20];
	DAT_EVD_HANDLE evd;
	struct node n;
	int i;

	(void)arg;
	node_open(&n);
	evd = evd_make(&n, 8, DAT_EVD_CR_FLAG);
	for (i = 0; i < 20; i++)
		OK(dat_psp_create_any(n.ia, &qual[i], evd, DAT_PSP_CONSUMER_FLAG, &psp[i]));
	dt_put(fd, qual, sizeof(qual));
	dt_expect_byte(fd, 'd');
	for (i = 0; i < 20; i++)
		OK(dat_psp_free(psp[i]));
	OK(dat_evd_free(evd));
	node_close(&n);
}

TEST(legacy, conn_psp_create_any_fits_16_bits_and_is_unique_on_the_host)
{
	DAT_CONN_QUAL theirs[20], mine;
	struct dt_peer peer;
	DAT_PSP_HANDLE psp;
	DAT_RETURN ret;
	DAT_EVD_HANDLE evd;
	struct node n;
	int i, j;

	dt_peer_start(&peer, any_peer, NULL);
	dt_get(peer.fd, theirs, sizeof(theirs));
	node_open(&n);
	evd = evd_make(&n, 8, DAT_EVD_CR_FLAG);
	for (i = 0; i < 20; i++) {
		OK(dat_psp_create_any(n.ia, &mine, evd, DAT_PSP_CONSUMER_FLAG, &psp));
		ASSERT(mine < 65536 && mine >= 1024);
		for (j = 0; j < 20; j++)
			ASSERT(mine != theirs[j]);
		OK(dat_psp_free(psp));
		/* A busy one gives the code on which programs retry upward, and nothing else. */
		ASSERT_EQ(dat_psp_create(n.ia, theirs[i], evd, DAT_PSP_CONSUMER_FLAG, &psp),
			  DAT_CONN_QUAL_IN_USE);
	}
	/* So do these. */
	mine = theirs[0];
	while ((ret = dat_psp_create(n.ia, mine, evd, DAT_PSP_CONSUMER_FLAG, &psp)) ==
	       DAT_CONN_QUAL_IN_USE)
		mine++;
	OK(ret);
	ASSERT(mine != theirs[0]);
	OK(dat_psp_free(psp));
	OK(dat_evd_free(evd));
	node_close(&n);
	dt_put_byte(peer.fd, 'd');
	dt_peer_finish(&peer);
}

/* ---- the peer dies or leaves ---- */

static void doomed_peer(int fd, const void *arg)
{
	struct half h;

	(void)arg;
	serve(&h, fd);
	dt_put_byte(fd, 'u');
	dt_expect_byte(fd, 'x');
}

TEST(process, killed_peer_is_one_event_and_the_flushes)
{
	struct dt_peer peer;
	DAT_EVENT ev;
	struct half h;
	uint64_t i;

	dt_peer_start(&peer, doomed_peer, NULL);
	attach(&h, peer.fd);
	for (i = 0; i < 5; i++)
		OK(post_recv(&h.s, 0, 100, i));
	dt_expect_byte(peer.fd, 'u');
	dt_peer_kill(&peer, SIGKILL);
	EV_NEXT(h.s.conn, &ev);
	ASSERT(ev.event_number == DAT_CONNECTION_EVENT_BROKEN ||
	       ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
	ASSERT_PTR(ev.event_data.connect_event_data.ep_handle, h.s.ep);
	for (i = 0; i < 5; i++)
		EV_FLUSH(h.s.recv, h.s.ep, i, OP_RECV);
	EV_NONE(h.s.conn);
	half_close(&h);
}

static void leaving_peer(int fd, const void *arg)
{
	struct half h;

	(void)arg;
	serve(&h, fd);
	node_abort(&h.n);
	dt_put_byte(fd, 'l');
}

TEST(process, peer_that_closes_its_ia_is_DISCONNECTED)
{
	struct dt_peer peer;
	struct half h;

	dt_peer_start(&peer, leaving_peer, NULL);
	attach(&h, peer.fd);
	OK(post_recv(&h.s, 0, 100, 7));
	EV_CONN(h.s.conn, DISCONNECTED, h.s.ep);
	EV_FLUSH(h.s.recv, h.s.ep, 7, OP_RECV);
	dt_expect_byte(peer.fd, 'l');
	half_close(&h);
	dt_peer_finish(&peer);
}

/* ---- a peer that hangs while it should accept ---- */

static void deaf_peer(int fd, const void *arg)
{
	DAT_PSP_HANDLE psp;
	DAT_EVD_HANDLE evd;
	struct card c;
	struct node n;

	(void)arg;
	memset(&c, 0, sizeof(c));
	node_open(&n);
	evd = evd_make(&n, 8, DAT_EVD_CR_FLAG);
	OK(dat_psp_create_any(n.ia, &c.qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	memcpy(&c.addr, n.attr.ia_address_ptr, sizeof(struct sockaddr_in));
	dt_put(fd, &c, sizeof(c));
	dt_expect_byte(fd, 'd');
	node_abort(&n);
}

TEST(process, stopped_peer_makes_the_connect_time_out)
{
	struct dt_peer peer;
	struct dt_start start;
	uint64_t took;
	struct card c;
	struct node n;
	struct side s;

	dt_peer_start(&peer, deaf_peer, NULL);
	node_open(&n);
	side_make(&s, &n, NULL);
	dt_get(peer.fd, &c, sizeof(c));
	ASSERT_EQ(kill(peer.pid, SIGSTOP), 0);
	start = dt_start();
	OK(dat_ep_connect(s.ep, (DAT_IA_ADDRESS_PTR)&c.addr, c.qual, 400000, 0, NULL,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	EV_CONN(s.conn, TIMED_OUT, s.ep);
	took = dt_took_us(&start);
	ASSERT(took >= 400000 && dt_in_time(&start, 1500000));
	ASSERT_EQ(kill(peer.pid, SIGCONT), 0);
	EV_NONE(s.conn);
	dt_put_byte(peer.fd, 'd');
	side_free(&s);
	node_close(&n);
	dt_peer_finish(&peer);
}

/* Memory that processes share is a file, and the kernel ends a program that exceeds its limit. */
TEST(process, limit_of_the_size_of_files_does_not_end_the_program)
{
	struct rlimit old, limit;
	struct pair p;

	ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	limit.rlim_cur = 0;
	pair_open(&p);
	ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	OK(connect_to(p.a.ep, p.node.attr.ia_address_ptr, p.qual));
	if (fabric_is("shm") || fabric_is("tcp+shm") || fabric_is("rxm+shm")) {
		EV_CONN(p.a.conn, NON_PEER_REJECTED, p.a.ep);
	} else {
		OK(dat_cr_accept(EV_CR(p.cr_evd, p.psp, p.qual), p.b.ep, 0, NULL));
		EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
		EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	}
	/* Files can be written again, and connections made. */
	ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
	if (side_state(&p.a) == DAT_EP_STATE_DISCONNECTED) {
		OK(dat_ep_reset(p.a.ep));
		pair_connect(&p);
	}
	pair_close(&p);
}

/* ---- both ends close at once ---- */

#define CLOSES 30
/* Less than the time for which a closed end awaits the confirmation of its last messages. */
#define US_CLOSE 700000u

/* Messages are under way in both directions when both ends close: none has to wait for the other,
 * which confirms nothing any more. */
static void close_at_once(struct half *h)
{
	struct dt_start start;

	for (uint64_t i = 0; i < 4; i++)
		OK(post_recv(&h->s, 32768 + (size_t)i * 8192, 8192, i));
	dt_put_byte(h->fd, 'r');
	dt_expect_byte(h->fd, 'r');
	for (uint64_t i = 0; i < 4; i++)
		OK(post_send(&h->s, 0, 8192, 100 + i));
	dt_put_byte(h->fd, 's');
	dt_expect_byte(h->fd, 's');
	start = dt_start();
	OK(dat_ep_disconnect(h->s.ep, DAT_CLOSE_ABRUPT_FLAG));
	EV_CONN(h->s.conn, DISCONNECTED, h->s.ep);
	node_abort(&h->n);
	ASSERT(dt_in_time(&start, US_CLOSE));
	munmap(h->s.buf.mem, h->s.buf.len);
	dt_put_byte(h->fd, 'c');
	dt_expect_byte(h->fd, 'c');
}

static void close_at_once_peer(int fd, const void *arg)
{
	struct half h;

	(void)arg;
	for (int i = 0; i < CLOSES; i++) {
		serve(&h, fd);
		close_at_once(&h);
	}
}

TEST(process, ends_that_disconnect_at_once_close_without_waiting_for_each_other)
{
	struct dt_peer peer;
	struct half h;

	dt_peer_start(&peer, close_at_once_peer, NULL);
	for (int i = 0; i < CLOSES; i++) {
		attach(&h, peer.fd);
		close_at_once(&h);
	}
	dt_peer_finish(&peer);
}
